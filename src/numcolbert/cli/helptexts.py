"""Docstrings as help on a terminal: paragraphs that wrap anew, and one example a line."""

from __future__ import annotations

import inspect
import re

import typer

_EXAMPLES = re.compile(r"Examples?: ")


def lay_out_help(app: typer.Typer) -> None:
    """Give every command below `app` its help, laid out."""
    for command in app.registered_commands:
        if command.callback is not None:
            command.help = laid_out(command.callback.__doc__ or "")
    for group in app.registered_groups:
        if group.typer_instance is not None:
            lay_out_help(group.typer_instance)


def laid_out(docstring: str) -> str:
    """Without the line breaks of our source, which would be kept beside those of the terminal."""
    return "\n\n".join(_paragraph(text) for text in inspect.cleandoc(docstring).split("\n\n"))


def _paragraph(text: str) -> str:
    line = " ".join(text.split())
    if not _EXAMPLES.match(line):
        return line
    name, _, commands = line.partition(": ")
    return f"{name}:\n  " + commands.replace("[/bold], [bold]", "[/bold]\n  [bold]")
