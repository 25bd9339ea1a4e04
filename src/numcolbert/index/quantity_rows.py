"""Quantities as rows of the store's table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from numcolbert.types import Quantity

SELECT_QUANTITIES = """
SELECT key, position, dimension, value, low, high, base_value, base_low, base_high, unit, approximate,
  start, stop, value_start, value_stop, unit_start, unit_stop FROM quantities"""


def quantity_row(key: int, position: int, q: Quantity) -> tuple[Any, ...]:
    return (
        key, position, q.dimension, q.value, q.low, q.high, q.base_value, q.base_low, q.base_high, q.unit,
        int(q.approximate), *q.span, *q.value_span, *(q.unit_span or (None, None)),
    )  # fmt: skip


def read_quantity(row: Sequence[Any]) -> Quantity:
    return Quantity(
        value=row[3], unit=row[9], dimension=row[2], base_value=row[6],
        span=(row[11], row[12]), value_span=(row[13], row[14]),
        unit_span=None if row[15] is None else (row[15], row[16]),
        low=row[4], high=row[5], base_low=row[7], base_high=row[8], approximate=bool(row[10]),
    )  # fmt: skip


def storable(quantities: Iterable[Quantity]) -> list[Quantity]:
    """Those with a finite value: SQLite keeps NaN as NULL, and infinity compares with everything."""
    return [q for q in quantities if math.isfinite(q.value) and math.isfinite(q.base_value)]
