"""Changing an index so that store and engine stay in step, whatever happens in between.

The store decides what exists. Vectors therefore go to the engine before their document appears in the store,
and leave it after: a crash at any point leaves at most vectors that no document claims. Readers pass over
those, and the next writer removes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from numcolbert.errors import ConflictError, InputError, NotFoundError, StorageError
from numcolbert.index.base import Engine
from numcolbert.index.columns import STATE
from numcolbert.index.encoding import TextEncoder, encoded_windows
from numcolbert.index.inputs import DocumentLike, as_document, count_good, is_unicode, names_itself, shown
from numcolbert.index.manifest import Manifest, checksums, updated, write_manifest
from numcolbert.index.quantity_rows import storable
from numcolbert.index.store import Store
from numcolbert.progress import Progress
from numcolbert.types import Document, Quantity

ENGINE_FOLDER = "engine"
STORE_FILE = "documents.sqlite"


@dataclass(frozen=True, slots=True)
class AddReport:
    added: int
    """Documents that are new, those that replaced an older version not counted."""
    replaced: int
    skipped: int = 0


class Writer:
    """Store and engine of one folder, opened for one change. The caller holds the folder's lock."""

    def __init__(self, folder: Path, manifest: Manifest, store: Store, engine: Engine) -> None:
        self.folder, self.manifest, self.store, self.engine = folder, manifest, store, engine
        drop_unclaimed(store, engine)
        self._next_key = store.next_key()

    def add(
        self, documents: Iterable[DocumentLike], encoder: TextEncoder, *, batch_size: int, skip_bad: bool
    ) -> AddReport:
        """All of the documents or, when one is refused, none."""
        replaced: list[int] = []
        counted = _Counted(skip_bad)
        total = None if isinstance(documents, Iterator) else count_good(documents, skip_bad=skip_bad)
        with self.store.transaction() as generation, Progress("index", total, "documents") as progress:
            checked = self._checked(documents, counted)
            for window, vectors in encoded_windows(encoder, checked, batch_size):
                keys = range(self._next_key, self._next_key + len(window))
                self._next_key = keys.stop
                self.engine.add(keys, vectors)
                for key, document in zip(keys, window, strict=True):
                    old = self.store.insert(generation, key, document, quantities_of(document))
                    if old is not None:
                        replaced.append(old)
                progress.advance(len(window))
            self.store.set_next_key(self._next_key)
            self.engine.commit()
        self._clean_up(replaced)
        return AddReport(counted.good - len(replaced), len(replaced), counted.bad)

    def delete(self, ids: Iterable[str], *, ignore_missing: bool) -> int:
        """All of the documents or, when one is unknown, none."""
        gone: list[int] = []
        with self.store.transaction() as generation:
            for id in dict.fromkeys(ids):
                key = self.store.remove(generation, id) if is_unicode(id) else None
                if key is not None:
                    gone.append(key)
                elif not ignore_missing:
                    raise NotFoundError(
                        f"There is no document {shown(id)} in '{self.folder}'; nothing was deleted.",
                        hint="check the id, or pass --ignore-missing",
                    )
        self._clean_up(gone)
        return len(gone)

    def compact(self) -> None:
        self.engine.compact()
        self.engine.commit()
        self.store.purge()
        self.write_manifest()

    def write_manifest(self) -> None:
        known = {name: self.manifest.checksum(name) for name in self.manifest.files}
        self.manifest = updated(
            self.manifest,
            documents=self.store.count(),
            vectors=int(self.engine.stats()["vectors"]),
            generation=self.store.generation(),
            files=checksums(self.folder, engine_files(self.engine), known),
        )
        write_manifest(self.folder, self.manifest)

    def _checked(self, documents: Iterable[DocumentLike], counted: _Counted) -> Iterator[Document]:
        first = self._next_key
        for item in documents:
            own_id = str(first + counted.good)  # where the caller names none: the document's key
            try:
                document = as_document(item, own_id)
            except InputError:
                if not counted.skip_bad:
                    raise
                counted.bad += 1
                continue
            if not names_itself(item) and self.store.find(own_id, self.store.generation()) is not None:
                raise ConflictError(
                    f"A text without an id would get the id '{own_id}', which is taken.",
                    hint="give the documents ids of their own",
                )
            counted.good += 1
            yield document

    def _clean_up(self, gone: list[int]) -> None:
        """What follows a commit. When the disk is full here, the change stands and the next writer tidies."""
        with suppress(StorageError):
            self._forget(gone)
            self.write_manifest()
            self.store.checkpoint()

    def _forget(self, keys: list[int]) -> None:
        if keys:
            self.engine.delete(keys)
            self.engine.commit()


@dataclass(slots=True)
class _Counted:
    skip_bad: bool
    good: int = 0
    bad: int = 0


def drop_unclaimed(store: Store, engine: Engine) -> None:
    """Remove what a crash left in the engine, and never give its keys to another document."""
    if engine.count == store.count():
        return
    unclaimed = np.setdiff1d(engine.keys(), store.keys(store.generation()), assume_unique=True)
    if len(unclaimed):
        store.set_next_key(int(unclaimed[-1]) + 1)
        engine.delete(unclaimed.tolist())
        engine.commit()


def quantities_of(document: Document) -> list[Quantity]:
    from numcolbert.quantities import extract  # here, because the unit table takes a while to load

    return storable(extract(document.text))


def engine_files(engine: Engine) -> list[str]:
    """The engine's files that only grow, below the index folder: all but its state file."""
    return [f"{ENGINE_FOLDER}/{name}" for name in engine.files() if name != STATE]
