"""How hits are shown: on a terminal, in a pipe, as JSON."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from numcolbert.cli.highlight import MARKS, STYLES, passage, verdict
from numcolbert.cli.output import print_json, print_table, printable

if TYPE_CHECKING:
    from numcolbert.search.results import Results


def show_results(results: Results, *, as_json: bool) -> None:
    from numcolbert.search.describe import describe_condition

    if as_json:
        print_json(results)
        return
    understood = ", ".join(map(describe_condition, results.conditions))
    if results.dropped:
        count = f"{results.dropped:,} passage{'s' if results.dropped != 1 else ''}"
        typer.echo(f"{count} dropped: not verified to be {understood}", err=True)
    if not sys.stdout.isatty():
        print_table(
            ("rank", "relevance", "score", "satisfies", "id", "text"),
            [
                (
                    rank,
                    f"{hit.relevance:.3f}",
                    f"{hit.score:.3f}",
                    verdict(hit.satisfies),
                    *(" ".join(part.split()) for part in (hit.id, hit.text)),
                )
                for rank, hit in enumerate(results, 1)
            ],
        )
        return
    _show_on_terminal(results, understood)


def _show_on_terminal(results: Results, understood: str) -> None:
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console(highlight=False)
    if understood:
        console.print(Text.assemble(("understood  ", "dim"), (understood, "bold")))
    if not results.hits:
        console.print("no hits", style="dim")
    for rank, hit in enumerate(results, 1):
        mark = (f" {MARKS[hit.satisfies]}", STYLES[hit.satisfies]) if results.conditions else ("", "")
        console.print(
            Text.assemble(
                (f"{rank:>3}  ", "dim"), (printable(hit.id), "cyan"), f"  {hit.relevance:.2f}", mark
            )
        )
        console.print(Padding(passage(hit, results.conditions), (0, 0, 0, 5)))
        if hit.metadata:
            facts = "  ".join(f"{name} {value}" for name, value in hit.metadata.items())
            console.print(
                Padding(Text(printable(facts), style="dim", no_wrap=True, overflow="ellipsis"), (0, 0, 0, 5))
            )
    console.print(Text(f"{results.seconds * 1000:.0f} ms", style="dim"))
