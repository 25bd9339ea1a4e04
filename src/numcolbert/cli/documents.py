"""Documents named on the command line: a file, or `-` for standard input."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from numcolbert.data.readers.faults import SKIP_HINT
from numcolbert.errors import InputError
from numcolbert.types import Document

DocsArgument = Annotated[
    str,
    typer.Argument(
        metavar="DOCS",
        help="Documents: jsonl, csv, tsv, parquet or txt (.gz and .xz too), or - for standard input.",
        show_default=False,
    ),
]
TextFieldOption = Annotated[str, typer.Option(help="Field or column that holds the text.")]
IdFieldOption = Annotated[str, typer.Option(help="Field or column that holds the id.")]
SkipBadOption = Annotated[bool, typer.Option("--skip-bad", help="Leave bad lines out instead of stopping.")]
BatchSizeOption = Annotated[int, typer.Option(min=1, max=4096, help="Documents encoded at a time.")]
ModelOption = Annotated[
    str | None,
    typer.Option(help="Model folder or id. By default the one the index was built with.", show_default=False),
]


_JSON = re.compile(rb"\{|\[\s*\{")
"""An array of objects is read as JSON lines too: to be refused with a hint, not taken for sentences."""


class Documents(Iterable[Document]):
    """What a reader gives, with standard input called by its name."""

    def __init__(self, path: Path, *, shown: str, text_field: str, id_field: str, skip_bad: bool) -> None:
        from numcolbert.data import corpora

        self._path, self._shown = path, shown
        self._reader = corpora.read(path, text_field=text_field, id_field=id_field, skip_bad=skip_bad)

    @property
    def skipped(self) -> int:
        return self._reader.skipped

    def __iter__(self) -> Iterator[Document]:
        from numcolbert.index.inputs import LONGEST_ID

        try:
            for document in self._reader:  # what an index would refuse, while the line is known
                if not document.text.strip():
                    self._reader.refuse("has an empty text", hint=SKIP_HINT)
                elif not document.id:
                    self._reader.refuse("has an empty id", hint=SKIP_HINT)
                elif len(document.id) > LONGEST_ID:
                    self._reader.refuse(f"has an id of more than {LONGEST_ID:,} characters", hint=SKIP_HINT)
                else:
                    yield document
        except InputError as error:
            raise InputError(
                error.message.replace(f"'{self._path}'", self._shown), hint=error.hint
            ) from error


@contextmanager
def documents_from(
    docs: str, *, text_field: str = "text", id_field: str = "id", skip_bad: bool = False
) -> Iterator[Documents]:
    """The documents behind a DOCS argument; standard input is JSON lines, or one text a line."""

    def reader(path: Path, shown: str) -> Documents:
        return Documents(path, shown=shown, text_field=text_field, id_field=id_field, skip_bad=skip_bad)

    if docs != "-":
        yield reader(Path(docs), f"'{docs}'")
        return
    if sys.stdin.isatty():
        typer.echo("reading from standard input, one document a line; Ctrl-D ends", err=True)
    # Kept in a file, because a build reads its input twice.
    with tempfile.TemporaryDirectory(prefix="numcolbert-") as folder:
        raw = Path(folder) / "stdin"
        with raw.open("w+b") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
            file.seek(0)
            first = file.read(4096).lstrip()
        if not first:
            raise InputError(
                "Standard input is empty.", hint="pipe documents into the command, or name a file"
            )
        yield reader(
            raw.rename(raw.with_suffix(".jsonl" if _JSON.match(first) else ".txt")), "standard input"
        )


def input_identity(docs: str, *options: object) -> str | None:
    """What tells whether a later call reads the same input; None where that cannot be known."""
    path = Path(docs)
    if docs == "-" or not path.is_file():
        return None
    facts = path.stat()
    return repr((str(path.resolve()), facts.st_size, facts.st_mtime_ns, *options))
