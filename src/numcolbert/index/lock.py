"""One writer at a time, across processes and threads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numcolbert.errors import ConflictError
from numcolbert.files import storage_errors

try:
    import fcntl
except ImportError:  # Windows: SQLite's own lock still admits one transaction at a time
    fcntl = None  # type: ignore[assignment]

NAME = "write.lock"


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, or raise at once. The system frees it when the process ends in any way."""
    path = folder / NAME
    with storage_errors(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if fcntl is not None:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise ConflictError(
                    f"The index '{folder}' is being written by {_owner(handle)}.",
                    hint="wait until it has finished, then try again",
                ) from error
        with storage_errors(path):
            os.ftruncate(handle, 0)
            os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        os.close(handle)


def _owner(handle: int) -> str:
    os.lseek(handle, 0, os.SEEK_SET)
    written = os.read(handle, 20).decode("ascii", "replace").strip()
    return f"process {written}" if written.isdigit() else "another process"
