"""What the programs started with `python -m` have in common, where the command line is not installed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import wraps

from numcolbert.errors import NumColBERTError
from numcolbert.progress import TerminalListener, listening

INTERRUPTED = 130
"""The exit code by which shells know Ctrl-C."""

Main = Callable[[Sequence[str] | None], int]


def positive(text: str) -> int:
    """The type of an argument that counts something."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not positive")
    return number


def not_negative(text: str) -> int:
    """The type of an argument that counts something, of which there may be none."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{number} is negative")
    return number


def parser_of(description: str | None, module: str = "") -> argparse.ArgumentParser:
    """Of a script, or of `python -m module`; its help shows the description as it is written."""
    return argparse.ArgumentParser(
        prog=f"python -m {module}" if module else None,
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def program(main: Main) -> Callable[..., int]:
    """Show progress on the terminal, and end with one sentence and a hint where a person can mend it."""

    @wraps(main)
    def guarded(arguments: Sequence[str] | None = None) -> int:
        try:
            with listening(TerminalListener()):
                return main(arguments)
        except NumColBERTError as error:
            sys.stderr.write(f"error: {error}\n")
            return error.exit_code
        except KeyboardInterrupt:
            sys.stderr.write("interrupted\n")
            return INTERRUPTED

    return guarded
