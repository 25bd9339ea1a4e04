"""`numcolbert data ...`: from corpora to benchmarks and training triples, one file a command."""

from __future__ import annotations

import typer

app = typer.Typer(help="Mine corpora, build benchmarks and training triples.", no_args_is_help=True)

# Each module registers its command on `app`.
from numcolbert.cli.data import benchmark, check, mine, triples  # noqa: E402, F401
