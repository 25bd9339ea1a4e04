"""One index folder, opened: documents in the store, vectors in the engine, seen as of one moment."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numcolbert.errors import ConflictError, DamagedIndexError
from numcolbert.files import folder_bytes
from numcolbert.index.base import Engine, Scored
from numcolbert.index.encoding import TextEncoder
from numcolbert.index.engines import open_engine
from numcolbert.index.inputs import DocumentLike
from numcolbert.index.lock import writing
from numcolbert.index.manifest import Manifest, file_problems, read_manifest
from numcolbert.index.store import Selection, Store, Stored
from numcolbert.index.verify import problems
from numcolbert.index.writer import ENGINE_FOLDER, STORE_FILE, AddReport, Writer
from numcolbert.types import Document

__all__ = ["AddReport", "Collection"]

OPEN_ATTEMPTS = 20
SELECTIONS_KEPT = 8
ANSWERS_KEPT = 64
CHECKED_ON_OPENING = 16 * 2**20
"""Bytes. Files up to this size are compared with the manifest at every opening, which takes milliseconds:
they hold the offsets that compiled code follows without looking."""


@dataclass(frozen=True, slots=True)
class View:
    """Store and engine as of one generation. A search takes one and keeps it to its end."""

    store: Store
    engine: Engine
    generation: int
    count: int
    claimed: NDArray[np.int64] | None
    """The keys to search, where the engine also holds some that no document claims; else None."""
    selected: dict[Selection, NDArray[np.int64]] = field(default_factory=dict)
    """The last few selections: people page through results and repeat filters."""
    held: dict[Selection, bool] = field(default_factory=dict)
    """The last few answers of `holds`, which every search with a filter asks."""

    def select(self, selection: Selection) -> NDArray[np.int64]:
        keys = self.selected.get(selection)
        if keys is None:
            keys = self.store.select(selection, self.generation)
            for old in list(self.selected)[: 1 - SELECTIONS_KEPT]:
                self.selected.pop(old, None)
            self.selected[selection] = keys
        return keys

    def holds(self, selection: Selection) -> bool:
        """Whether any document fits; stops at the first."""
        known = self.held.get(selection)
        if known is None:
            known = self.store.holds(selection, self.generation)
            for old in list(self.held)[: 1 - ANSWERS_KEPT]:
                self.held.pop(old, None)
            self.held[selection] = known
        return known


class Collection:
    """An index folder, opened. Reading is safe from many threads; writes queue behind one another.

    What it shows is the state of the moment it was opened; its own writes and `refresh` bring it up to date.
    """

    def __init__(self, path: Path, manifest: Manifest, view: View) -> None:
        self.path = path
        self.manifest = manifest
        self._view = view
        self._writing_here = threading.Lock()

    @classmethod
    def open(cls, path: Path) -> Collection:
        manifest = read_manifest(path)
        _check_small_files(path, manifest)
        store = Store.open(path / STORE_FILE)
        try:
            return cls(path, manifest, _look(path, manifest, store))
        except BaseException:
            store.close()
            raise

    @property
    def model_name(self) -> str:
        return self.manifest.model

    def require_model(self, encoder: TextEncoder) -> None:
        self.manifest.require_model(encoder.name, encoder.fingerprint, self.path)

    # -- reading -------------------------------------------------------------------------------------------

    @property
    def view(self) -> View:
        return self._view

    def search(
        self, query: NDArray[np.float32], k: int, selection: Selection | None = None, view: View | None = None
    ) -> Scored:
        """The best `k` keys for the gated query vectors, only among selected documents where given."""
        view = view or self._view
        allowed = view.claimed
        if selection is not None:
            allowed = view.select(selection)
        return view.engine.search(query, k, allowed=allowed)

    def select(self, selection: Selection) -> NDArray[np.int64]:
        return self._view.select(selection)

    def fetch(self, keys: Sequence[int]) -> dict[int, Stored]:
        return self._view.store.fetch(keys)

    def stored(self, id: str) -> Stored:
        view = self._view
        return view.store.fetch([view.store.key_of(id, view.generation)]).popitem()[1]

    def get(self, id: str) -> Document:
        return self.stored(id).document

    def has(self, id: str) -> bool:
        return self._view.store.find(id, self._view.generation) is not None

    def scan(self) -> Iterator[Stored]:
        """Every document with key and quantities, in order of arrival."""
        view = self._view
        return view.store.scan(view.generation)

    def documents(self) -> Iterator[Document]:
        return (stored.document for stored in self.scan())

    def __len__(self) -> int:
        return self._view.count

    def info(self) -> dict[str, Any]:
        view, manifest = self._view, self.manifest
        stats = view.engine.stats()
        return {
            "path": str(self.path),
            "documents": view.count,
            "deleted": view.store.removed(),
            "vectors": stats.get("vectors", manifest.vectors),
            "model": manifest.model,
            "model_fingerprint": manifest.model_fingerprint,
            "dim": manifest.dim,
            "engine": manifest.engine,
            "settings": manifest.settings,
            "created": manifest.created,
            "updated": manifest.updated,
            "numcolbert": manifest.numcolbert,
            "format": manifest.format,
            "bytes": folder_bytes(self.path),
            "engine_stats": stats,
        }

    def verify(self) -> list[str]:
        """What is wrong with the files, a sentence each; empty when all is well."""
        return problems(self.path)

    # -- writing -------------------------------------------------------------------------------------------

    def add(
        self,
        documents: Iterable[DocumentLike],
        encoder: TextEncoder,
        *,
        batch_size: int = 32,
        skip_bad: bool = False,
    ) -> AddReport:
        """Add documents; one whose id is already there replaces it. All or, when one is refused, none."""
        self.require_model(encoder)
        with self._writer() as writer:
            return writer.add(documents, encoder, batch_size=batch_size, skip_bad=skip_bad)

    def delete(self, ids: Sequence[str], *, ignore_missing: bool = False) -> int:
        with self._writer() as writer:
            return writer.delete(ids, ignore_missing=ignore_missing)

    def compact(self) -> None:
        """Drop deleted and replaced documents for good."""
        with self._writer() as writer:
            writer.compact()

    @contextmanager
    def _writer(self) -> Iterator[Writer]:
        with self._writing_here:
            self._require_same()
            with writing(self.path):
                manifest = self._require_same()  # nobody can replace the folder's content from here on
                store = Store.open(self.path / STORE_FILE, writable=True)
                try:
                    engine = open_engine(manifest.engine, self.path / ENGINE_FOLDER)
                    try:
                        yield Writer(self.path, manifest, store, engine)
                    finally:
                        engine.close()
                finally:
                    store.close()
            self.refresh()

    def _require_same(self) -> Manifest:
        manifest = read_manifest(self.path)
        if manifest.uid != self.manifest.uid:
            raise ConflictError(
                f"The index '{self.path}' was built anew after it was opened here.", hint="open it again"
            )
        return manifest

    def refresh(self) -> bool:
        """See what has been written since; True when there was something.

        An index that was built anew in the same place stays as it was: open that one.
        """
        manifest = read_manifest(self.path)
        view = self._view
        if manifest.uid != self.manifest.uid or view.store.generation() == view.generation:
            return False
        self._view = _look(self.path, manifest, view.store)
        self.manifest = manifest
        return True

    def close(self) -> None:
        self._view.engine.close()
        self._view.store.close()


def _check_small_files(path: Path, manifest: Manifest) -> None:
    small = [name for name, entry in manifest.files.items() if entry["bytes"] <= CHECKED_ON_OPENING]
    there = [name for name in small if (path / name).is_file()]  # the engine itself misses the others
    if found := file_problems(path, manifest, there):
        raise DamagedIndexError(
            f"The index '{path}' is damaged: {found[0]}", hint="copy the index again, or build it again"
        )


def _look(path: Path, manifest: Manifest, store: Store) -> View:
    for _ in range(OPEN_ATTEMPTS):
        generation, count = store.generation(), store.count()
        engine = open_engine(manifest.engine, path / ENGINE_FOLDER)
        # The engine was opened last, so it has all vectors of `generation`, unless a writer committed
        # meanwhile and has already taken some away.
        if store.generation() != generation:
            engine.close()
            continue
        if engine.dim != manifest.dim:
            raise DamagedIndexError(
                f"The vectors of '{path}' have dimension {engine.dim}, its manifest says {manifest.dim}.",
                hint="copy the index again, or build it again",
            )
        claimed = store.keys(generation) if engine.count != count else None
        return View(store, engine, generation, count, claimed)
    raise ConflictError(f"The index '{path}' changes faster than it can be opened.", hint="try again")
