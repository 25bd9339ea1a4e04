"""Documents out of files: JSONL, CSV, TSV, Parquet, plain text, each plain or compressed.

Reading is streaming: memory holds one line, and the 8-byte digests that tell duplicate ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

from numcolbert.data.readers import jsonl, parquet, table
from numcolbert.data.readers.benchmarks import Benchmark, read_benchmark
from numcolbert.data.readers.faults import Faults
from numcolbert.data.readers.jsonl import Fields
from numcolbert.data.readers.lines import numbered_lines
from numcolbert.errors import InputError, NotFoundError, UsageError
from numcolbert.files import without_compression
from numcolbert.types import Document

__all__ = ["Benchmark", "Reader", "read", "read_benchmark"]

FORMATS = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "tsv",
    ".parquet": "parquet", ".txt": "text", ".text": "text", ".md": "text",
}  # fmt: skip


class Reader:
    """Iterate over it for the documents; afterwards `skipped` says how many lines were left out."""

    def __init__(self, path: Path, fields: Fields, *, skip_bad: bool) -> None:
        self.path = path
        self.format = format_of(path)
        self._fields = fields
        self._faults = Faults(path, skip=skip_bad)
        self._line = 0

    @property
    def skipped(self) -> int:
        return self._faults.count

    @property
    def problems(self) -> list[str]:
        """The first few reasons for skipping, one sentence each."""
        return self._faults.messages

    def refuse(self, problem: str, *, hint: str) -> None:
        """The document just given is no good to the caller: raise with its line, or count it as skipped."""
        self._faults.at(self._line, problem, hint=hint)

    def __iter__(self) -> Iterator[Document]:
        self._faults = faults = Faults(self.path, skip=self._faults.skip)
        seen: set[bytes] = set()
        found = False
        for number, has_id, document in self._documents():
            self._line = number
            if has_id:
                digest = blake2b(document.id.encode(), digest_size=8).digest()
                if digest in seen:
                    faults.at(
                        number,
                        f"repeats the id '{document.id}'",
                        hint="give every document its own id, or pass --skip-bad to keep the first",
                    )
                    continue
                seen.add(digest)
            found = True
            yield document
        if not found and not faults.count:
            raise InputError(f"'{self.path}' holds no document.", hint="check how it was made")

    def _documents(self) -> Iterator[tuple[int, bool, Document]]:
        faults = self._faults
        if self.format == "parquet":
            yield from parquet.documents(self.path, self._fields, faults)
            return
        lines = numbered_lines(self.path, faults)
        if self.format == "jsonl":
            yield from jsonl.documents(lines, self._fields, faults)
        elif self.format in ("csv", "tsv"):
            yield from table.documents(lines, self._fields, faults, tabs=self.format == "tsv")
        else:
            for number, line in lines:
                if text := line.strip():
                    yield number, False, Document(str(number), text)


def read(
    path: Path | str, *, text_field: str = "text", id_field: str = "id", skip_bad: bool = False
) -> Reader:
    """Open a file of documents.

    The format follows the name (`.jsonl`, `.csv`, `.tsv`, `.parquet`, `.txt`, with `.gz` or `.xz` after it).
    A line `{"doc": ..., "sentences": [...]}` gives one document a sentence, with id `doc#position`.
    Documents without an id are numbered by line. Errors name file and line; with `skip_bad` bad lines are
    counted and left out.
    """
    path = Path(path)
    if path.is_dir():
        if not (path / "corpus.jsonl").is_file():
            raise NotFoundError(
                f"'{path}' is a folder without a corpus.jsonl.", hint="pass a file, or a BEIR folder"
            )
        path = path / "corpus.jsonl"
    elif not path.exists():
        raise NotFoundError(f"The file '{path}' does not exist.", hint="check the path")
    return Reader(path, Fields(text_field, id_field), skip_bad=skip_bad)


def format_of(path: Path) -> str:
    suffix = without_compression(path).suffix.lower()
    if suffix not in FORMATS:
        raise UsageError(
            f"The format of '{path}' is unknown.",
            hint="name it " + ", ".join(sorted(FORMATS)) + " (and .gz or .xz after that)",
        )
    return FORMATS[suffix]
