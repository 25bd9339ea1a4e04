"""What holds for every text: no crash, exact spans, and a formatted quantity comes back."""

from __future__ import annotations

import math
import re

from hypothesis import example, given
from hypothesis import strategies as st
from tests.properties import examples

from numcolbert.quantities import conditions, extract, satisfies, units
from numcolbert.quantities.units import UnitInfo

PIECES = st.sampled_from(
    ["5", "12.5", "1,200", "$", "€", "US$", " ", "-", "–", "to", "between", "and", "million", "mln",
     "kg", "%", "pct", "per", "share", "a", "/", "m2", "±", "×10", "^9", "½", "one", "hundred",
     "patients", "in", "2019", "March", ",", ".", "(", ")", "[", "]", "about", "COVID-", "mg", "°C",
     "x", "+", "=", "<", "'", "th", "st", "e5", ":", "pm", "half", "dozen", "tens of", "thousands",
     "minus", "old", "year", "of"]
)  # fmt: skip
# Dense in digits and signs, with noughts, foreign digits and letters that fold into others.
DENSE = st.sampled_from(
    [*"0123456789/%.,-–−×^()$€£±<>=~⁻¹²³½ \u00a0\n", "00", "0.0", "A$", "A $", "10", "kg", "mg", "ml", "m",
     "L", "h", "min", "mmol", "per ", "share", "K", "s", "bln", "ſ", "ı", "İ", "٣", "𝟗", "µ", "vs "]
)  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(PIECES, max_size=14).map("".join),
    st.lists(PIECES, max_size=14).map(" ".join),
    st.lists(DENSE, max_size=24).map("".join),
)


@examples(1000)
@given(TEXTS, st.booleans())
@example("(21%/79%/0% vs 8%)", False)
@example("5 blnſ", False)
@example("ſıxty kg", True)
def test_spans_slice_back_and_never_overlap(text: str, loose: bool) -> None:
    last = 0
    for quantity in extract(text, loose=loose):
        start, end = quantity.span
        assert last <= start < end <= len(text)
        last = end
        assert start <= quantity.value_span[0] < quantity.value_span[1] <= end
        if quantity.unit_span:
            assert start <= quantity.unit_span[0] < quantity.unit_span[1] <= end
        assert math.isfinite(quantity.value) and math.isfinite(quantity.base_value)
        if quantity.low is not None and quantity.high is not None:
            assert quantity.low <= quantity.value <= quantity.high
        assert text[start:end] == text[start:end].strip()


@examples(300)
@given(TEXTS)
@example("over 5 and under 10 kg")
@example("5 feet 2 inches")
def test_conditions_hold_a_quantity_of_the_text(text: str) -> None:
    """Or the sum of some, or one in the unit of the next: never a number that is not there."""
    found = extract(text)
    for condition in conditions(text):
        wanted = condition.quantity
        assert any(q.value_span == wanted.value_span or q.span[0] == wanted.span[0] for q in found)
        assert wanted in found or any(q.span[1] >= wanted.span[1] and q.unit for q in found)
        start, end = condition.span
        assert 0 <= start <= condition.quantity.span[0] and condition.quantity.span[1] <= end <= len(text)


def _values() -> st.SearchStrategy[tuple[str, float]]:
    whole = st.integers(2, 999_999)
    small = st.integers(2, 99)
    return st.one_of(
        whole.map(lambda n: (f"{n:,}", float(n))),
        whole.map(lambda n: (f"{n}", float(n))),
        st.decimals(min_value=2, max_value=9999, places=2).map(lambda d: (f"{d}", float(d))),
        st.decimals(min_value="0.01", max_value="0.99", places=2).map(lambda d: (f"{d}"[1:], float(d))),
        small.map(lambda n: (f"{n} million", n * 1e6)),
        small.map(lambda n: (f"{n}.5 billion", (n + 0.5) * 1e9)),
        small.map(lambda n: (f"{n} mln", n * 1e6)),
        small.map(lambda n: (f"{n} ½".replace(" ", ""), n + 0.5)),
        small.map(lambda n: (f"-{n}", -float(n))),
    )


UNITS = [unit for unit in units.all_units() if unit.surfaces]


@st.composite
def _written(draw: st.DrawFn) -> tuple[str, float, UnitInfo]:
    number, value = draw(_values())
    unit = draw(st.sampled_from(UNITS))
    if unit.prefixes and draw(st.booleans()):
        prefix = draw(st.sampled_from(unit.prefixes))
        if prefix[-1].isalpha():
            prefix += " "
        return (f"-{prefix}{number[1:]}" if number.startswith("-") else prefix + number), value, unit
    return f"{number} {draw(st.sampled_from(unit.surfaces))}", value, unit


# Read as units only against the number, or not behind what may be a year.
AMBIGUOUS = {'"', "A", "B", "N", "T", "b", "c", "t", "x", "×", "real", "won", "mark", "marks"}


DISEASE = re.compile(r"-?(?:DM|FF|Lit) \d")  # "DM 2" is a kind of diabetes before it is two marks


@examples(1500)
@given(_written())
def test_a_formatted_quantity_comes_back(written: tuple[str, float, UnitInfo]) -> None:
    surface, value, unit = written
    if surface.split(" ")[-1] in AMBIGUOUS or surface.startswith("PS") or DISEASE.fullmatch(surface):
        return
    text = f"It was {surface}; then it changed."
    found = extract(text)
    assert len(found) == 1, found
    assert found[0].dimension == unit.dimension
    assert math.isclose(found[0].base_value, unit.to_base(value), rel_tol=1e-9)
    assert text[slice(*found[0].span)] == surface


@examples(200)
@given(
    st.floats(0.1, 1e6),
    st.sampled_from([u for u in UNITS if u.dimension in ("mass", "length", "time", "data")]),
)
def test_a_condition_and_its_opposite_never_agree(value: float, unit: UnitInfo) -> None:
    surface = f"{value:.3f} {unit.surfaces[-1]}"
    (quantity,) = extract(surface)
    for threshold in (value * 0.5, value, value * 2):
        threshold_surface = f"{threshold:.3f} {unit.surfaces[-1]}"
        above, below = (
            conditions(f"over {threshold_surface}")[0],
            conditions(f"at most {threshold_surface}")[0],
        )
        assert satisfies(quantity, above) is not satisfies(quantity, below)
