"""Append-only arrays in a folder, and the one small file that says how much of each is valid.

This is what makes an engine crash-safe: rows are written behind the valid ones, `commit` syncs them and then
replaces `state.json` in one step. Readers map the valid rows only, so a growing file never disturbs them, and
a file that must change otherwise is written anew under another name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numcolbert.errors import ConflictError, DamagedIndexError, NotFoundError, NumColBERTError
from numcolbert.files import replacing_file, size_of, storage_errors

try:
    import fcntl
except ImportError:  # Windows: the caller's own lock has to do
    fcntl = None  # type: ignore[assignment]

STATE = "state.json"
_OPEN_ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class Column:
    """One array on disk: `rows` rows of `width` items; width 0 means plain numbers."""

    dtype: str
    width: int
    file: str = ""
    rows: int = 0

    @property
    def row_bytes(self) -> int:
        return np.dtype(self.dtype).itemsize * max(1, self.width)

    @property
    def bytes(self) -> int:
        return self.row_bytes * self.rows

    def shaped(self, flat: NDArray[Any]) -> NDArray[Any]:
        return flat.reshape(-1, self.width) if self.width else flat


@dataclass(frozen=True, slots=True)
class Kind:
    """What is in the files: the name of the engine that reads them, and the version of their meaning."""

    engine: str
    format: int


class Columns:
    """The named arrays of one engine, with the facts that belong to the same state."""

    def __init__(self, folder: Path, kind: Kind, columns: dict[str, Column], facts: dict[str, Any]) -> None:
        self.folder, self.kind = folder, kind
        self.facts = facts
        """Small JSON values that are committed together with the arrays."""
        self._columns = columns
        self._committed = dict(columns)
        self._maps: dict[str, NDArray[Any]] = {}
        self._lock: int | None = None
        self._unsaved = False
        """Whether files hold more than was committed."""
        self._serial = max([_serial(column.file) for column in columns.values()], default=0)

    @classmethod
    def create(
        cls, folder: Path, kind: Kind, columns: Mapping[str, Column], facts: Mapping[str, Any]
    ) -> Columns:
        """Start empty arrays in a folder that holds no state yet, and commit them."""
        with storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        if (folder / STATE).exists():
            raise ConflictError(
                f"'{folder}' already holds an engine.", hint="open it, or choose an empty folder"
            )
        named = {name: replace(column, file=f"{name}.0", rows=0) for name, column in columns.items()}
        made = cls(folder, kind, named, dict(facts))
        with storage_errors(folder):
            for column in named.values():
                (folder / column.file).write_bytes(b"")
        made.commit()
        return made

    @classmethod
    def open(cls, folder: Path, kind: Kind) -> Columns:
        """Map the committed state; it stays as it is now, whatever a writer does later."""
        for attempt in range(_OPEN_ATTEMPTS):
            columns, facts = state = _read_state(folder, kind)
            opened = cls(folder, kind, dict(columns), facts)
            try:
                for name in columns:
                    opened.array(name)  # from here on a writer may remove the files: the maps stay good
            except FileNotFoundError as error:
                # A compaction may have removed the files between our two looks; then the state is new too.
                if attempt + 1 < _OPEN_ATTEMPTS and _read_state(folder, kind) != state:
                    continue
                raise DamagedIndexError(
                    f"The file '{error.filename}' is missing.", hint="copy the folder again or rebuild it"
                ) from error
            return opened
        raise ConflictError(
            f"'{folder}' changes faster than it can be opened.", hint="wait for the writer, then try again"
        )

    def __getitem__(self, name: str) -> Column:
        try:
            return self._columns[name]
        except KeyError as error:
            raise self._incomplete(name) from error

    def require_facts(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.facts:
                raise self._incomplete(name)

    def require_columns(self, columns: Mapping[str, Column]) -> None:
        """Raise unless these are there, with this type and width: kernels take both for granted."""
        for name, expected in columns.items():
            if (self[name].dtype, self[name].width) != (expected.dtype, expected.width):
                raise self._incomplete(name)

    def _incomplete(self, name: str) -> DamagedIndexError:
        return DamagedIndexError(
            f"'{self.folder / STATE}' does not say what it should about '{name}'.",
            hint="copy the folder again or rebuild it",
        )

    def array(self, name: str) -> NDArray[Any]:
        """All rows, read-only, mapped into memory."""
        known = self._maps.get(name)
        if known is not None:
            return known
        column = self[name]
        path = self.folder / column.file
        with storage_errors(path):
            size = path.stat().st_size
            if size < column.bytes:
                raise DamagedIndexError(
                    f"'{path}' has {size:,} bytes and should have {column.bytes:,}.",
                    hint="copy the folder again or rebuild it",
                )
            if column.rows:
                items = column.rows * max(1, column.width)
                # A plain array over the map: numpy's memmap class slows every slice down.
                flat = np.asarray(np.memmap(path, column.dtype, "r", shape=(items,))).view(np.ndarray)
            else:
                flat = np.empty(0, column.dtype)
                flat.flags.writeable = False
        self._maps[name] = mapped = column.shaped(flat)
        return mapped

    def append(self, **rows: NDArray[Any]) -> None:
        """Write rows behind the valid ones: all columns grow, or none does."""
        self.lock()
        self._unsaved = True
        grown = dict(self._columns)
        with storage_errors(self.folder):
            for name, values in rows.items():
                column = self._columns[name]
                rows_written = _write(self.folder / column.file, [values], column)
                grown[name] = replace(column, rows=column.rows + rows_written)
        self._adopt(grown, rows)

    def replace(self, **parts: Iterable[NDArray[Any]]) -> None:
        """Give columns new content, part by part, in new files; the old files go with the next commit."""
        self.lock()
        self._unsaved = True
        changed = dict(self._columns)
        self._serial += 1
        with storage_errors(self.folder):
            for name, values in parts.items():
                column = replace(self._columns[name], file=f"{name}.{self._serial}", rows=0)
                (self.folder / column.file).write_bytes(b"")
                changed[name] = replace(column, rows=_write(self.folder / column.file, values, column))
        self._adopt(changed, parts)

    def _adopt(self, columns: dict[str, Column], touched: Mapping[str, Any]) -> None:
        self._columns = columns
        self._maps = {name: array for name, array in self._maps.items() if name not in touched}

    def commit(self) -> None:
        self.lock()
        with storage_errors(self.folder):
            for column in self._columns.values():
                path = self.folder / column.file
                if column not in self._committed.values() or path.stat().st_size != column.bytes:
                    _sync(path, column.bytes)
            state = {
                **asdict(self.kind),
                "facts": self.facts,
                "columns": {name: asdict(column) for name, column in self._columns.items()},
            }
            with replacing_file(self.folder / STATE) as aside, aside.open("w", encoding="utf-8") as file:
                json.dump(state, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            if os.name == "posix":
                handle = os.open(self.folder, os.O_RDONLY)
                os.fsync(handle)
                os.close(handle)
            self._remember_commit()
            self._remove_replaced()

    def _remember_commit(self) -> None:
        self._committed, self._unsaved = dict(self._columns), False

    def _remove_replaced(self) -> None:
        """Files that were replaced, now or by a writer that crashed."""
        kept = {column.file for column in self._committed.values()}
        for path in self.folder.iterdir():
            if path.name not in kept and path.stem in self._columns and path.suffix[1:].isdigit():
                path.unlink()

    def files(self) -> dict[str, int]:
        sizes = {column.file: column.bytes for column in self._committed.values()}
        return {STATE: size_of(self.folder / STATE), **dict(sorted(sizes.items()))}

    def lock(self) -> None:
        """Become the folder's only writer, until `close`."""
        if self._lock is not None or fcntl is None:
            return
        with storage_errors(self.folder):
            handle = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            raise ConflictError(
                f"'{self.folder}' is being changed by another process.", hint="wait for it, then try again"
            ) from error
        self._lock = handle
        if (self.folder / STATE).exists():
            self._refuse_stale_state()

    def _refuse_stale_state(self) -> None:
        """Appending to a state that another writer has left behind would overwrite its rows."""
        if _read_state(self.folder, self.kind)[0] != self._committed:
            self._unlock()
            raise ConflictError(
                f"'{self.folder}' was changed after it was opened here.", hint="open it again, then change it"
            )

    def close(self) -> None:
        """Let go of everything; the space of what was not committed is given back, as after a full disk."""
        self._maps = {}
        if self._unsaved:
            with suppress(OSError, NumColBERTError):  # the next writer tries again
                self._give_back()
            self._unsaved = False
        self._unlock()

    def _give_back(self) -> None:
        if _read_state(self.folder, self.kind)[0] != self._committed:
            return  # a commit was interrupted when all but its last step was done
        for column in self._committed.values():
            if (self.folder / column.file).stat().st_size > column.bytes:
                os.truncate(self.folder / column.file, column.bytes)
        self._remove_replaced()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _read_state(folder: Path, kind: Kind) -> tuple[dict[str, Column], dict[str, Any]]:
    """Columns and facts as they were committed."""
    path = folder / STATE
    try:
        with storage_errors(path):
            state = json.loads(path.read_text(encoding="utf-8"))
        found = Kind(str(state["engine"]), int(state["format"]))
        if found == kind:
            return {name: Column(**column) for name, column in state["columns"].items()}, dict(state["facts"])
    except FileNotFoundError as error:
        raise NotFoundError(
            f"'{folder}' holds no engine: it has no {STATE}.", hint="copy the folder again or rebuild it"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedIndexError(
            f"'{path}' cannot be read.", hint="copy the folder again or rebuild it"
        ) from error
    if found.engine != kind.engine:
        raise DamagedIndexError(
            f"'{path}' belongs to the engine '{found.engine}', not to '{kind.engine}'.",
            hint="copy the folder again or rebuild it",
        )
    raise DamagedIndexError(
        f"The vectors in '{folder}' are written in format {found.format} of {kind.engine}; "
        f"this version of numcolbert reads format {kind.format}.",
        hint="build the index again" if found.format < kind.format else "pip install --upgrade numcolbert",
    )


def _serial(file: str) -> int:
    return int(file.rpartition(".")[2])


def _write(path: Path, parts: Iterable[NDArray[Any]], column: Column) -> int:
    """Write parts behind the column's rows; returns how many rows they are."""
    rows = 0
    with path.open("r+b", buffering=0) as file:
        file.seek(column.bytes)
        for part in parts:
            rows += len(part)
            data = np.ascontiguousarray(part, column.dtype).reshape(-1).view(np.uint8).data
            while data:
                data = data[file.write(data) :]
    return rows


def _sync(path: Path, size: int) -> None:
    with path.open("r+b") as file:
        file.truncate(size)  # what a crashed writer left behind the valid rows
        os.fsync(file.fileno())
