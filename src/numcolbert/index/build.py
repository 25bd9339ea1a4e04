"""Building an index: aside, in steps that survive an interruption, then renamed.

First every document is encoded into an exact engine, a window at a time; then, for a larger collection, the
compressed engine is made from those vectors. A window and its place in the input are committed together, so
a build that was cut short goes on behind the last window when it is started again.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from numcolbert import __version__
from numcolbert.errors import InputError
from numcolbert.files import folder_bytes, storage_errors
from numcolbert.index.aside import Aside
from numcolbert.index.base import Engine
from numcolbert.index.encoding import TextEncoder, encoded_windows
from numcolbert.index.engines import AUTO, check_settings, choose_engine, create_engine, open_engine
from numcolbert.index.estimate import Estimate, Survey, estimate
from numcolbert.index.inputs import DocumentLike, as_document
from numcolbert.index.manifest import FORMAT, Manifest, checksums, now, read_manifest, write_manifest
from numcolbert.index.store import Store, chunks
from numcolbert.index.writer import ENGINE_FOLDER, STORE_FILE, drop_unclaimed, engine_files, quantities_of
from numcolbert.progress import Progress
from numcolbert.types import Document

SPOOL = "spool"
"""The exact engine that the encoded documents go to first."""
CODED_AT_A_TIME = 2_000


@dataclass(frozen=True, slots=True)
class BuildReport:
    documents: int
    vectors: int
    skipped: int
    engine: str
    bytes: int
    resumed_at: int
    """How many documents an earlier, interrupted build had already done."""


def build(
    documents: Iterable[DocumentLike],
    target: Path,
    encoder: TextEncoder,
    *,
    engine: str = AUTO,
    settings: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    batch_size: int = 32,
    skip_bad: bool = False,
    resume_as: str | None = None,
    on_estimate: Callable[[Estimate], None] | None = None,
) -> BuildReport:
    """Index `documents` in the folder `target`.

    documents: read twice where that is possible: once to refuse bad ones, count and estimate before any
        work is done, once to encode.
    resume_as: names the input (path, size, time of change). With it an interrupted build can be continued by
        the same call; without it, it starts anew.
    on_estimate: hears the expected size and time before encoding starts.
    """
    settings = dict(settings or {})
    check_settings(engine, settings)
    arguments = [resume_as, encoder.fingerprint, engine, settings, skip_bad]
    with Aside(target, arguments, resumable=resume_as is not None, overwrite=overwrite) as aside:
        if aside.is_complete:  # an earlier call was cut short at the last step
            finished = read_manifest(aside.folder)
            report = report_on(aside.folder, finished, skipped=0, resumed_at=finished.documents)
        else:
            survey = None
            if not isinstance(documents, Iterator):
                survey = Survey.of(_checked(documents, skip_bad, Skipped()))
                expected = estimate(survey, encoder, engine, settings, batch_size)
                if on_estimate is not None:
                    on_estimate(expected)
                expected.require_space(aside.folder)
            skipped = Skipped()
            checked = _checked(documents, skip_bad, skipped)
            manifest, done = _make(aside.folder, checked, survey, encoder, engine, settings, batch_size)
            report = report_on(aside.folder, manifest, skipped=skipped.count, resumed_at=done)
        aside.publish()
    return report


def _make(
    folder: Path,
    documents: Iterator[Document],
    survey: Survey | None,
    encoder: TextEncoder,
    engine: str,
    settings: Mapping[str, Any],
    batch_size: int,
) -> tuple[Manifest, int]:
    """A whole index in `folder`, and how many documents an earlier call had left there."""
    store, spool = _open_parts(folder, encoder.dim)
    try:
        done = _encode_all(documents, store, spool, encoder, batch_size, survey)
        kind = choose_engine(engine, store.count())
        if kind == "flat":
            settings = {}  # meant for the engine that a larger collection would have got
        _finish_engine(folder, spool, kind, settings)
        model = Model(_findable(encoder.name), encoder.fingerprint, encoder.dim)
        manifest = describe(folder, store, model, kind, settings)
    finally:
        spool.close()
        store.close()
    shutil.rmtree(folder / SPOOL, ignore_errors=True)
    return manifest, done


@dataclass(slots=True)
class Skipped:
    count: int = 0


def _checked(documents: Iterable[DocumentLike], skip_bad: bool, skipped: Skipped) -> Iterator[Document]:
    position = 0
    for item in documents:
        try:
            document = as_document(item, fallback_id=str(position))
        except InputError:
            if not skip_bad:
                raise
            skipped.count += 1
            continue
        position += 1
        yield document


def _open_parts(folder: Path, dim: int) -> tuple[Store, Engine]:
    """New ones, or those of an interrupted build, brought back in step."""
    if not (folder / SPOOL).exists() and (folder / ENGINE_FOLDER).exists():
        (folder / ENGINE_FOLDER).rename(folder / SPOOL)  # stopped after `_finish_engine` had made it final
    if not (folder / STORE_FILE).exists() or not (folder / SPOOL / "state.json").exists():
        shutil.rmtree(folder / SPOOL, ignore_errors=True)
        for file in folder.glob(f"{STORE_FILE}*"):
            file.unlink()
        with storage_errors(folder):
            return Store.create(folder / STORE_FILE), create_engine("flat", folder / SPOOL, dim, {})
    store, spool = Store.open(folder / STORE_FILE, writable=True), open_engine("flat", folder / SPOOL)
    drop_unclaimed(store, spool)
    return store, spool


def _encode_all(
    documents: Iterator[Document],
    store: Store,
    spool: Engine,
    encoder: TextEncoder,
    batch_size: int,
    survey: Survey | None,
) -> int:
    """Encode what is not yet there; returns how much was."""
    done = store.consumed()
    left = None if survey is None else survey.documents - done
    with Progress(f"index after {done:,}" if done else "index", left, "documents") as progress:
        for window, vectors in encoded_windows(encoder, islice(documents, done, None), batch_size):
            first = store.next_key()
            keys = range(first, first + len(window))
            spool.add(keys, vectors)
            spool.commit()
            with store.transaction() as generation:
                replaced = [
                    store.insert(generation, key, document, quantities_of(document))
                    for key, document in zip(keys, window, strict=True)
                ]
                store.set_next_key(keys.stop)
                store.consume(len(window))
            if gone := [key for key in replaced if key is not None]:
                spool.delete(gone)
                spool.commit()
            progress.advance(len(window))
    return done


def _finish_engine(folder: Path, spool: Engine, kind: str, settings: Mapping[str, Any]) -> None:
    """Turn the spool into the engine that was asked for."""
    final = folder / ENGINE_FOLDER
    if kind == "flat":
        spool.compact()
        spool.commit()
        spool.close()
        (folder / SPOOL).rename(final)
        return
    shutil.rmtree(final, ignore_errors=True)  # of a build that stopped here
    engine = create_engine(kind, final, spool.dim, settings, spool)
    try:
        keys = spool.keys().tolist()
        with Progress("compress", len(keys), "documents") as progress:
            for chunk in chunks(keys, CODED_AT_A_TIME):
                engine.add(chunk, [spool.vectors(key) for key in chunk])
                progress.advance(len(chunk))
        engine.commit()
    finally:
        engine.close()


def _findable(model: str) -> str:
    """A model folder by its full path, so that the index opens from anywhere."""
    return str(Path(model).resolve()) if Path(model).is_dir() else model


@dataclass(frozen=True, slots=True)
class Model:
    """Whose vectors an index holds."""

    name: str
    fingerprint: str
    dim: int


def describe(folder: Path, store: Store, model: Model, kind: str, settings: Mapping[str, Any]) -> Manifest:
    """Write the manifest, the last step of a build."""
    store.purge()
    engine = open_engine(kind, folder / ENGINE_FOLDER)
    try:
        manifest = Manifest(
            format=FORMAT,
            uid=uuid.uuid4().hex,
            model=model.name,
            model_fingerprint=model.fingerprint,
            dim=model.dim,
            engine=kind,
            documents=store.count(),
            vectors=int(engine.stats()["vectors"]),
            generation=store.generation(),
            created=now(),
            updated=now(),
            numcolbert=__version__,
            settings=dict(settings),
            files=checksums(folder, engine_files(engine)),
        )
    finally:
        engine.close()
    write_manifest(folder, manifest)
    return manifest


def report_on(folder: Path, manifest: Manifest, *, skipped: int, resumed_at: int) -> BuildReport:
    return BuildReport(
        manifest.documents, manifest.vectors, skipped, manifest.engine, folder_bytes(folder), resumed_at
    )
