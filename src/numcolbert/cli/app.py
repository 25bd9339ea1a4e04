"""Assembles the commands and turns our errors into two lines and an exit code."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from numcolbert import __version__
from numcolbert.cli import (
    baseline,
    bench,
    data,
    demo,
    doctor,
    evaluate,
    explain,
    index,
    quantities,
    reproduce,
    rerank,
    search,
    serve,
    train,
)
from numcolbert.cli.helptexts import lay_out_help
from numcolbert.cli.notices import plain_warnings
from numcolbert.cli.output import print_error
from numcolbert.errors import NumColBERTError
from numcolbert.progress import TerminalListener, listening

app = typer.Typer(
    name="numcolbert",
    help="Search that understands numbers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command("demo")(demo.demo)
app.add_typer(index.app, name="index")
app.command("search")(search.search)
app.command("rerank")(rerank.rerank)
app.command("explain")(explain.explain)
app.command("serve")(serve.serve)
app.add_typer(data.app, name="data")
app.add_typer(bench.app, name="bench")
app.command("doctor")(doctor.doctor)
app.command("quantities")(quantities.quantities)
app.command("evaluate")(evaluate.evaluate)
app.add_typer(baseline.app, name="baseline")
app.command("reproduce")(reproduce.reproduce)
app.command("train")(train.train)
lay_out_help(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"numcolbert {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Search that understands numbers."""


def main() -> None:
    try:
        with listening(TerminalListener()), plain_warnings():
            app()
    except NumColBERTError as error:
        print_error(error)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()  # the reader (`| head`) has enough
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        sys.exit(130)
