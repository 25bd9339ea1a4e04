"""Parquet, row group by row group."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from numcolbert.data.readers.faults import Faults
from numcolbert.data.readers.jsonl import Fields
from numcolbert.errors import InputError, MissingDependencyError
from numcolbert.files import require_file
from numcolbert.types import Document

BATCH = 1024


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
        number = 0
        for batch in file.iter_batches(batch_size=BATCH):
            for record in batch.to_pylist():
                number += 1
                text = record[fields.text]
                if not isinstance(text, str):
                    faults.at(number, f"has no text in its column '{fields.text}'", hint="see --skip-bad")
                    continue
                rest = {k: v for k, v in record.items() if k not in (fields.text, key)}
                yield number, key is not None, Document(str(record[key]) if key else str(number), text, rest)
