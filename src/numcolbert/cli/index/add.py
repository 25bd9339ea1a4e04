"""`numcolbert index add`"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from numcolbert.cli.documents import (
    BatchSizeOption,
    DocsArgument,
    IdFieldOption,
    ModelOption,
    SkipBadOption,
    TextFieldOption,
    documents_from,
)
from numcolbert.cli.loading import open_index
from numcolbert.cli.output import JsonOption, print_json

IndexArgument = Annotated[Path, typer.Argument(metavar="DIR", help="The index folder.", show_default=False)]


def add(
    index: IndexArgument,
    docs: DocsArgument,
    model: ModelOption = None,
    text_field: TextFieldOption = "text",
    id_field: IdFieldOption = "id",
    skip_bad: SkipBadOption = False,
    batch_size: BatchSizeOption = 32,
    as_json: JsonOption = False,
) -> None:
    """Add documents to an index; one whose id is already there replaces it.

    All of them are added or, when one is refused, none.

    Example: [bold]numcolbert index add idx new.jsonl[/bold]
    """
    with (
        open_index(index, model) as opened,
        documents_from(docs, text_field=text_field, id_field=id_field, skip_bad=skip_bad) as documents,
    ):
        report = opened.add(documents, batch_size=batch_size, skip_bad=skip_bad)
        skipped, total = report.skipped + documents.skipped, len(opened)
    if as_json:
        print_json({**asdict(report), "skipped": skipped, "documents": total})
        return
    left_out = f", {skipped:,} bad left out" if skipped else ""
    typer.echo(f"{report.added:,} added, {report.replaced:,} replaced{left_out}; {total:,} documents")
