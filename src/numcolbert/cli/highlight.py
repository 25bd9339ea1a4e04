"""A passage with its quantities marked: satisfied green, violated red, others bold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from numcolbert.cli.output import printable
from numcolbert.types import Condition, Hit, Quantity

if TYPE_CHECKING:
    from rich.text import Text

STYLES = {True: "bold green", False: "dim red", None: "bold"}
MARKS = {True: "✓", False: "✗", None: "·"}
"""So that the verdict does not hang on colour alone."""


def passage(hit: Hit, conditions: Sequence[Condition]) -> Text:
    return marked(hit.text, hit.quantities, conditions)


def marked(text: str, quantities: Sequence[Quantity], conditions: Sequence[Condition]) -> Text:
    from rich.text import Text

    from numcolbert.search.judge import judge

    shown = Text(printable(text))
    for judged in judge(text, quantities, conditions):
        shown.stylize(STYLES[judged.satisfies], *judged.quantity.span)
    return shown


def verdict(satisfies: bool | None) -> str:
    """For columns that a program reads: yes, no, or nothing."""
    return {True: "yes", False: "no", None: ""}[satisfies]
