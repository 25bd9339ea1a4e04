"""Moving an index to another engine without encoding anything again."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from numcolbert.errors import UsageError
from numcolbert.index.aside import Aside
from numcolbert.index.base import Engine
from numcolbert.index.build import BuildReport, Model, describe, report_on
from numcolbert.index.collection import Collection
from numcolbert.index.engines import AUTO, check_settings, choose_engine, create_engine
from numcolbert.index.store import Store
from numcolbert.index.writer import ENGINE_FOLDER, STORE_FILE
from numcolbert.progress import Progress

_AT_A_TIME = 2_000


def copy(
    source: Collection,
    target: Path,
    *,
    engine: str = AUTO,
    settings: Mapping[str, Any] | None = None,
    overwrite: bool = False,
) -> BuildReport:
    """A new index in `target` with the documents of `source` and their vectors, as its engine holds them."""
    settings = dict(settings or {})
    check_settings(engine, settings)
    if target.absolute() == source.path.absolute():
        raise UsageError(f"'{target}' would be copied onto itself.", hint="choose another folder")
    kind = choose_engine(engine, len(source))
    if kind == "flat":
        settings = {}  # as a build does
    with Aside(target, [str(source.path), engine, settings], resumable=False, overwrite=overwrite) as aside:
        store = Store.create(aside.folder / STORE_FILE)
        try:
            old = source.view.engine
            new = create_engine(kind, aside.folder / ENGINE_FOLDER, old.dim, settings, old)
            try:
                _fill(source, store, new)
                new.commit()
            finally:
                new.close()
            known = source.manifest
            model = Model(known.model, known.model_fingerprint, known.dim)
            manifest = describe(aside.folder, store, model, kind, settings)
        finally:
            store.close()
        report = report_on(aside.folder, manifest, skipped=0, resumed_at=0)
        aside.publish()
    return report


def _fill(source: Collection, store: Store, engine: Engine) -> None:
    old, rows = source.view.engine, source.scan()
    with Progress("copy", len(source), "documents") as progress:
        while some := list(islice(rows, _AT_A_TIME)):
            first = store.next_key()
            keys = range(first, first + len(some))
            engine.add(keys, [old.vectors(row.key) for row in some])
            with store.transaction() as generation:
                for key, row in zip(keys, some, strict=True):
                    store.insert(generation, key, row.document, list(row.quantities))
                store.set_next_key(keys.stop)
            progress.advance(len(some))
