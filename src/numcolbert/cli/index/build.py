"""`numcolbert index build`"""

from __future__ import annotations

import json
from dataclasses import asdict
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
from numcolbert.errors import UsageError
from numcolbert.progress import clock

if TYPE_CHECKING:
    from numcolbert.index.build import BuildReport
    from numcolbert.index.estimate import Estimate

MANIFEST = "manifest.json"
"""What tells an index from other folders; repeated here because loading `index` takes a while."""


def build(
    docs: DocsArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder of the new index.", show_default=False)
    ],
    engine: Annotated[
        str,
        typer.Option(
            help="flat (exact), plaid (compressed), qdrant, ray, fastplaid, or auto: "
            "flat up to 5,000 documents, then plaid."
        ),
    ] = "auto",
    nbits: Annotated[
        int | None,
        typer.Option(help="Bits a coordinate in plaid: 1, 2, 4 or 8. By default 4.", show_default=False),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A setting of the engine, such as url=http://localhost:6333; may be repeated.",
            show_default=False,
        ),
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
    one until they reopen it. DOCS may also be an index: its documents and vectors are then copied to another
    engine, and nothing is encoded.

    Examples: [bold]numcolbert index build products.jsonl -o idx[/bold],
    [bold]numcolbert index build sheet.csv -o idx --text-field description --nbits 2[/bold],
    [bold]cat lines.txt | numcolbert index build - -o idx[/bold],
    [bold]numcolbert index build idx -o idx-qdrant --engine qdrant --set url=http://localhost:6333[/bold]
    """
    settings = _settings(nbits, set_ or [])
    if (Path(docs) / MANIFEST).is_file():
        if model is not None:
            raise UsageError(
                f"'{docs}' is an index: its vectors come with their model.",
                hint="leave --model out, or build from the documents",
            )
        report, skipped = _copied(Path(docs), output, engine, settings, overwrite), 0
    else:
        report, skipped = _built(
            docs, output, engine, settings, model, text_field, id_field, skip_bad, overwrite, batch_size
        )
    if as_json:
        print_json({"path": str(output), **asdict(report), "skipped": skipped})
        return
    from numcolbert.index.estimate import megabytes

    left_out = f", {skipped:,} bad left out" if skipped else ""
    typer.echo(
        f"{output}: {report.documents:,} documents, {report.vectors:,} vectors, "
        f"engine {report.engine}, {megabytes(report.bytes)}{left_out}"
    )


def _settings(nbits: int | None, pairs: list[str]) -> dict[str, Any]:
    """From NAME=VALUE, where a value is a number, true, false, or a text."""
    found: dict[str, Any] = {} if nbits is None else {"nbits": nbits}
    for pair in pairs:
        name, sign, text = pair.partition("=")
        if not (name and sign):
            raise UsageError(f"'{pair}' sets nothing.", hint="write --set NAME=VALUE")
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        found[name] = value if isinstance(value, bool | int | float) else text
    return found


def _copied(
    source: Path, output: Path, engine: str, settings: dict[str, Any], overwrite: bool
) -> BuildReport:
    from numcolbert.index.collection import Collection
    from numcolbert.index.copy import copy

    collection = Collection.open(source)
    try:
        return copy(collection, output, engine=engine, settings=settings, overwrite=overwrite)
    finally:
        collection.close()


def _built(
    docs: str,
    output: Path,
    engine: str,
    settings: dict[str, Any],
    model: str | None,
    text_field: str,
    id_field: str,
    skip_bad: bool,
    overwrite: bool,
    batch_size: int,
) -> tuple[BuildReport, int]:
    """The report, and how many documents were left out."""
    from numcolbert.index import build as building

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
                typer.echo("the same command goes on from here", err=True)
            raise
        return report, report.skipped + documents.skipped


def _announce(estimate: Estimate) -> None:
    from numcolbert.index.estimate import megabytes

    typer.echo(
        f"about {megabytes(estimate.bytes)} for {estimate.documents:,} documents "
        f"({megabytes(estimate.bytes_while_building)} while building), {clock(estimate.seconds)}",
        err=True,
    )
