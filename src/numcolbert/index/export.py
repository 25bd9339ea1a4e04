"""Documents and vectors out of an index, for other tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any

from numcolbert.errors import ConflictError, InputError, MissingDependencyError, UsageError
from numcolbert.files import replacing_file
from numcolbert.index.collection import Collection
from numcolbert.index.inputs import encode_metadata
from numcolbert.index.store import Stored
from numcolbert.progress import track

ROWS_A_GROUP = 1_000

Writer = Callable[[Collection, Iterator[Stored], Path, bool], None]


def export(
    collection: Collection,
    target: Path,
    *,
    format: str | None = None,
    vectors: bool = True,
    overwrite: bool = False,
) -> int:
    """Write all documents in order of arrival and return how many.

    jsonl: `{"id", "text", **metadata}` a line, which `index build` reads again.
    parquet: id, text, metadata (JSON), and with `vectors` the token vectors as the engine holds them.
    trec: `<DOC>` records.
    """
    chosen = format or target.suffix.lstrip(".")
    if not isinstance(chosen, str) or chosen not in WRITERS:
        known = ", ".join(WRITERS)
        what = f"There is no export format '{chosen}'" if chosen else f"'{target}' has no ending"
        raise UsageError(f"{what}.", hint=f"choose one of {known} with --format, or by the file's ending")
    if target.is_dir():
        raise ConflictError(f"'{target}' is a folder.", hint="name a file")
    if target.exists() and not overwrite:
        raise ConflictError(
            f"'{target}' already exists.",
            hint="pass --overwrite (in Python overwrite=True) or choose another name",
        )
    total = len(collection)
    with replacing_file(target) as aside:
        rows = track(collection.scan(), "export", total, "documents")
        WRITERS[chosen](collection, rows, aside, vectors)
    return total


def _jsonl(_: Collection, rows: Iterator[Stored], path: Path, __: bool) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            document = row.document
            record = {**document.metadata, "id": document.id, "text": document.text}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def _trec(_: Collection, rows: Iterator[Stored], path: Path, __: bool) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            id, text = row.document.id, row.document.text
            if any(c.isspace() for c in id):
                raise InputError(
                    f"The id '{id}' holds a space, which TREC files cannot.",
                    hint="export to jsonl or parquet",
                )
            file.write(
                f"<DOC>\n<DOCNO>{escape(id, quote=False)}</DOCNO>\n"
                f"<TEXT>\n{escape(text, quote=False)}\n</TEXT>\n</DOC>\n"
            )


def _parquet(collection: Collection, rows: Iterator[Stored], path: Path, vectors: bool) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise MissingDependencyError.for_extra("pyarrow", "parquet", "Exporting to Parquet") from error
    engine, dim = collection.view.engine, collection.manifest.dim
    columns: list[tuple[str, Any]] = [("id", pa.string()), ("text", pa.string()), ("metadata", pa.string())]
    if vectors:
        columns.append(("vectors", pa.list_(pa.list_(pa.float32(), dim))))
    schema = pa.schema(columns)
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        while group := list(islice(rows, ROWS_A_GROUP)):
            record: dict[str, Any] = {
                "id": [row.document.id for row in group],
                "text": [row.document.text for row in group],
                "metadata": [encode_metadata(row.document) for row in group],
            }
            if vectors:
                record["vectors"] = _vector_column(pa, [engine.vectors(row.key) for row in group], dim)
            writer.write_table(pa.table(record, schema=schema))


def _vector_column(pa: Any, matrices: list[Any], dim: int) -> Any:
    """A list of vectors a row, without a Python object for every number."""
    import numpy as np

    offsets = np.concatenate([[0], np.cumsum([len(matrix) for matrix in matrices])]).astype(np.int32)
    flat = pa.array(np.concatenate(matrices).astype(np.float32).ravel())
    return pa.ListArray.from_arrays(pa.array(offsets), pa.FixedSizeListArray.from_arrays(flat, dim))


WRITERS: dict[str, Writer] = {"parquet": _parquet, "jsonl": _jsonl, "trec": _trec}
