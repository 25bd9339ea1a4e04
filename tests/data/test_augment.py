"""Rewritten sentences state what they claim to, in the style that stood there."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from numcolbert.data.augment import (
    concept_phrase,
    convert,
    convertible_units,
    rewrite_value,
    value_beside,
    value_for,
    write_like,
)
from numcolbert.data.pool import Concept, Unit
from numcolbert.data.triple import OPERATORS, satisfies
from numcolbert.data.writing import read_number

seeds = st.integers(0, 10**6)
sizes = st.floats(1e-3, 1e13).map(lambda v: float(f"{v:.3g}"))


@pytest.mark.parametrize(
    ("surface", "value", "written"),
    [
        ("2.5 billion", 3.1e9, "3.1 billion"),
        ("2.5 billion", 3.1e6, "3.1 million"),
        ("2.50", 3.1, "3.10"),
        ("12,000", 2000.0, "2,000"),
        ("1,200,000", 950.0, "950"),
        ("7.3bn", 12.4e9, "12.4bn"),
        ("350 mln", 1.2e9, "1200 mln"),
        ("15", 0.4, "0.4"),
        ("20k", 35e3, "35k"),
    ],
)
def test_a_value_takes_the_style_of_the_one_it_replaces(surface: str, value: float, written: str) -> None:
    style = read_number(surface)
    assert style is not None
    text, stated = write_like(value, style)
    assert (text, stated) == (written, pytest.approx(value))


@given(sizes, sizes, seeds)
def test_a_rewritten_sentence_states_the_value_it_returns(old: float, new: float, seed: int) -> None:
    surface = f"{old:,.2f}"
    text = f"The total came to {surface} units."
    start = text.index(surface)
    changed = rewrite_value(text, (start, start + len(surface)), float(f"{old:.2f}"), new, Random(seed))
    assume(changed is not None)
    assert changed is not None
    sentence, stated = changed
    middle = sentence.removeprefix("The total came to ").removesuffix(" units.")
    assert float(middle.replace(",", "")) == pytest.approx(stated)
    assert stated == pytest.approx(new, rel=0.01, abs=0.0051)


@pytest.mark.parametrize("surface", ["twelve", "1/2", "2.5 dozen", "5-7"])
def test_surfaces_that_are_not_understood_are_left_alone(surface: str) -> None:
    assert rewrite_value(surface, (0, len(surface)), 12.0, 5.0, Random(0)) is None


def test_a_surface_that_says_another_value_is_left_alone() -> None:
    assert rewrite_value("cost 5 euros", (5, 6), 50.0, 7.0, Random(0)) is None


@given(sizes, st.sampled_from([-1, 1]), seeds, st.floats(0, 1), st.booleans())
def test_a_value_beside_lies_on_its_side(
    value: float, direction: int, seed: int, near: float, whole: bool
) -> None:
    if whole:
        value = float(max(1, round(value)))
    other = value_beside(value, direction, Random(seed), near, whole=whole)
    assert (other - value) * direction > 0
    assert other >= 0
    assert not whole or other == int(other)


def test_near_values_include_the_classic_mistakes() -> None:
    drawn = {value_beside(20000.0, -1, Random(s), 1.0) for s in range(400)}
    assert 2000.0 in drawn  # a lost zero
    assert any(18000 <= v < 20000 for v in drawn)  # within ten percent
    assert {value_beside(41.0, -1, Random(s), 1.0) for s in range(200)} >= {40.0, 14.0}  # off by one, swapped


@given(st.sampled_from(OPERATORS), sizes, st.booleans(), seeds)
def test_a_value_made_for_a_condition_meets_it_or_does_not(
    operator, low: float, wanted: bool, seed: int
) -> None:
    high = low * 3 if operator == "range" else low
    value = value_for(operator, low, high, wanted, Random(seed), 0.6, at=0.15)
    assert satisfies(operator, value, low, high) == wanted


def test_strict_bounds_are_violated_by_the_threshold_itself_now_and_then() -> None:
    for operator, wanted in ((">", False), ("<", False), (">=", True), ("<=", True)):
        assert any(
            value_for(operator, 50.0, 50.0, wanted, Random(s), 0.5, at=0.15) == 50.0 for s in range(100)
        )
        assert value_for(operator, 50.0, 50.0, wanted, Random(0), 0.5, at=1.0) == 50.0
        assert value_for(operator, 50.0, 50.0, not wanted, Random(0), 0.5, at=1.0) != 50.0


def test_units_convert_and_distant_ones_are_not_offered() -> None:
    metre = Unit("metre", "length", 1.0, surfaces=("m",))
    kilometre = Unit("kilometre", "length", 1000.0, surfaces=("km",))
    nanometre = Unit("nanometre", "length", 1e-9, surfaces=("nm",))
    celsius = Unit("celsius", "temperature", 1.0, 273.15, ("°C",))
    fahrenheit = Unit("fahrenheit", "temperature", 5 / 9, 459.67 * 5 / 9, ("°F",))
    assert convertible_units(metre, [metre, kilometre, nanometre, celsius]) == [kilometre]
    assert convert(2.5, kilometre, metre) == 2500
    assert convert(100, celsius, fahrenheit) == pytest.approx(212)


def test_a_concept_is_expanded_as_often_as_asked() -> None:
    concept = Concept("adjusted earnings", ("AE", "earnings"))
    drawn = [concept_phrase(concept, Random(s), 0.5) for s in range(400)]
    assert 120 < sum(d == "adjusted earnings" for d in drawn) < 280
    assert concept_phrase(Concept("plain"), Random(0), 1.0) == "plain"
