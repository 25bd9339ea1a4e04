"""`numcolbert data mine`: a corpus becomes a pool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from numcolbert.cli.data import app
from numcolbert.cli.output import JsonOption, print_json, print_table


@app.command("mine")
def mine(
    corpus: Annotated[list[Path], typer.Argument(help="JSONL, CSV, TSV, Parquet or text, also .gz and .xz.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The pool's folder.")],
    name: Annotated[str, typer.Option(help="A short name for the pool.")],
    limit: Annotated[
        int | None, typer.Option(help="Keep about this many sentences, as whole documents.")
    ] = None,
    shortest: Annotated[int, typer.Option(help="Leave out sentences with fewer characters.")] = 30,
    longest: Annotated[int, typer.Option(help="Leave out sentences with more characters.")] = 400,
    keep_all: Annotated[
        bool, typer.Option("--keep-all", help="Keep concepts with few mentions too.")
    ] = False,
    seed: Annotated[int, typer.Option(help="For the choice of documents.")] = 13,
    text_field: Annotated[str, typer.Option(help="Field or column with the text.")] = "text",
    id_field: Annotated[str, typer.Option(help="Field or column with the id.")] = "id",
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Count bad lines and go on.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing pool.")] = False,
    json: JsonOption = False,
) -> None:
    """Find the quantities in a corpus and the concept each describes.

    Example: [bold]numcolbert data mine corpus.jsonl -o pools/mine --name mine[/bold]
    """
    from numcolbert.data.mining import MiningSettings
    from numcolbert.data.mining import mine as mine_corpus
    from numcolbert.data.pool import HEADER
    from numcolbert.files import refuse_existing

    refuse_existing(output, "folder", overwrite=overwrite, mark=HEADER)
    settings = MiningSettings(
        name=name, limit=limit, shortest=shortest, longest=longest, rarest=1 if keep_all else 5, seed=seed,
        text_field=text_field, id_field=id_field, skip_bad=skip_bad,
    )  # fmt: skip
    pool = mine_corpus(corpus, settings)
    pool.save(output, overwrite=overwrite)
    if json:
        print_json(pool.notes)
    else:
        counts = ("sentences", "mentions", "described", "concepts", "skipped")
        print_table(["", "count"], [(key, f"{pool.notes[key]:,}") for key in counts])
