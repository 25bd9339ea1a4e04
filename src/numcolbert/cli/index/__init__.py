"""`numcolbert index ...`: build and change an index, one file a command."""

from __future__ import annotations

import typer

from numcolbert.cli.index.add import add
from numcolbert.cli.index.build import build
from numcolbert.cli.index.compact import compact
from numcolbert.cli.index.delete import delete
from numcolbert.cli.index.export import export
from numcolbert.cli.index.info import info
from numcolbert.cli.index.verify import verify

app = typer.Typer(help="Build an index, change it, look into it.", no_args_is_help=True)
for command in (build, add, delete, info, verify, export, compact):
    app.command()(command)
