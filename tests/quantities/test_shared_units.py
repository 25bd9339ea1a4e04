"""Two bounds share the unit that is said once."""

from __future__ import annotations

import pytest

from numcolbert.quantities import conditions


def _asked(query: str) -> list[tuple[str, float, str | None]]:
    return [(c.operator, c.quantity.value, c.quantity.unit) for c in conditions(query)]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("more than 5 and less than 10 kg", [(">", 5, "kilogram"), ("<", 10, "kilogram")]),
        ("over 5 but under 10 kg", [(">", 5, "kilogram"), ("<", 10, "kilogram")]),
        ("≥5 and ≤10 mg", [(">=", 5, "milligram"), ("<=", 10, "milligram")]),
        (">5, <10 mg", [(">", 5, "milligram"), ("<", 10, "milligram")]),
        ("at least 5, at most 10 kg", [(">=", 5, "kilogram"), ("<=", 10, "kilogram")]),
        ("below 10 and above -5 °C", [("<", 10, "celsius"), (">", -5, "celsius")]),
        ("no more than 10 and no less than 5 mg/dl",
         [("<=", 10, "milligram/decilitre"), (">=", 5, "milligram/decilitre")]),
        ("at least 20 and at most 115 patients", [(">=", 20, "patient"), ("<=", 115, "patient")]),
        ("over 5 but under 10 million people", [(">", 5e6, "person"), ("<", 10e6, "person")]),
        ("over 500 but under 10 million people", [(">", 500, "person"), ("<", 10e6, "person")]),
        ("more than 5 and up to 10 kg", [(">", 5, "kilogram"), ("<=", 10, "kilogram")]),
    ],
)  # fmt: skip
def test_bounds_share_a_unit(query: str, wanted: list[tuple[str, float, str]]) -> None:
    assert _asked(query) == wanted


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("5 < weight < 10 kg", [(">", 5, "kilogram"), ("<", 10, "kilogram")]),
        ("5 kg ≤ weight ≤ 10 kg", [(">=", 5, "kilogram"), ("<=", 10, "kilogram")]),
        ("10 kg > net weight >= 5 kg", [("<", 10, "kilogram"), (">=", 5, "kilogram")]),
        ("5 kg < weight", [(">", 5, "kilogram")]),
        ("5 kg < weight and price < 10 dollars", [(">", 5, "kilogram"), ("<", 10, "USD")]),
    ],
)
def test_signs_behind_a_number_turn_round(query: str, wanted: list[tuple[str, float, str]]) -> None:
    assert _asked(query) == wanted


@pytest.mark.parametrize(
    "query",
    [
        "rated above 4 and under 10 kg", "with a rating of over 4 and below 10 kg", "over 20 and under 10 kg",
        "over 5 and under $10", "over 5 and over 10 kg",
        "older than 18 and under 90 kg", "above 4 for pets under 10 kg", "under 5 or over 10 kg",
    ],
)  # fmt: skip
def test_bounds_of_two_things_do_not(query: str) -> None:
    assert _asked(query)[0][2] is None
