"""What SQL cannot say about metadata, as functions of the store's connections."""

from __future__ import annotations

import math
import re
import sqlite3
from functools import lru_cache

_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
"""Thousands as spreadsheets write them: "1,234.50"."""


def register(connection: sqlite3.Connection) -> None:
    connection.create_function("number_of", 1, number_of, deterministic=True)
    connection.create_function("base_value_in", 2, base_value_in, deterministic=True)
    connection.create_function("has_unit", 1, has_unit, deterministic=True)


def number_of(value: object) -> float | int | None:
    """A number, also where it stands as text (as all cells of a CSV file do); None for anything else."""
    if isinstance(value, int | float):
        return value
    if not isinstance(value, str) or len(value) > 40:
        return None
    if _GROUPED.fullmatch(value.strip()):
        value = value.replace(",", "")
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


@lru_cache(maxsize=100_000)
def base_value_in(value: object, dimension: str) -> float | None:
    """The one quantity of this dimension in a short text ("450 dollars"), in base units."""
    if not isinstance(value, str) or len(value) > 200:
        return None
    from numcolbert.quantities import extract

    found = [q.base_value for q in extract(value) if q.dimension == dimension and math.isfinite(q.base_value)]
    return found[0] if len(found) == 1 else None


def has_unit(value: object) -> bool:
    """Whether a short text is a number with a unit: "450 dollars", "5 kg"."""
    if not isinstance(value, str) or len(value) > 40:
        return False
    from numcolbert.quantities import extract

    found = extract(value)
    return len(found) == 1 and found[0].unit is not None and found[0].span == (0, len(value))
