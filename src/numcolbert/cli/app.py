"""Assembles the commands and turns our errors into two lines and an exit code."""

from __future__ import annotations

import errno
import re
import sys
from typing import Annotated, Any

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
    rank,
    reproduce,
    rerank,
    search,
    serve,
    train,
)
from numcolbert.cli.helptexts import lay_out_help
from numcolbert.cli.notices import plain_warnings
from numcolbert.cli.output import print_error
from numcolbert.errors import NumColBERTError, StorageError, UsageError
from numcolbert.program import INTERRUPTED
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
app.command("rank")(rank.rank)
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


# What the command-line framework itself refuses: BadParameter, UsageError, and this base of both, which has
# no public name.
_Refusal: type[Exception] = typer.BadParameter.__mro__[2]


_NEGATIVE = re.compile(r"-[\d.,$€£¥]")
"""A query or a text such as "-5 °C", which looks like an option."""


def main() -> None:
    code: object = 0
    try:
        with listening(TerminalListener()), plain_warnings():
            code = app(prog_name="numcolbert", standalone_mode=False)
    except NumColBERTError as error:
        print_error(error)
        code = error.exit_code
    except _Refusal as error:
        code = _explain_refusal(error)
    except BrokenPipeError:
        sys.stderr.close()  # the reader (`| head`) has enough
    except OSError as error:  # a name that is too long, a file where a folder should be, a failing disk
        name = str(error.filename or "")
        shown = f"'{name[:200]}...'" if len(name) > 200 else f"'{name}'" if name else "A file or the output"
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        problem = StorageError(
            f"{shown} cannot be used: {error.strerror or error}.",
            hint="free some space on the disk" if full else "check the path and choose another",
        )
        print_error(problem)
        code = problem.exit_code
    except KeyboardInterrupt:
        code = INTERRUPTED
    except typer.Abort:  # the end of the input where an answer was asked for
        code = 1
    if code == INTERRUPTED:
        typer.echo("interrupted", err=True)
    sys.exit(code if isinstance(code, int) else 0)


def _explain_refusal(error: Any) -> int:
    """Two lines like every other error, or the help where nothing was asked."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return int(error.exit_code)
    message = error.format_message().strip()
    command = error.ctx.command_path if getattr(error, "ctx", None) else "numcolbert"
    hint = f"{command} --help shows what it takes"
    dashed = next((argument for argument in sys.argv[1:] if _NEGATIVE.match(argument)), None)
    if dashed and type(error).__name__ == "NoSuchOption":
        hint = f"a text that begins with a dash stands behind two more: {command} ... -- '{dashed}'"
    sentence = message if message.endswith((".", "?")) else f"{message}."
    print_error(UsageError(sentence, hint=hint))
    return UsageError.exit_code
