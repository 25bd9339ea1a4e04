"""Whether an index on disk is what its manifest says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from numcolbert.errors import DamagedIndexError, NotFoundError
from numcolbert.index.engines import open_engine
from numcolbert.index.manifest import Manifest, file_problems, read_manifest
from numcolbert.index.store import Store
from numcolbert.index.writer import ENGINE_FOLDER, STORE_FILE, engine_files


def problems(folder: Path) -> list[str]:
    """Everything that is wrong, a sentence each; empty when all is well. Reads every file once."""
    try:
        manifest = read_manifest(folder)
    except DamagedIndexError as error:
        return [error.message]
    found, held = _engine(folder, manifest)
    try:
        store = Store.open(folder / STORE_FILE)
    except DamagedIndexError as error:
        return [*found, error.message]
    try:
        return [*found, *(store.problems() or _store(manifest, store, held))]
    finally:
        store.close()


def _engine(folder: Path, manifest: Manifest) -> tuple[list[str], NDArray[np.int64] | None]:
    """What is wrong with the engine, and the keys it holds where it can be opened."""
    try:
        engine = open_engine(manifest.engine, folder / ENGINE_FOLDER)
    except (DamagedIndexError, NotFoundError) as error:
        # Where a file is at fault, the engine would say the same once more.
        return file_problems(folder, manifest, manifest.files) or [error.message], None
    try:
        # A compaction that was cut short may have replaced files before the manifest could tell.
        current = [name for name in engine_files(engine) if name in manifest.files]
        return file_problems(folder, manifest, current), engine.keys()
    finally:
        engine.close()


def _store(manifest: Manifest, store: Store, held: NDArray[np.int64] | None) -> list[str]:
    found = []
    generation, count = store.generation(), store.count()
    if generation < manifest.generation:
        found.append(
            f"The document store is older than the manifest ({count:,} documents instead of "
            f"{manifest.documents:,}): it was copied without its log '{STORE_FILE}-wal'."
        )
    elif generation == manifest.generation and count != manifest.documents:
        found.append(f"The store holds {count:,} documents, the manifest says {manifest.documents:,}.")
    claimed = store.keys(generation)
    if len(claimed) != count:
        found.append(f"The store counts {count:,} documents and holds {len(claimed):,}.")
    if held is not None:
        # Vectors without a document are what a crash may leave, and harmless; the reverse is a loss.
        missing = np.setdiff1d(claimed, held, assume_unique=True)
        if len(missing):
            example = store.fetch([int(missing[0])])[int(missing[0])].document.id
            found.append(f"{len(missing):,} documents have no vectors, among them '{example}'.")
    return found
