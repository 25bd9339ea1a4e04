"""Opening SQLite files, and what they refuse in our own words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numcolbert.errors import (
    ConflictError,
    DamagedIndexError,
    NumColBERTError,
    StorageError,
    UsageError,
)
from numcolbert.files import size_of
from numcolbert.index import functions

BUSY_SECONDS = 5


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Turn what SQLite refuses into one sentence and a hint."""
    try:
        yield
    except sqlite3.ProgrammingError as error:
        if "closed" not in str(error):
            raise  # a defect of ours
        raise UsageError(
            f"The index '{path.parent}' is closed.", hint="open it again with numcolbert.open"
        ) from error
    except sqlite3.Error as error:
        raise _translated(error, path) from error


def _translated(error: sqlite3.Error, path: Path) -> NumColBERTError:
    kind = (getattr(error, "sqlite_errorname", "") or "").split("_")[1:2]
    match kind[0] if kind else "":
        case "FULL":
            return StorageError(
                f"The disk that holds '{path}' is full.", hint="free some space and try again"
            )
        case "READONLY" | "PERM" | "CANTOPEN" | "IOERR":
            return StorageError(
                f"'{path}' cannot be accessed: {error}.",
                hint="check that the disk has space and that you may write to the folder",
            )
        case "BUSY" | "LOCKED":
            return ConflictError(
                f"'{path}' is in use by another writer.", hint="try again when it has finished"
            )
        case _:
            return DamagedIndexError(
                f"The document store '{path}' cannot be read: {error}.",
                hint="restore the index from a copy, or build it again",
            )


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Open a file that is there; `mode` is 'rw' or 'ro'."""

    def attempt(options: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{options}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=BUSY_SECONDS,
        )
        try:
            functions.register(connection)
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    try:
        return attempt(f"mode={mode}")
    except sqlite3.OperationalError:
        # On a read-only disk SQLite cannot lay its shared-memory file beside a WAL database; without
        # a log there is nothing to share, and the file can be read as it is.
        log = path.with_name(path.name + "-wal")
        if mode != "ro" or size_of(log) > 0:
            raise
        return attempt("mode=ro&immutable=1")
