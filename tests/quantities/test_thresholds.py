"""Measures told in several units are one threshold."""

from __future__ import annotations

import pytest

from numcolbert.quantities import conditions, extract, satisfies


@pytest.mark.parametrize(
    ("query", "operator", "base", "covered"),
    [
        ("films longer than 2 hours 30 minutes", ">", 9000, "longer than 2 hours 30 minutes"),
        ("films of 2 hours and 30 minutes", "=", 9000, "of 2 hours and 30 minutes"),
        ("2 hours, 30 minutes or less", "<=", 9000, "2 hours, 30 minutes or less"),
        ("under 1 hour, 20 minutes and 30 seconds", "<", 4830, "under 1 hour, 20 minutes and 30 seconds"),
        ("over 2 h 30 min", ">", 9000, "over 2 h 30 min"),
        ("men of 6 feet 2 inches", "=", 1.8796, "of 6 feet 2 inches"),
        ("taller than 6 ft 2 in", ">", 1.8796, "taller than 6 ft 2 in"),
        ("babies over 5 lb 3 oz", ">", 2.353012, "over 5 lb 3 oz"),
        ("at most 3 dollars and 50 cents", "<=", 3.5, "at most 3 dollars and 50 cents"),
        ("at least 2 kg and 500 g", ">=", 2.5, "at least 2 kg and 500 g"),
    ],
)
def test_parts_are_added(query: str, operator: str, base: float, covered: str) -> None:
    (condition,) = conditions(query)
    assert condition.operator == operator
    mass = condition.quantity.dimension == "mass"
    value = condition.quantity.base_value
    assert (value / 1000 if mass and value > 100 else value) == pytest.approx(base, rel=1e-6)
    assert query[slice(*condition.span)] == covered


def test_the_sum_is_told_in_the_first_unit() -> None:
    (condition,) = conditions("longer than 2 hours 30 minutes")
    assert (condition.quantity.value, condition.quantity.unit) == (2.5, "hour")
    assert satisfies(extract("It runs for 151 minutes.")[0], condition) is True
    assert satisfies(extract("It runs for 149 minutes.")[0], condition) is False


@pytest.mark.parametrize(
    ("query", "low", "high"),
    [
        ("between 5 feet 2 inches and 6 feet", 62 / 12, 6),
        ("between 1 hour 30 minutes and 2 hours 15 minutes", 1.5, 2.25),
    ],
)
def test_sums_bound_ranges(query: str, low: float, high: float) -> None:
    (condition,) = conditions(query)
    assert condition.operator == "range"
    assert condition.quantity.low == pytest.approx(low)
    assert condition.quantity.high == pytest.approx(high)


@pytest.mark.parametrize(
    "query",
    [
        "5 kg, 3 kg", "6 hours 90 minutes", "5 km and 300 kg", "5 GB and 300 MB", "5 miles, 300 feet",
        "30 minutes 2 hours", "seven-year 3 month bonds", "over 2 hours but under 300 minutes",
    ],
)  # fmt: skip
def test_other_neighbours_stay_two(query: str) -> None:
    assert len(conditions(query)) == 2
