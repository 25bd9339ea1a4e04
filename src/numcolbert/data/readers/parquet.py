"""Parquet, row group by row group."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, time, timedelta
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any

from numcolbert.data.readers.faults import Faults
from numcolbert.data.readers.jsonl import Fields
from numcolbert.errors import InputError, MissingDependencyError
from numcolbert.files import require_file
from numcolbert.types import Document

BATCH = 1024
EXPORTED = ("id", "text", "metadata", "vectors")
"""The columns that `index export` writes. Read back, metadata are fields again; the vectors are made anew."""


def documents(path: Path, fields: Fields, faults: Faults) -> Iterator[tuple[int, bool, Document]]:
    """Yield (row number from 1, whether the id stands in the file, document)."""
    require_file(path, "file")
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependencyError.for_extra("pyarrow", "parquet", f"Reading '{path}'") from error
    try:
        file = pyarrow.parquet.ParquetFile(path)
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(
            f"'{path}' is not a readable Parquet file: {reason}.", hint="fetch or write it again"
        ) from error
    with file:
        columns = file.schema_arrow.names
        if fields.text not in columns:
            raise InputError(
                f"'{path}' has no column '{fields.text}'; it has {', '.join(map(repr, columns))}.",
                hint="name the column that holds the text with --text-field",
            )
        key = next((name for name in fields.ids if name in columns), None)
        exported = fields.text == "text" and tuple(columns) in (EXPORTED, EXPORTED[:3])
        kept = [name for name in columns if not (exported and name == "vectors")]
        for number, record in enumerate(_records(file, kept, faults, pyarrow.ArrowException), 1):
            text = record[fields.text]
            if not isinstance(text, str):
                faults.at(number, f"has no text in its column '{fields.text}'", hint="see --skip-bad")
                continue
            rest = {k: _plain(v) for k, v in record.items() if k not in (fields.text, key)}
            if exported:
                rest = _unpacked(rest)
            id = record[key] if key else None
            yield number, id is not None, Document(str(number if id is None else id), text, rest)


def _unpacked(rest: dict[str, Any]) -> dict[str, Any]:
    """The metadata that an export wrote as one JSON object; as it stands, where it is none."""
    try:
        metadata = json.loads(rest["metadata"])
    except (TypeError, ValueError):
        return rest
    return metadata if isinstance(metadata, dict) else rest


def _records(
    file: Any, columns: list[str], faults: Faults, arrow_error: type[Exception]
) -> Iterator[dict[str, Any]]:
    rows = 0
    try:
        for batch in file.iter_batches(batch_size=BATCH, columns=columns):
            for record in batch.to_pylist():
                rows += 1
                yield record
    except (arrow_error, OSError) as error:
        faults.report(
            f"The Parquet file '{faults.path}' is damaged after row {rows}: {str(error).rstrip('.')}.",
            hint="fetch it again, or pass --skip-bad to keep what can be read",
            cause=error,
        )


def _plain(value: Any) -> Any:
    """A value as JSON has it: dates and times in ISO form, decimals as numbers, bytes in hexadecimal."""
    match value:
        case date() | time():  # a datetime is a date
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Decimal():
            return float(value) if value.is_finite() else None
        case float():
            return value if isfinite(value) else None
        case bytes():
            return value.hex()
        case list() | tuple():
            return [_plain(item) for item in value]
        case dict():
            return {str(k): _plain(v) for k, v in value.items()}
        case _:
            return value
