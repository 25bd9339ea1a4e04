"""Opening, hashing and replacing files so that nothing is ever half written."""

from __future__ import annotations

import errno
import gzip
import hashlib
import lzma
import os
import shutil
import tempfile
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, cast

from numcolbert.errors import ConflictError, InputError, NotFoundError, StorageError

COMPRESSED = (".xz", ".gz")


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn the operating system's refusals below `path` into one sentence and a hint."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageError(
                f"The disk that holds '{path}' is full.", hint="free some space or choose another folder"
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise StorageError(
                f"'{path}' cannot be accessed: {error.strerror or 'permission denied'}.",
                hint="check the permissions, or choose a folder you own",
            ) from error
        if error.errno in (errno.EEXIST, errno.ENOTDIR, errno.EISDIR):
            raise StorageError(
                f"'{path}' cannot be used: {error.strerror}.",
                hint="a file lies where a folder is needed, or the other way round: choose another name",
            ) from error
        raise


def require_file(path: Path, what: str) -> Path:
    if path.is_file():
        return path
    if path.exists() and not path.is_dir():  # a pipe, say: files may be read twice, and named in a note
        raise NotFoundError(f"The {what} '{path}' is not a regular file.", hint="write it to a file first")
    kind = "is a folder, not a file" if path.is_dir() else "does not exist"
    raise NotFoundError(f"The {what} '{path}' {kind}.", hint="check the path")


def require_folder(path: Path, what: str, *, hint: str = "check the path") -> Path:
    if not path.is_dir():
        kind = "is a file, not a folder" if path.exists() else "does not exist"
        raise NotFoundError(f"The {what} '{path}' {kind}.", hint=hint)
    return path


def name_as_text(name: str) -> str:
    """A name from the file system in which bytes that are not UTF-8, which no page can hold, are marked."""
    return name.encode(errors="replace").decode()


def without_compression(path: Path) -> Path:
    """'a.run.gz' holds what 'a.run' would."""
    return path.with_suffix("") if path.suffix.lower() in COMPRESSED else path


def plain_or_compressed(path: Path) -> Path | None:
    """The file itself or, where there is none, 'path.xz' or 'path.gz'."""
    names = (path, *(path.with_name(path.name + ending) for ending in COMPRESSED))
    return next((found for found in names if found.is_file()), None)


def all_files(folder: Path, pattern: str) -> list[Path]:
    """The files below a folder that match the pattern, each plain or, where it is not there, compressed."""
    found = {
        without_compression(path) for ending in ("", *COMPRESSED) for path in folder.glob(pattern + ending)
    }
    return [path for name in sorted(found) if (path := plain_or_compressed(name))]


def open_binary(path: Path) -> BinaryIO:
    """Open a plain, `.gz` or `.xz` file for reading."""
    with storage_errors(path):
        if path.suffix.lower() == ".gz":
            return cast(BinaryIO, gzip.open(path, "rb"))
        if path.suffix.lower() == ".xz":
            return cast(BinaryIO, lzma.open(path, "rb"))
        return path.open("rb")


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a plain, `.gz` or `.xz` file, counted from 1."""
    number = 0
    try:
        with open_binary(path) as file:
            for number, line in enumerate(file, 1):
                # The mark that Windows puts before a text is no part of its first word.
                text = line.removeprefix(BOM_UTF8) if number == 1 else line
                yield number, text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"Line {number} of '{path}' is not UTF-8.", hint="is it the right file? if so, fetch it again"
        ) from error
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"The compressed file '{path}' is cut off or damaged after line {number}.",
            hint="fetch the file again",
        ) from error


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def size_of(path: Path) -> int:
    """Bytes of a file; 0 for one that is not there, or no longer."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def folder_bytes(folder: Path) -> int:
    """Bytes of all files below a folder, which may be replaced or written to meanwhile."""
    return sum(size_of(Path(parent, name)) for parent, _, names in os.walk(folder) for name in names)


def refuse_existing(
    target: Path, kind: Literal["file", "folder"], *, overwrite: bool, mark: str = ""
) -> None:
    """Called before the work begins, so that none is lost to a name that is taken.

    Args:
        mark: A file in every folder of the kind that may be replaced. A folder without it holds something
            else, which a wrong name must not cost.
    """
    if not target.exists():
        return
    if target.is_dir() != (kind == "folder"):
        other = "file" if kind == "folder" else "folder"
        raise ConflictError(f"'{target}' is a {other}, not a {kind}.", hint=f"choose another {kind}")
    if not overwrite:
        raise ConflictError(f"'{target}' already exists.", hint=f"pass --overwrite or choose another {kind}")
    if mark and not plain_or_compressed(target / mark) and any(target.iterdir()):
        raise ConflictError(
            f"'{target}' holds other things: it has no {mark}.",
            hint="choose another folder, or empty this one",
        )


def refuse_input(target: Path, inputs: Iterable[Path | None]) -> None:
    """Called beside `refuse_existing`: what a command reads must not be replaced by what it writes."""
    if target.exists() and any(path and path.exists() and target.samefile(path) for path in inputs):
        raise ConflictError(f"'{target}' is an input of this command.", hint="choose another file to write")


@contextmanager
def replacing_folder(target: Path, *, overwrite: bool = False, mark: str = "") -> Iterator[Path]:
    """Yield an empty folder beside `target`; on success it becomes `target`, on failure it vanishes.

    `mark` as for `refuse_existing`.
    """
    refuse_existing(target, "folder", overwrite=overwrite, mark=mark)
    target = target if target.name else target.resolve()  # "." has no name to put another beside
    with storage_errors(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        with storage_errors(target):
            yield aside
            aside.chmod(0o755)
            if target.exists():
                old = aside.with_name(aside.name + ".old")
                target.rename(old)
                aside.rename(target)
                shutil.rmtree(old, ignore_errors=True)
            else:
                aside.rename(target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def replacing_file(target: Path) -> Iterator[Path]:
    """Yield a path beside `target`; on success it is moved over `target` in one step."""
    with storage_errors(target):
        if target.is_dir():  # known now, not after the work; and "." has no name to put another beside
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        target.parent.mkdir(parents=True, exist_ok=True)
        aside = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            yield aside
            aside.replace(target)
        finally:
            aside.unlink(missing_ok=True)


def cache_folder() -> Path:
    """Where what can be made again is kept: `$NUMCOLBERT_CACHE`, else the user's cache folder."""
    chosen = os.environ.get("NUMCOLBERT_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "numcolbert"
