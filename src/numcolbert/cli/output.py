"""What commands print: data on stdout, tables for people on a terminal, plain columns when piped."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from numcolbert.errors import NumColBERTError

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


# Each becomes one visible character, so that positions in the text stay where they are.
_VISIBLE = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"}
_VISIBLE |= {0x7F: 0x2421, **dict.fromkeys(range(0x80, 0xA0), 0xFFFD)}
_ONE_LINE = {**_VISIBLE, **dict.fromkeys(map(ord, "\t\n\r"), ord(" "))}


def printable(text: str) -> str:
    """A text of someone else's for a terminal: its control characters are shown, not obeyed."""
    return text.translate(_VISIBLE)


def print_error(error: NumColBERTError) -> None:
    """Two lines on stderr; red only where colours are wanted (https://no-color.org)."""
    typer.secho(
        f"error: {printable(error.message)}",
        fg=None if os.environ.get("NO_COLOR") else "red",
        err=True,
        reset=False,
    )
    typer.echo(f"hint: {printable(error.hint)}", err=True)


def print_json(value: Any) -> None:
    def plain(item: Any) -> Any:
        if dataclasses.is_dataclass(item) and not isinstance(item, type):
            return dataclasses.asdict(item)
        if hasattr(item, "tolist"):
            return item.tolist()
        return str(item)

    typer.echo(json.dumps(value, default=plain, ensure_ascii=False, indent=2))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None) -> None:
    """A rich table on a terminal, where an empty one is not shown; tab-separated lines elsewhere."""
    texts = [["" if cell is None else str(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for line in [list(columns), *texts]:
            typer.echo("\t".join(cell.translate(_ONE_LINE) for cell in line))
        return
    if not texts:
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, title=title, title_justify="left", header_style="bold")
    for line in texts:
        table.add_row(*(Text(printable(cell)) for cell in line))  # as text: "[Q]" in a cell is no markup
    Console().print(table)
