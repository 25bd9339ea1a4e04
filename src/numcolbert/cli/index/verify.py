"""`numcolbert index verify`"""

from __future__ import annotations

import typer

from numcolbert.cli.index.add import IndexArgument
from numcolbert.cli.output import JsonOption, print_json


def verify(index: IndexArgument, as_json: JsonOption = False) -> None:
    """Check every file of an index against its manifest, and the documents against the vectors.

    Exit code 1 when something is wrong.

    Example: [bold]numcolbert index verify idx[/bold]
    """
    from numcolbert.index.verify import problems

    found = problems(index)
    if as_json:
        print_json({"ok": not found, "problems": found})
    else:
        typer.echo("\n".join(found) if found else f"{index}: all is well")
    if found:
        if not as_json:
            typer.echo("hint: copy the index again from where it was whole, or build it again", err=True)
        raise typer.Exit(1)
