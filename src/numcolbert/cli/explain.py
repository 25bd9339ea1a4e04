"""`numcolbert explain`"""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from numcolbert.cli.documents import ModelOption
from numcolbert.cli.highlight import MARKS, STYLES, marked, verdict
from numcolbert.cli.index.add import IndexArgument
from numcolbert.cli.loading import open_index
from numcolbert.cli.output import JsonOption, print_json, print_table, printable
from numcolbert.cli.search import QueryArgument

if TYPE_CHECKING:
    from numcolbert.search.results import Explanation


def explain(
    index: IndexArgument,
    query: QueryArgument,
    doc_id: Annotated[str, typer.Argument(help="The document's id.", show_default=False)],
    model: ModelOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show why a document has the score it has for a query.

    Every query token with the detector's probability that it belongs to a quantity, its gate, the passage
    token it matched and its share of the score; the condition as understood; the passage's quantities.

    Example: [bold]numcolbert explain idx "SSDs with more than 500 GB" doc7[/bold]
    """
    from numcolbert.search.describe import describe_base, describe_condition

    with open_index(index, model) as opened:
        found = opened.explain(query, doc_id)
    understood = [describe_condition(condition) for condition in found.conditions]
    if as_json:
        print_json({**asdict(found), "understood": understood})
        return
    _show_passage(found, understood)
    print_table(
        ("token", "probability", "gate", "matched", "similarity", "share"),
        [
            (
                match.token,
                f"{match.probability:.2f}",
                f"{match.gate:.2f}",
                match.matched_token,
                f"{match.similarity:.3f}",
                f"{match.share:.1%}",
            )
            for match in found.tokens
        ],
    )
    if found.quantities:
        print_table(
            ("quantity", "in base units", "satisfies"),
            [
                (
                    found.text[slice(*judged.quantity.span)],
                    describe_base(judged.quantity),
                    verdict(judged.satisfies),
                )
                for judged in found.quantities
            ],
        )


def _show_passage(found: Explanation, understood: list[str]) -> None:
    facts = [
        ("score", f"{found.score:.3f} (relevance {found.relevance:.3f})"),
        (
            "without the gate",
            f"{found.score_without_gate:.3f} (relevance {found.relevance_without_gate:.3f})",
        ),
        ("understood", ", ".join(understood) or "no condition"),
        ("satisfies", verdict(found.satisfies) or "cannot be said"),
    ]
    if not sys.stdout.isatty():
        for name, value in [
            ("id", " ".join(found.id.split())),
            ("text", " ".join(found.text.split())),
            *facts,
        ]:
            typer.echo(f"{name}\t{printable(value)}")
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    console.print(
        Text.assemble((printable(found.id), "cyan"), (f" {MARKS[found.satisfies]}", STYLES[found.satisfies]))
    )
    console.print(marked(found.text, [judged.quantity for judged in found.quantities], found.conditions))
    for name, value in facts:
        console.print(Text.assemble((f"{name:>18}  ", "dim"), value))
