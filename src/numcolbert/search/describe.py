"""Quantities and conditions in words a person reads back."""

from __future__ import annotations

from functools import cache

from numcolbert.types import Condition, Quantity

SIGNS = {">=": "≥", "<=": "≤"}


def describe_quantity(quantity: Quantity) -> str:
    """'500 gigabyte', '2 to 3 kilometre', '≈ 40'."""
    about = "≈ " if quantity.approximate else ""
    return f"{about}{_amount(quantity.value, quantity.low, quantity.high)} {quantity.unit or ''}".rstrip()


def describe_condition(condition: Condition) -> str:
    """'> 500 gigabyte', '= 2 to 3 kilometre'."""
    sign = "=" if condition.operator == "range" else condition.operator
    return f"{SIGNS.get(sign, sign)} {describe_quantity(condition.quantity)}"


def describe_base(quantity: Quantity) -> str:
    """In the base unit of its dimension: '5e+11 byte'."""
    amount = _amount(quantity.base_value, quantity.base_low, quantity.base_high)
    return f"{amount} {base_unit(quantity.dimension)}".rstrip()


@cache
def base_unit(dimension: str) -> str:
    """The unit in which `base_value` is counted."""
    from numcolbert.quantities import units

    for unit in units.all_units():
        if unit.dimension == dimension and unit.factor == 1 and unit.offset == 0:
            return unit.name
    if "/" in dimension:
        return "/".join(base_unit(part) or part for part in dimension.split("/"))
    return dimension.partition(":")[2]  # count:patient, currency:XYZ; nothing for a bare number


def _amount(value: float, low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return f"{value:,.6g}"
    if low is None:
        return f"up to {high:,.6g}"
    return f"{low:,.6g} or more" if high is None else f"{low:,.6g} to {high:,.6g}"
