"""`numcolbert search`"""

from __future__ import annotations

from typing import Annotated

import typer

from numcolbert.cli.documents import ModelOption
from numcolbert.cli.hits import show_results
from numcolbert.cli.index.add import IndexArgument
from numcolbert.cli.loading import open_index
from numcolbert.cli.output import JsonOption

QueryArgument = Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.", show_default=False)]
GateOption = Annotated[
    bool, typer.Option("--gate/--no-gate", help="Whether numbers get their learned weight.")
]
VerifyOption = Annotated[
    bool, typer.Option("--verify", help="Keep only hits whose quantities satisfy the query's condition.")
]
WhereOption = Annotated[
    str | None,
    typer.Option(help="Filter on metadata and quantities, before ranking.", show_default=False),
]


def search(
    index: IndexArgument,
    query: QueryArgument,
    k: Annotated[int, typer.Option("-k", min=1, max=10_000, help="How many hits.")] = 10,
    where: WhereOption = None,
    verify: VerifyOption = False,
    gate: GateOption = True,
    model: ModelOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search an index.

    Relevance is the score as a share of the highest any passage could reach for the query.

    Examples: [bold]numcolbert search idx "SSDs with more than 500 GB"[/bold],
    [bold]numcolbert search idx "laptops" --where "price < 800 USD and year >= 2020"[/bold],
    [bold]numcolbert search idx "rivers longer than 3,000 miles" --verify --json[/bold]
    """
    with open_index(index, model) as opened:
        show_results(opened.search(query, k, where=where, verify=verify, gate=gate), as_json=as_json)
