"""`numcolbert quantities`: what is read out of a text, with spans and base units."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import typer

from numcolbert.cli.output import JsonOption, print_json, print_table
from numcolbert.errors import InputError
from numcolbert.quantities import conditions, extract
from numcolbert.types import Condition, Quantity


def quantities(
    text: Annotated[str, typer.Argument(help="The text, or - to read one text a line from standard input.")],
    loose: Annotated[
        bool, typer.Option("--loose", help='Also read "one solution", "millions of users", "half of the".')
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the quantities in a text, and the conditions if it is a query.

    Example: [bold]numcolbert quantities "SSDs above 500 GB for less than $80"[/bold]
    """
    texts = list(_lines()) if text == "-" else [text]
    if not any(one.strip() for one in texts):
        raise InputError(
            "There is no text to read.", hint="pass a text, or pipe one a line into 'numcolbert quantities -'"
        )
    results = [(one, extract(one, loose=loose), conditions(one)) for one in texts]
    if as_json:
        answers = [_as_dict(*result) for result in results]
        print_json(answers if text == "-" else answers[0])
        return
    if not any(found for _, found, _ in results):
        typer.echo("no quantities", err=True)
    print_table(
        ("quantity", "value", "unit", "dimension", "base value", "span"),
        [_row(one, quantity) for one, found, _ in results for quantity in found],
    )
    stated = [(one, condition) for one, _, wanted in results for condition in wanted if _is_stated(condition)]
    if stated:
        print_table(
            ("condition", "operator", "threshold", "unit"),
            [
                (one[slice(*c.span)], c.operator, _value(c.quantity), c.quantity.unit or "-")
                for one, c in stated
            ],
        )


def _lines() -> Iterator[str]:
    """Bytes, decoded here: some locales let anything pass as text."""
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise InputError(
                f"Line {number} of the standard input is not UTF-8 (byte {error.start + 1}).",
                hint="convert it, for example: iconv -f latin1 -t utf-8 OLD | numcolbert quantities -",
            ) from error


def _is_stated(condition: Condition) -> bool:
    """Whether the text spells an operator; a bare quantity is in the first table already."""
    return condition.operator != "=" or condition.span != condition.quantity.span


def _value(quantity: Quantity) -> str:
    about = "~" if quantity.approximate else ""
    if quantity.low is not None and quantity.high is not None:
        return f"{about}{quantity.low:,.10g} to {quantity.high:,.10g}"
    return f"{about}{quantity.value:,.10g}"


def _row(text: str, quantity: Quantity) -> tuple[object, ...]:
    return (
        text[slice(*quantity.span)],
        _value(quantity),
        quantity.unit or "-",
        quantity.dimension,
        f"{quantity.base_value:.10g}",
        f"{quantity.span[0]}-{quantity.span[1]}",
    )


def _as_dict(text: str, found: list[Quantity], wanted: list[Condition]) -> dict[str, Any]:
    return {
        "text": text,
        "quantities": [{"surface": text[slice(*q.span)], **asdict(q)} for q in found],
        "conditions": [{"surface": text[slice(*c.span)], **asdict(c)} for c in wanted],
    }
