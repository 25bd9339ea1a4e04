"""`numcolbert rank`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from numcolbert.cli.baseline import OutOption, OverwriteOption
from numcolbert.cli.documents import ModelOption
from numcolbert.cli.index.add import IndexArgument
from numcolbert.cli.loading import open_index
from numcolbert.cli.output import JsonOption, print_json
from numcolbert.cli.search import GateOption, VerifyOption, WhereOption
from numcolbert.files import refuse_existing, refuse_input


def rank(
    index: IndexArgument,
    queries: Annotated[
        Path,
        typer.Argument(
            metavar="QUERIES",
            help='JSON lines {"id": ..., "text": ...}, or a benchmark folder.',
            show_default=False,
        ),
    ],
    out: OutOption,
    k: Annotated[int, typer.Option("-k", min=1, max=10_000, help="Hits a query.")] = 100,
    where: WhereOption = None,
    verify: VerifyOption = False,
    gate: GateOption = True,
    model: ModelOption = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Search an index for many queries and write a TREC run, for 'numcolbert evaluate'.

    Example: [bold]numcolbert rank idx benchmarks/mine -o mine.run[/bold]
    """
    from numcolbert.evaluate.trec import write_run
    from numcolbert.train.benchmarks import read_questions

    refuse_existing(out, "file", overwrite=overwrite)
    refuse_input(out, [queries, queries / "queries.jsonl"])
    asked = read_questions(queries)
    with open_index(index, model) as opened:
        found = opened.search_many([text for _, text in asked], k, where=where, verify=verify, gate=gate)
    run = {id: {hit.id: hit.score for hit in hits} for (id, _), hits in zip(asked, found, strict=True)}
    write_run(out, run, "numcolbert")
    if as_json:
        print_json({"run": str(out), "queries": len(run), "hits": sum(len(hits) for hits in run.values())})
