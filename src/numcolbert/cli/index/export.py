"""`numcolbert index export`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from numcolbert.cli.index.add import IndexArgument
from numcolbert.cli.output import JsonOption, print_json


def export(
    index: IndexArgument,
    target: Annotated[
        Path, typer.Argument(help="File to write: .parquet, .jsonl or .trec.", show_default=False)
    ],
    format: Annotated[
        str | None,
        typer.Option(help="parquet, jsonl or trec, where the name does not say.", show_default=False),
    ] = None,
    vectors: Annotated[bool, typer.Option(help="With Parquet: the vectors too.")] = True,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file that is there.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write the documents of an index to a file, in Parquet with their vectors.

    Examples: [bold]numcolbert index export idx docs.jsonl[/bold],
    [bold]numcolbert index export idx docs.parquet[/bold]
    """
    from numcolbert.index.collection import Collection
    from numcolbert.index.export import export as write

    collection = Collection.open(index)
    try:
        count = write(collection, target, format=format, vectors=vectors, overwrite=overwrite)
    finally:
        collection.close()
    if as_json:
        print_json({"path": str(target), "documents": count})
    else:
        typer.echo(f"{target}: {count:,} documents")
