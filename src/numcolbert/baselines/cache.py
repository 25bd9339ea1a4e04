"""Files that keep what is slow to compute or costs money."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from numcolbert.errors import StorageError
from numcolbert.files import storage_errors


def open_cache(path: Path, table: str, *, threads: bool = False) -> sqlite3.Connection:
    """The database in `path` with a `table`, written as in CREATE TABLE; both are made where missing.

    `threads` is for callers that guard it with a lock of their own.
    """
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            database = sqlite3.connect(path, timeout=60, check_same_thread=not threads)
            database.execute(f"CREATE TABLE IF NOT EXISTS {table}")
        except sqlite3.Error as error:
            raise StorageError(
                f"The cache '{path}' cannot be opened: {error}.",
                hint="remove it, or let NUMCOLBERT_CACHE name another folder",
            ) from error
    return database
