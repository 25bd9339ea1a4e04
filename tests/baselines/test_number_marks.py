"""Numbers become one token each, with their value."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from numcolbert.baselines.number_marks import (
    EXPONENTS,
    LOWEST_EXPONENT,
    NUMBER_TOKEN,
    ZERO,
    exponent_and_mantissa,
    mark_numbers,
)


@pytest.mark.parametrize(
    ("text", "expected", "values"),
    [
        ("revenue of $2.5 billion", "revenue of # $", [2.5e9]),
        ("1,250 mln dlrs", "# dlrs", [1.25e9]),
        ("$5m for 5 m of 3mm wire", "# $ for # m of # mm wire", [5e6, 5.0, 3.0]),
        ("between 3 and 5 kg", "between # and # kg", [3.0, 5.0]),
        ("3-5 kg", "# - # kg", [3.0, 5.0]),
        ("fell -4.2%", "fell # %", [-4.2]),
        ("2 million-dollar deal", "# -dollar deal", [2e6]),
        ("no number", "no number", []),
    ],
)
def test_marks(text: str, expected: str, values: list[float]) -> None:
    marked = mark_numbers(text)
    assert " ".join(marked.text.replace(NUMBER_TOKEN, " # ").split()) == expected
    assert list(marked.values) == pytest.approx(values)


@given(st.text(max_size=60))
@example(f"see {NUMBER_TOKEN} and 5")
def test_as_many_marks_as_values(text: str) -> None:
    marked = mark_numbers(text)
    assert marked.text.count(NUMBER_TOKEN) == len(marked.values)


@given(st.floats(1e-8, 9e14))
def test_exponent_and_mantissa_give_the_value_back(value: float) -> None:
    kind, mantissa = exponent_and_mantissa(value)
    assert 1 <= kind < EXPONENTS
    assert mantissa * 10.0 ** (kind - 1 + LOWEST_EXPONENT) == pytest.approx(value, rel=1e-9)
    assert exponent_and_mantissa(-value) == (kind, mantissa)


def test_the_ends_of_the_scale() -> None:
    assert exponent_and_mantissa(0)[0] == ZERO
    assert exponent_and_mantissa(5e-324)[0] == ZERO
    assert exponent_and_mantissa(1e-30)[0] == 1
    assert exponent_and_mantissa(1e30)[0] == EXPONENTS - 1
    assert exponent_and_mantissa(1000) == (3 - LOWEST_EXPONENT + 1, 1.0)
