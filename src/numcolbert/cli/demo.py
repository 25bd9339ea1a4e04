"""`numcolbert demo`: numbers being understood, on a corpus that comes with the package."""

from __future__ import annotations

import hashlib
import sys
from contextlib import suppress
from importlib.resources import files
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from numcolbert.cli.highlight import MARKS, passage
from numcolbert.cli.output import JsonOption, print_error, print_json
from numcolbert.cli.serve import HostOption, PortOption, listen, serve_on, spare_threads

if TYPE_CHECKING:
    from numcolbert.api import Index
    from numcolbert.cli.comparison import Comparer, Comparison

QUERIES = (
    "mountains higher than 8,000 metres",
    "elements that melt below 100 °C",
    "buildings that are 381 m tall",
    "phones that cost between 300 and 450 dollars",
    "rivers longer than 3,000 miles",
    "animals lighter than 5 grams",
)
"""In order: more than, less than, equal to, a range, and two whose passages use other units."""


def demo(
    query: Annotated[
        list[str] | None, typer.Argument(help="Queries of your own.", show_default=False)
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, max=20, help="Hits a query.")] = 3,
    serve: Annotated[bool, typer.Option("--serve", help="Open the search page instead.")] = False,
    host: HostOption = "127.0.0.1",
    port: PortOption = 8080,
    as_json: JsonOption = False,
) -> None:
    """Search 2,793 sentences of real figures, offline, and compare with plain ColBERT and BM25.

    Examples: [bold]numcolbert demo[/bold], [bold]numcolbert demo "lakes deeper than 1,000 feet"[/bold],
    [bold]numcolbert demo --serve[/bold]
    """
    from numcolbert.cli.comparison import Comparer

    if serve:
        listener = listen(host, port)
        spare_threads()
        serve_on(listener, open_demo(), examples=QUERIES, as_json=as_json)
        return
    with open_demo() as index:
        comparer = Comparer(index)
        comparisons = [comparer.compare(text, k) for text in query or QUERIES]
        if as_json:
            print_json([_as_dict(comparison) for comparison in comparisons])
            return
        if sys.stdout.isatty():
            typer.echo(
                f"{len(index):,} passages.  ✓ satisfies the condition  ✗ does not  · nothing to compare"
            )
        for comparison in comparisons:
            _show(comparison)
        if not query:
            _converse(comparer, k)


def open_demo() -> Index:
    """The demo's index, made on the first run and kept in the cache folder."""
    from numcolbert.api import Index, NumColBERT
    from numcolbert.data import corpora
    from numcolbert.errors import DamagedIndexError
    from numcolbert.files import cache_folder
    from numcolbert.index.collection import Collection

    model = NumColBERT.load()
    corpus = Path(str(files("numcolbert.assets") / "demo.jsonl"))
    content = hashlib.sha256(corpus.read_bytes()).hexdigest()
    folder = cache_folder() / f"demo-{model.encoder.fingerprint[:12]}-{content[:8]}"
    if folder.exists():
        try:
            return Index(Collection.open(folder), model.encoder)
        except DamagedIndexError:
            typer.echo("the demo's index is damaged: indexing it again", err=True)
    else:
        typer.echo("first run: indexing the demo corpus", err=True)
    return model.index(corpora.read(corpus), folder, overwrite=True)


def _as_dict(comparison: Comparison) -> dict[str, Any]:
    def rows(results: Any) -> list[dict[str, Any]]:
        return [{"id": hit.id, "text": hit.text, "satisfies": hit.satisfies} for hit in results]

    return {
        "query": comparison.query,
        "numcolbert": rows(comparison.gated),
        "without_gate": rows(comparison.ungated),
        "bm25": rows(comparison.words),
    }


def _show(comparison: Comparison) -> None:
    columns = (
        ("NumColBERT", comparison.gated),
        ("without the gate", comparison.ungated),
        ("BM25", comparison.words),
    )
    if not sys.stdout.isatty():
        typer.echo(f"query\t{comparison.query}")
        for name, hits in columns:
            for rank, hit in enumerate(hits, 1):
                typer.echo(f"{name}\t{rank}\t{MARKS[hit.satisfies]}\t{hit.text}")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from numcolbert.search.describe import describe_condition

    understood = ", ".join(map(describe_condition, comparison.conditions))
    title = Text.assemble(
        (f"\n{comparison.query}", "bold"), (f"   understood: {understood or 'no number'}", "dim")
    )
    table = Table(title=title, title_justify="left", title_style="", expand=True, show_lines=True)
    for name, hits in columns:
        right = sum(hit.satisfies is True for hit in hits)
        tally = f"\n[dim]{right} of {len(hits)} satisfy it[/dim]" if understood else ""
        table.add_column(f"{name}{tally}", ratio=1)
    for row in zip_longest(*(hits for _, hits in columns)):
        table.add_row(
            *(
                "" if hit is None else Text(f"{MARKS[hit.satisfies]} ") + passage(hit, comparison.conditions)
                for hit in row
            )
        )
    Console().print(table)


def _converse(comparer: Comparer, k: int) -> None:
    """Ask for queries until an empty line, where a person sits at a terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    from numcolbert.errors import NumColBERTError

    typer.echo("\nTry a query of your own (an empty line ends; --serve opens the page).")
    with suppress(typer.Abort):  # Ctrl-D or Ctrl-C ends as well
        while text := typer.prompt("query", default="", show_default=False).strip():
            try:
                _show(comparer.compare(text, k))
            except NumColBERTError as error:
                print_error(error)
