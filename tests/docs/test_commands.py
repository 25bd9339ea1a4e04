"""No page shows a command or an option that is not there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from numcolbert.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
COMMAND_LINE = typer.main.get_command(app)


def shown(page: Path) -> Iterator[str]:
    """Command lines in blocks and between backticks, joined where a backslash ends a line."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    for block in re.findall(r"^```[^\n]*\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
        yield from (line.strip() for line in block.splitlines() if line.strip().startswith("numcolbert "))
    yield from re.findall(r"(?<!`)`(numcolbert [^`\n]+)`", text)


def split(line: str) -> list[str]:
    try:
        return shlex.split(line.split(" | ")[0], comments=True)[1:]
    except ValueError:  # prose with an apostrophe
        return line.split()[1:]


def resolve(words: list[str]) -> tuple[Any, list[str]]:
    """The command that the words name, and what follows."""
    command: Any = COMMAND_LINE
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    return command, words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_and_options_exist(page: Path) -> None:
    for line in shown(page):
        words = split(line)
        command, rest = resolve(words)
        if words and words[0].isupper():  # `numcolbert COMMAND --help`
            continue
        if command is COMMAND_LINE:
            assert not words or words[0].startswith("-"), f"there is no command in '{line}'"
        known = {"--help", "--install-completion", "--show-completion"}
        known |= {name for parameter in command.params for name in parameter.opts + parameter.secondary_opts}
        for word in rest:
            if re.match(r"--?[a-z]", word):
                assert word.split("=")[0] in known, f"'{line}' names {word}"
