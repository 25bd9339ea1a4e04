"""Units said once for two bounds: "more than 5 and less than 10 kg"."""

from __future__ import annotations

import re
from dataclasses import replace

from numcolbert.quantities.extract import extract
from numcolbert.quantities.numbers import SCALES
from numcolbert.types import Condition, Quantity

_LOWER, _UPPER = (">", ">="), ("<", "<=")
_SIGNS = "<>=≤≥⩽⩾＜＞"
_JOINT = re.compile(r"\s*,?\s*(?:(?:and|but|yet|&)\s+)?(?:also\s+|still\s+)?", re.IGNORECASE)
# What stands between the signs of "5 < weight < 10 kg".
_MEASURED = re.compile(r"\s*(?:(?!(?:and|or|but|with)\b)[a-z]+\s*){1,3}", re.IGNORECASE)
# What has a scale of its own and no unit: "rated above 4 and under 10 kg".
_RATED = re.compile(r"\b(?:gpa|(?:rat|scor|grad|rank)[a-z]{1,4})(?:\s+(?:of|at|is|are))?\s+$", re.IGNORECASE)
_AGED = re.compile(r"(?:old|young)er\s+than\b", re.IGNORECASE)
_SCALE_WORD = re.compile(rf"[ -]?(?:{'|'.join(sorted(SCALES, key=len, reverse=True))})$", re.IGNORECASE)


def share(query: str, found: list[Condition]) -> list[Condition]:
    """The conditions, where one without a unit takes that of the opposite bound right behind it."""
    shared = list(found)
    for position in range(len(shared) - 2, -1, -1):
        left, right = shared[position], shared[position + 1]
        if _are_bounds(query, left, right) and (quantity := _in_unit(query, left, right)):
            shared[position] = replace(left, quantity=quantity)
    return shared


def _are_bounds(query: str, left: Condition, right: Condition) -> bool:
    """Whether they can bound one thing from two sides with nothing but a joining word between them."""
    unit_span = right.quantity.unit_span
    if left.quantity.unit is not None or unit_span is None or unit_span[0] < right.quantity.value_span[1]:
        return False
    if {left.operator in _LOWER, right.operator in _LOWER} != {True, False}:
        return False
    if not {left.operator, right.operator} <= {*_LOWER, *_UPPER}:
        return False
    begin, end = left.span[1], right.span[0]
    if begin > left.quantity.span[1] and query[begin - 1] in _SIGNS:
        return query[end] in _SIGNS and _MEASURED.fullmatch(query, begin, end) is not None
    if _AGED.search(query, *left.span) and right.quantity.dimension != "time":
        return False
    return _JOINT.fullmatch(query, begin, end) is not None and not _RATED.search(query, 0, left.span[0])


def _in_unit(query: str, left: Condition, right: Condition) -> Quantity | None:
    """The threshold of the left one, read with the unit of the right one; None if bounds come out crossed."""
    number = query[slice(*left.quantity.value_span)]
    scale = _SCALE_WORD.search(query, *right.quantity.value_span)
    rest = query[right.quantity.value_span[1] : right.quantity.span[1]]
    readings = [number + rest]
    if scale and not _SCALE_WORD.search(number):  # "over 5 but under 10 million people"
        readings.insert(0, number + scale[0] + rest)
    for text in readings:
        read = extract(text)
        if len(read) != 1 or read[0].span != (0, len(text)) or read[0].unit != right.quantity.unit:
            continue
        lower, upper = read[0].base_value, right.quantity.base_value
        if left.operator in _UPPER:
            lower, upper = upper, lower
        if lower < upper:
            return replace(
                left.quantity,
                value=read[0].value,
                unit=read[0].unit,
                dimension=read[0].dimension,
                base_value=read[0].base_value,
            )
    return None
