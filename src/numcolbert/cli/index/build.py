"""`numcolbert index build`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from numcolbert.cli.documents import (
    BatchSizeOption,
    DocsArgument,
    IdFieldOption,
    SkipBadOption,
    TextFieldOption,
    documents_from,
    input_identity,
)
from numcolbert.cli.loading import load_model
from numcolbert.cli.output import JsonOption, print_json
from numcolbert.progress import clock

if TYPE_CHECKING:
    from numcolbert.index.estimate import Estimate


def build(
    docs: DocsArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder of the new index.", show_default=False)
    ],
    engine: Annotated[
        str, typer.Option(help="auto, flat (exact) or plaid (compressed). auto: flat up to 5,000 documents.")
    ] = "auto",
    nbits: Annotated[
        int | None,
        typer.Option(help="Bits a coordinate in plaid: 1, 2, 4 or 8. By default 4.", show_default=False),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Model folder or id. By default the shipped one.", show_default=False)
    ] = None,
    text_field: TextFieldOption = "text",
    id_field: IdFieldOption = "id",
    skip_bad: SkipBadOption = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the index that is there.")] = False,
    batch_size: BatchSizeOption = 32,
    as_json: JsonOption = False,
) -> None:
    """Build an index from documents.

    What else a document holds besides text and id becomes metadata to filter on. An interrupted build goes on
    where it stopped when the same command is given again; readers of an index that is replaced keep the old
    one until they reopen it.

    Examples: [bold]numcolbert index build products.jsonl -o idx[/bold],
    [bold]numcolbert index build sheet.csv -o idx --text-field description --nbits 2[/bold],
    [bold]cat lines.txt | numcolbert index build - -o idx[/bold]
    """
    from numcolbert.index import build as building
    from numcolbert.index.estimate import megabytes

    settings: dict[str, Any] = {} if nbits is None else {"nbits": nbits}
    identity = input_identity(docs, text_field, id_field)
    with documents_from(docs, text_field=text_field, id_field=id_field, skip_bad=skip_bad) as documents:
        try:
            report = building.build(
                documents,
                output,
                load_model(model).encoder,
                engine=engine,
                settings=settings,
                overwrite=overwrite,
                batch_size=batch_size,
                skip_bad=skip_bad,
                resume_as=identity,
                on_estimate=_announce,
            )
        except KeyboardInterrupt:
            if identity is not None:
                typer.echo("interrupted; the same command goes on from here", err=True)
            raise
        skipped = report.skipped + documents.skipped
    if as_json:
        print_json({"path": str(output), **_fields(report), "skipped": skipped})
        return
    left_out = f", {skipped:,} bad left out" if skipped else ""
    typer.echo(
        f"{output}: {report.documents:,} documents, {report.vectors:,} vectors, "
        f"engine {report.engine}, {megabytes(report.bytes)}{left_out}"
    )


def _announce(estimate: Estimate) -> None:
    from numcolbert.index.estimate import megabytes

    typer.echo(
        f"about {megabytes(estimate.bytes)} for {estimate.documents:,} documents "
        f"({megabytes(estimate.bytes_while_building)} while building), {clock(estimate.seconds)}",
        err=True,
    )


def _fields(report: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(report)
