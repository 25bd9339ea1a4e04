"""Queries say what they were asked to say, and know where their quantities stand."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numcolbert.data.phrases import PHRASES
from numcolbert.data.pool import Unit
from numcolbert.data.queries import Asked, QueryStyle, comparatives, render_query
from numcolbert.data.writing import attach, number_words, read_number, write_number, write_quantity
from numcolbert.errors import UsageError
from numcolbert.types import Operator

USD = Unit("USD", "currency:USD", 1.0, surfaces=("dollars", "dollar", "USD", "dlrs"), prefixes=("$", "US$"))
KM = Unit("kilometer", "length", 1000.0, surfaces=("km", "kilometers", "kilometer"))
PERCENT = Unit("percent", "percent", 1.0, surfaces=("%", "percent"))
PATIENT = Unit("patient", "count:patient", 1.0, surfaces=("patients", "patient"))
UNITS = (USD, KM, PERCENT, PATIENT)

values = st.one_of(
    st.integers(1, 10**7).map(float),
    st.floats(1e-3, 1e13).map(lambda v: float(f"{v:.3g}")),
    st.integers(1, 999).map(lambda v: v * 1e9),
)
operators = st.sampled_from(list(PHRASES))


def test_there_are_many_phrases_for_each_operator() -> None:
    least: dict[Operator, int] = {"=": 11, ">": 9, "<": 8, ">=": 8, "<=": 8, "range": 8}
    for operator, count in least.items():
        assert len(set(PHRASES[operator].after)) >= count


def test_strict_and_inclusive_phrases_are_never_shared() -> None:
    for strict, inclusive in ((">", ">="), ("<", "<="), (">", "<="), ("<", ">="), (">", "<")):
        for slot in ("after", "predicate", "verb", "before"):
            assert not set(getattr(PHRASES[strict], slot)) & set(getattr(PHRASES[inclusive], slot))


@given(values, operators, st.sampled_from(UNITS), st.integers(0, 10**6), st.booleans())
def test_a_span_holds_the_quantity_and_nothing_else(
    value: float, operator: Operator, unit: Unit, seed: int, distractor: bool
) -> None:
    asked = Asked("net revenue", operator, value, unit, high=value * 2)
    query = render_query([asked], Random(seed), QueryStyle(distractor=distractor))
    ((start, end),) = query.spans
    mention = query.text[start:end]
    assert mention == mention.strip() and mention
    assert "net revenue" in query.text and "net revenue" not in mention
    assert not any(mark in query.text for mark in "{}\x01\x02")
    assert any(s in mention for s in unit.surfaces + unit.prefixes)
    outside = query.text[:start] + query.text[end:]
    assert distractor or not any(c.isdigit() for c in outside)


@given(
    values,
    st.sampled_from(["plain", "grouped", "scale", "suffix", "scientific", "words"]),
    st.booleans(),
    st.integers(0, 99),
)
def test_a_written_number_reads_back_as_the_same_value(value: float, style, money: bool, seed: int) -> None:
    written = write_number(value, style, Random(seed), money=money)
    if written is None:
        return
    if style == "scientific":
        mantissa, exponent = written.replace(" × 10^", "e").split("e")
        assert float(f"{mantissa}e{exponent}") == value
    elif style == "words":
        assert words_to_number(written) == value
    else:
        parsed = read_number(written)
        assert parsed is not None and parsed.value == pytest.approx(value, rel=1e-12)


def words_to_number(text: str) -> float:
    """A slow reader of number words, written apart from the writer."""
    ones = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ]
    tens = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
    scales = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
    total = 0.0
    for word in text.replace("-", " ").split():
        if word in ones:
            total += ones.index(word)
        elif word in tens:
            total += 10 * (tens.index(word) + 2)
        elif word == "hundred":
            total *= 100
        elif word in scales:
            total *= scales[word]
    return total


def test_number_words_cover_the_first_thousand() -> None:
    assert all(words_to_number(number_words(n)) == n for n in range(1000))


def test_the_same_seed_gives_the_same_query() -> None:
    asked = [Asked("revenue", ">", 2e9, USD)]
    assert render_query(asked, Random(7)) == render_query(asked, Random(7))
    assert len({render_query(asked, Random(s)).text for s in range(300)}) > 200


def test_long_queries_have_eight_words_or_more_on_average() -> None:
    asked = [Asked("revenue", ">", 2e9, USD)]
    lengths = [len(render_query(asked, Random(s), QueryStyle(form="long")).text.split()) for s in range(300)]
    assert sum(lengths) / len(lengths) >= 8
    assert max(lengths) <= 16


def test_the_plural_follows_the_value() -> None:
    ones = {render_query([Asked("cohort", "=", 1.0, PATIENT)], Random(s)).text for s in range(100)}
    assert any("patient" in t and "patients" not in t for t in ones)
    assert not any("patients" in t for t in ones)


def test_a_counted_noun_is_named_once() -> None:
    for seed in range(50):
        query = render_query([Asked("female patients", ">", 200.0, PATIENT)], Random(seed))
        assert query.text.count("patients") == 1
        start, end = query.spans[0]
        assert query.text[start:end].endswith("female patients")


def test_comparatives_suit_what_is_measured() -> None:
    assert comparatives("median age", "time", ">") == ("older than",)
    assert "cheaper than" in comparatives("retail price", "currency:USD", "<")
    assert "heavier than" in comparatives("cargo", "mass", ">")
    assert comparatives("revenue", "currency:USD", ">") == ()


def test_two_conditions_have_two_spans_in_order() -> None:
    asked = [Asked("revenue", ">", 2e9, USD), Asked("margin", "<", 5.0, PERCENT)]
    for seed in range(50):
        query = render_query(asked, Random(seed))
        (a, b), (c, d) = query.spans
        assert b < c
        assert "5" in query.text[c:d] or "five" in query.text[c:d]
        assert "2" in query.text[a:b] or "two" in query.text[a:b]


def test_wrong_use_is_named() -> None:
    with pytest.raises(UsageError, match="one or two conditions"):
        render_query([], Random(0))
    with pytest.raises(UsageError, match="no upper end"):
        render_query([Asked("revenue", "range", 1.0, USD)], Random(0))


def test_a_counted_noun_agrees_with_its_number() -> None:
    woman = Unit("woman", "count:woman", 1.0, surfaces=("women", "woman"))
    centre = Unit("centre", "count:centre", 1.0, surfaces=("centre",))
    for seed in range(30):
        rng = Random(seed)
        assert "pregnant women" in render_query([Asked("pregnant woman", ">", 31.0, woman)], rng).text
        assert (
            "90 centres"
            in render_query([Asked("centre", ">", 90.0, centre)], rng, QueryStyle(number_style="plain")).text
        )


@pytest.mark.parametrize(
    ("name", "surfaces", "many"),
    [("child", ("children", "child"), "children"), ("rct", ("RCTs", "RCT"), "rcts"), ("ox", ("ox",), "oxen")],
)
def test_counts_agree_in_number(name: str, surfaces: tuple[str, ...], many: str) -> None:
    unit, rng = Unit(name, f"count:{name}", 1.0, surfaces=surfaces), Random(3)
    assert write_quantity(5.0, unit, rng).endswith(f" {many}")
    assert write_quantity(1.0, unit, rng).endswith(f" {name}")


def test_no_unit_is_tied_to_a_power_of_ten() -> None:
    rng = Random(3)
    assert {attach("2.2e4", "km", rng) for _ in range(50)} == {"2.2e4 km"}
