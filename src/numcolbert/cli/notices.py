"""Warnings of the library for people: one line for each kind, and a count of the rest."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show the first warning of a kind as a sentence, without the place in our code that gave it."""
    seen: Counter[type[Warning]] = Counter()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        seen[category] += 1
        if seen[category] == 1:
            clear = "\r\033[2K" if sys.stderr.isatty() else ""  # a line of progress may stand there
            typer.echo(f"{clear}warning: {message}", err=True, color=True)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=UserWarning)
        warnings.showwarning = show
        try:
            yield
        finally:
            for count in seen.values():
                if count > 1:
                    typer.echo(f"warning: and {count - 1:,} more like it", err=True)
