"""What a passage states about its quantities, for the verdict on a condition. Labels are made without it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from numcolbert.quantities.conditions import bound, satisfies
from numcolbert.quantities.ranges import VERB_OF_CHANGE
from numcolbert.quantities.thresholds import sums
from numcolbert.types import Condition, Operator, Quantity

_CHANGED = re.compile(
    rf"\b(?:{VERB_OF_CHANGE})\b[^.;:]{{0,40}}?\bfrom\s+(?:about |around |approximately )?$", re.IGNORECASE
)
_SPEED = "length/time"
_SPRINT = re.compile(
    r"\s+(?:in\s+(?:about |just |only |under |less than )*\d|(?:sprint|dash|time|acceleration)\b)"
)
_INCLUSIVE: dict[Operator, Operator] = {">": ">=", "<": "<="}


def readings(text: str, quantities: Sequence[Quantity]) -> list[tuple[Quantity, ...]]:
    """For each quantity of a passage, what a condition is compared with: any of these may satisfy it.

    That is the quantity itself, but the sum for the parts of "2 hours 4 minutes", the speed reached for
    "0-100 km/h in 7 s", and either end for "fell from 152 to 138 mmHg".
    """
    found: list[tuple[Quantity, ...]] = []
    for quantity, parts in sums(text, quantities, lists=True):
        low, high = _ends(quantity) if quantity.is_range else (quantity, quantity)
        if _is_sprint(text, quantity):
            read: tuple[Quantity, ...] = (high,)
        elif quantity.is_range and _CHANGED.search(text, max(0, quantity.span[0] - 64), quantity.span[0]):
            read = (low, high)
        else:
            read = (quantity,)
        found.extend([read] * parts)
    return found


def holds(text: str, quantity: Quantity, condition: Condition) -> bool | None:
    """`satisfies`, but what a passage says is over 500 is over 500, although it counts as 500 otherwise."""
    verdict = satisfies(quantity, condition)
    inclusive = _INCLUSIVE.get(condition.operator)
    if verdict is False and inclusive and satisfies(quantity, replace(condition, operator=inclusive)):
        return bound(text, quantity) == condition.operator
    return verdict


def _is_sprint(text: str, quantity: Quantity) -> bool:
    starts = quantity.low == 0 and quantity.dimension == _SPEED
    return starts and _SPRINT.match(text, quantity.span[1]) is not None


def _ends(quantity: Quantity) -> tuple[Quantity, Quantity]:
    """Both ends of a range."""
    single = replace(quantity, low=None, high=None, base_low=None, base_high=None)
    low = quantity.value if quantity.low is None else quantity.low
    high = quantity.value if quantity.high is None else quantity.high
    base_low = quantity.base_value if quantity.base_low is None else quantity.base_low
    base_high = quantity.base_value if quantity.base_high is None else quantity.base_high
    return replace(single, value=low, base_value=base_low), replace(single, value=high, base_value=base_high)
