"""Measures told in several units: "2 hours 30 minutes" is one threshold of a query, not two."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from numcolbert.quantities import units
from numcolbert.quantities.extract import extract
from numcolbert.quantities.units import UnitInfo
from numcolbert.types import Quantity

_NEXT_PART = re.compile(r"\s*(?P<joined>,?\s*(?:and\s+)?)")
_LARGEST_STEP = 1500  # a mile has more feet: "5 miles, 300 feet" are a way and a climb
_ADDED = frozenset({"time", "length", "mass", "volume"})
"""What is told in two units at once; money is too, but an amount of data is not."""
_JOINED_IN_LISTS = frozenset({"year", "month", "week", "day", "hour", "minute", "foot", "pound", "stone"})
"""What is followed by a comma or "and" when it goes on: "5 feet, 7 inches", "2 hours and 5 minutes"."""
_BETWEEN = re.compile(r"\bbetween\s+$", re.IGNORECASE)
_AND = re.compile(r"\s+and\s+")


def thresholds(query: str) -> list[Quantity]:
    """What `extract` finds, with the parts of compound measures added up.

    `span` covers all parts, `value_span` and `unit_span` the first.
    """
    quantities = extract(query)
    added = sums(query, quantities)
    found = [quantity for quantity, _ in added]
    return _ranges(query, found) if len(found) < len(quantities) else found


def sums(text: str, quantities: Sequence[Quantity], *, lists: bool = False) -> list[tuple[Quantity, int]]:
    """The quantities with the parts of compound measures added up, and of how many parts each is made.

    `lists`: "5 km, 300 m and 100 m" may be three ways, as they are in a passage that tells several.
    """
    found: list[tuple[Quantity, int]] = []
    last: Quantity | None = None
    for quantity in quantities:
        if last and _is_part(text, last, quantity, lists):
            whole, parts = found[-1]
            found[-1] = _sum(whole, quantity), parts + 1
        else:
            found.append((quantity, 1))
        last = quantity
    return found


def _is_part(query: str, first: Quantity, second: Quantity, lists: bool) -> bool:
    """Whether the second is the rest that makes no whole unit of the first: "6 feet 2 inches"."""
    larger, smaller = _added_unit(first), _added_unit(second)
    if larger is None or smaller is None or larger.dimension != smaller.dimension:
        return False
    if first.base_value < 0 or not 0 < second.base_value < larger.factor or smaller.factor >= larger.factor:
        return False
    gap = _NEXT_PART.fullmatch(query, first.span[1], second.span[0])
    if gap is None or _is_tied(query, first) or _is_tied(query, second):
        return False
    if not gap["joined"]:
        return True
    return larger.factor / smaller.factor < _LARGEST_STEP and (not lists or larger.name in _JOINED_IN_LISTS)


def _is_tied(query: str, quantity: Quantity) -> bool:
    """Whether it is an adjective: "seven-year 3 month bonds", "a 50 mm, 5-µm column"."""
    return quantity.unit_span is not None and query[quantity.value_span[1] : quantity.unit_span[0]] == "-"


def _sum(whole: Quantity, part: Quantity) -> Quantity:
    base = whole.base_value + part.base_value
    return replace(
        whole,
        value=units.lookup(whole.unit or "").from_base(base),
        base_value=base,
        span=(whole.span[0], part.span[1]),
        approximate=whole.approximate or part.approximate,
    )


def _added_unit(quantity: Quantity) -> UnitInfo | None:
    if quantity.is_range or quantity.unit is None:
        return None
    if quantity.dimension not in _ADDED and not quantity.dimension.startswith("currency:"):
        return None
    return units.table().units.get(quantity.unit)


def _ranges(query: str, found: list[Quantity]) -> list[Quantity]:
    """Joins "between 5 feet 2 inches and 6 feet", which is no range for a reader of single numbers."""
    joined: list[Quantity] = []
    for quantity in found:
        if joined and _is_range(query, joined[-1], quantity):
            joined[-1] = _range(joined[-1], quantity)
        else:
            joined.append(quantity)
    return joined


def _is_range(query: str, low: Quantity, high: Quantity) -> bool:
    return (
        _added_unit(low) is not None
        and _added_unit(high) is not None
        and low.dimension == high.dimension
        and low.base_value < high.base_value
        and _AND.fullmatch(query, low.span[1], high.span[0]) is not None
        and _BETWEEN.search(query, 0, low.span[0]) is not None
    )


def _range(low: Quantity, high: Quantity) -> Quantity:
    unit = units.lookup(low.unit or "")
    top = unit.from_base(high.base_value)
    middle = (low.value + top) / 2
    return replace(
        low,
        value=middle,
        base_value=unit.to_base(middle),
        span=(low.span[0], high.span[1]),
        low=low.value,
        high=top,
        base_low=low.base_value,
        base_high=high.base_value,
        approximate=low.approximate or high.approximate,
    )
