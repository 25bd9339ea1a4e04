"""Documents, their metadata and quantities, in one SQLite file.

Every change belongs to a generation, a number that grows by one with each transaction. A row says in which
generation it came and in which it went, so a reader that holds on to a generation keeps seeing the same
documents while a writer goes on; `purge` at last removes what no generation shows any more.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from numcolbert.errors import DamagedIndexError, NotFoundError
from numcolbert.index import functions
from numcolbert.index.inputs import encode_metadata, is_unicode, shown
from numcolbert.index.quantity_rows import SELECT_QUANTITIES, quantity_row, read_quantity
from numcolbert.index.sqlite import BUSY_SECONDS, connect, sqlite_errors
from numcolbert.types import Document, Quantity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Item = TypeVar("Item")

FORMAT = 1

SCHEMA = """
CREATE TABLE documents (
  key INTEGER PRIMARY KEY,  -- never reused
  added INTEGER NOT NULL,   -- generation
  removed INTEGER,          -- generation, NULL while the document is there
  id TEXT NOT NULL,
  metadata TEXT NOT NULL,   -- a JSON object
  text TEXT NOT NULL        -- last, so that reading the others does not read it
) STRICT;
CREATE UNIQUE INDEX documents_by_id ON documents (id) WHERE removed IS NULL;
CREATE INDEX documents_history ON documents (id, added);
CREATE INDEX documents_removed ON documents (removed) WHERE removed IS NOT NULL;
CREATE TABLE quantities (
  key INTEGER NOT NULL,
  position INTEGER NOT NULL,
  dimension TEXT NOT NULL,
  value REAL NOT NULL, low REAL, high REAL,
  base_value REAL NOT NULL, base_low REAL, base_high REAL,
  unit TEXT,
  approximate INTEGER NOT NULL,
  start INTEGER NOT NULL, stop INTEGER NOT NULL,
  value_start INTEGER NOT NULL, value_stop INTEGER NOT NULL,
  unit_start INTEGER, unit_stop INTEGER,
  PRIMARY KEY (key, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX quantities_by_value ON quantities (dimension, base_value);
CREATE TABLE fields (name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;  -- of the metadata
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
INSERT INTO counters VALUES ('generation', 0), ('next_key', 0), ('documents', 0), ('removed', 0),
  ('consumed', 0);
"""

VISIBLE = "d.added <= ? AND (d.removed IS NULL OR d.removed > ?)"
KEYS_A_STATEMENT = 500
"""Below SQLite's limit on bound parameters in every build of it."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A condition on a row of `documents`, there named `d`, with the values it binds."""

    sql: str
    parameters: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    key: int
    document: Document
    quantities: tuple[Quantity, ...]


class Store:
    """One connection to the file. Reading methods take the generation `at` which they look."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.path = path
        self._connection = connection
        self._lock = threading.RLock()  # one statement at a time, from whichever thread

    @classmethod
    def create(cls, path: Path) -> Store:
        with sqlite_errors(path):
            connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            functions.register(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;")
        return cls(connection, path)

    @classmethod
    def open(cls, path: Path, *, writable: bool = False) -> Store:
        if not path.is_file():
            raise DamagedIndexError(
                f"The document store '{path}' is missing.",
                hint="copy the whole index folder, or build it again",
            )
        with sqlite_errors(path):
            connection = connect(path, "rw" if writable else "ro")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if writable:
                connection.execute("PRAGMA synchronous = FULL")
        if version != FORMAT:
            connection.close()
            raise DamagedIndexError(
                f"The document store '{path}' has format {version}, not {FORMAT}.",
                hint="it is incomplete or of another version of numcolbert; copy or build it again",
            )
        return cls(connection, path)

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    # -- writing -------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[int]:
        """Yield the new generation; all that happens inside appears at once or not at all."""
        with self._lock, sqlite_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                generation = self.generation() + 1
                self._set("generation", generation)
                yield generation
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def insert(
        self, generation: int, key: int, document: Document, quantities: Sequence[Quantity]
    ) -> int | None:
        """Add a document, inside a transaction; the key it replaces, where its id was already there."""
        replaced = self.remove(generation, document.id)
        self._connection.execute(
            "INSERT INTO documents VALUES (?, ?, NULL, ?, ?, ?)",
            (key, generation, document.id, encode_metadata(document), document.text),
        )
        self._connection.executemany(
            "INSERT OR IGNORE INTO fields VALUES (?)", [(str(name),) for name in document.metadata]
        )
        self._change("documents", 1)
        self._connection.executemany(
            f"INSERT INTO quantities VALUES ({', '.join('?' * 17)})",
            [quantity_row(key, position, quantity) for position, quantity in enumerate(quantities)],
        )
        return replaced

    def remove(self, generation: int, id: str) -> int | None:
        """Take a document away, inside a transaction; its key, or None when there is no such id."""
        row = self._connection.execute(
            "UPDATE documents SET removed = ? WHERE id = ? AND removed IS NULL RETURNING key",
            (generation, id),
        ).fetchone()
        if row is None:
            return None
        self._change("documents", -1)
        self._change("removed", 1)
        return int(row[0])

    def set_next_key(self, key: int) -> None:
        """Never hand out a key below `key` again. Inside a transaction, or on its own."""
        with self._lock, sqlite_errors(self.path):
            self._set("next_key", max(key, self.next_key()))

    def consume(self, count: int) -> None:
        """Remember that so many more documents of the input are done, inside a transaction of a build."""
        self._change("consumed", count)

    def purge(self) -> None:
        """Drop the rows of removed documents and give their space back to the disk."""
        with self.transaction():
            gone = "SELECT key FROM documents WHERE removed IS NOT NULL"
            self._connection.execute(f"DELETE FROM quantities WHERE key IN ({gone})")
            self._connection.execute("DELETE FROM documents WHERE removed IS NOT NULL")
            self._set("removed", 0)
        with self._lock, sqlite_errors(self.path):
            self._connection.execute("VACUUM")
            self.checkpoint()

    def checkpoint(self) -> None:
        """Move what lies in the write-ahead log into the file itself, as far as readers allow now.

        So a plain copy of the folder is whole also while readers have it open.
        """
        with self._lock, sqlite_errors(self.path):
            self._connection.execute("PRAGMA busy_timeout = 0")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self._connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")

    # -- reading -------------------------------------------------------------------------------------------

    def generation(self) -> int:
        return self._counter("generation")

    def next_key(self) -> int:
        return self._counter("next_key")

    def consumed(self) -> int:
        return self._counter("consumed")

    def count(self) -> int:
        """How many documents there are in the newest generation."""
        return self._counter("documents")

    def removed(self) -> int:
        """How many are gone but not yet purged."""
        return self._counter("removed")

    def fields(self) -> set[str]:
        """The metadata fields that documents have, or had."""
        return {str(row[0]) for row in self._rows("SELECT name FROM fields", ())}

    def key_of(self, id: str, at: int) -> int:
        key = self.find(id, at)
        if key is None:
            raise NotFoundError(
                f"There is no document {shown(id)} in '{self.path.parent}'.",
                hint="check the id; ids are case-sensitive",
            )
        return key

    def find(self, id: str, at: int) -> int | None:
        if not is_unicode(id):
            return None
        rows = self._rows(f"SELECT key FROM documents d WHERE id = ? AND {VISIBLE}", (id, at, at))
        return int(rows[0][0]) if rows else None

    def keys(self, at: int) -> NDArray[np.int64]:
        return self._keys(f"SELECT key FROM documents d WHERE {VISIBLE} ORDER BY key", (at, at))

    def select(self, selection: Selection, at: int) -> NDArray[np.int64]:
        """The keys of the documents that fit, in ascending order."""
        return self._keys(
            f"SELECT key FROM documents d WHERE {VISIBLE} AND ({selection.sql}) ORDER BY key",
            (at, at, *selection.parameters),
        )

    def holds(self, selection: Selection, at: int) -> bool:
        """Whether any document fits."""
        return bool(
            self._rows(
                f"SELECT 1 FROM documents d WHERE {VISIBLE} AND ({selection.sql}) LIMIT 1",
                (at, at, *selection.parameters),
            )
        )

    def fetch(self, keys: Sequence[int]) -> dict[int, Stored]:
        """The documents behind `keys`; a key that is not there is left out."""
        found: dict[int, Stored] = {}
        for chunk in chunks(keys, KEYS_A_STATEMENT):
            marks = ", ".join("?" * len(chunk))
            quantities: dict[int, list[Quantity]] = {}
            for row in self._rows(
                f"{SELECT_QUANTITIES} WHERE key IN ({marks}) ORDER BY key, position", chunk
            ):
                quantities.setdefault(row[0], []).append(read_quantity(row))
            rows = self._rows(f"SELECT key, id, text, metadata FROM documents WHERE key IN ({marks})", chunk)
            for key, id, text, metadata in rows:
                document = Document(id, text, json.loads(metadata))
                found[key] = Stored(key, document, tuple(quantities.get(key, ())))
        return found

    def scan(self, at: int, page: int = KEYS_A_STATEMENT) -> Iterator[Stored]:
        """Every document in the order of keys, a page at a time."""
        after = -1
        while True:
            rows = self._rows(
                f"SELECT key FROM documents d WHERE key > ? AND {VISIBLE} ORDER BY key LIMIT ?",
                (after, at, at, page),
            )
            if not rows:
                return
            keys = [int(row[0]) for row in rows]
            found = self.fetch(keys)
            yield from (found[key] for key in keys if key in found)
            after = keys[-1]

    def problems(self) -> list[str]:
        """What SQLite itself finds wrong with the file."""
        try:
            rows = self._rows("PRAGMA integrity_check(5)", ())
        except DamagedIndexError as error:
            return [error.message]
        return [f"The document store is damaged: {row[0]}." for row in rows if row[0] != "ok"]

    def _keys(self, sql: str, parameters: Sequence[Any]) -> NDArray[np.int64]:
        import numpy as np

        return np.fromiter((row[0] for row in self._rows(sql, parameters)), dtype=np.int64)

    def _rows(self, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._lock, sqlite_errors(self.path):
            return self._connection.execute(sql, parameters).fetchall()

    def _counter(self, name: str) -> int:
        return int(self._rows("SELECT value FROM counters WHERE name = ?", (name,))[0][0])

    def _change(self, name: str, by: int) -> None:
        self._connection.execute("UPDATE counters SET value = value + ? WHERE name = ?", (by, name))

    def _set(self, name: str, value: int) -> None:
        self._connection.execute("UPDATE counters SET value = ? WHERE name = ?", (value, name))


def chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
