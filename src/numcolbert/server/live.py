"""The index behind a running server, which other processes may change or replace at any time.

`numcolbert index add` in another process changes the same index: the server refreshes its view.
`numcolbert index build --overwrite` puts a new index in the same place: the server opens that one beside the
old, sends new requests to it, and closes the old one when its last request has ended.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from numcolbert.api import Index
from numcolbert.errors import NumColBERTError
from numcolbert.index.collection import Collection
from numcolbert.index.manifest import read_manifest

LOOK_EVERY = 2.0
"""Seconds between looks at the folder; a look reads one small file."""
log = logging.getLogger("numcolbert.server")


class _Opened:
    """An open index and how many requests are using it."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.users = 0
        self.retired = False


class LiveIndex:
    """Lends the current index to requests and keeps it current."""

    def __init__(self, index: Index) -> None:
        self._current = _Opened(index)
        self._lock = threading.Lock()
        self._refused = ""
        self._stop = threading.Event()
        self._watcher: threading.Thread | None = None

    @contextmanager
    def lease(self) -> Iterator[Index]:
        """The index as it is now; it stays open for as long as the caller holds it."""
        with self._lock:
            held = self._current
            held.users += 1
        try:
            yield held.index
        finally:
            with self._lock:
                held.users -= 1
                close = held.retired and not held.users
            if close:
                held.index.close()

    def look(self) -> bool:
        """Take up what others have written; True when there was something.

        A new index that cannot be used (damaged, or built with another model) is reported once in the log,
        and the old one keeps answering.
        """
        held = self._current
        try:
            if read_manifest(held.index.path).uid == held.index.collection.manifest.uid:
                return held.index.refresh()
        except (NumColBERTError, OSError):
            return False  # being replaced at this very moment: the next look will see it
        return self._reopen(held.index)

    def watch(self, every: float = LOOK_EVERY) -> None:
        """Look from time to time, until closed."""

        def work() -> None:
            while not self._stop.wait(every):
                if self.look():
                    with self.lease() as index:
                        log.info("index changed", extra={"fields": {"documents": len(index)}})

        self._watcher = threading.Thread(target=work, name="watcher", daemon=True)
        self._watcher.start()

    def close(self) -> None:
        """Stop looking and close the index, at once or when its last user is done."""
        self._stop.set()
        if self._watcher is not None:
            self._watcher.join()
        self._retire(self._current)

    def _reopen(self, old: Index) -> bool:
        try:
            collection = Collection.open(old.path)
        except (NumColBERTError, OSError) as error:
            return self._refuse(error)
        try:
            fresh = Index(collection, old.encoder)
        except NumColBERTError as error:
            collection.close()
            return self._refuse(error)
        with self._lock:
            before, self._current = self._current, _Opened(fresh)
        self._refused = ""
        self._retire(before)
        return True

    def _refuse(self, error: NumColBERTError | OSError) -> bool:
        if str(error) != self._refused:  # once, not every two seconds
            self._refused = str(error)
            log.warning("the new index cannot be used, the old one stays: %s", error)
        return False

    def _retire(self, opened: _Opened) -> None:
        with self._lock:
            opened.retired = True
            close = not opened.users
        if close:
            opened.index.close()
