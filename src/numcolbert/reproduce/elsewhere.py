"""The commands that make runs elsewhere: systems that have to be trained, or timed on a quiet machine.

They stand in one file, `elsewhere.toml`, because a system stands in several tables.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from numcolbert.config import read_toml, settings_from

_FILE = Path(__file__).with_name("elsewhere.toml")


@dataclass(frozen=True)
class Command:
    systems: tuple[str, ...]
    """Whose runs it makes."""
    line: str
    gpu_minutes: float = 0.0
    """About, on one H200; 0 where no GPU is needed."""


@dataclass(frozen=True)
class _Commands:
    commands: tuple[Command, ...]
    words: dict[str, str] = field(default_factory=dict)
    """What a word of a line stands for."""


@cache
def commands() -> tuple[Command, ...]:
    file = settings_from(_Commands, read_toml(_FILE), f"'{_FILE.name}'")

    def written_out(line: str) -> str:
        return re.sub(r"\S+", lambda found: file.words.get(found[0], found[0]), line)

    return tuple(replace(command, line=written_out(command.line)) for command in file.commands)


def command_for(system: str) -> Command | None:
    """None for systems that are made here, or that nobody here can make."""
    return next((command for command in commands() if system in command.systems), None)
