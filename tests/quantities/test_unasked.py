"""What a query names without asking for it sets no threshold."""

from __future__ import annotations

import pytest

from numcolbert.quantities import conditions


def _asked(query: str) -> list[tuple[str, float, str | None]]:
    return [(c.operator, c.quantity.value, c.quantity.unit) for c in conditions(query)]


RULED_OUT = [
    "other than", "!=", "that are not", "≠", "<>", "not equal to", "not exactly", "except", "isn't", "isn’t",
    "except for the", "excluding", "instead of", "rather than", "different from", "without", "not of",
    "never at", "that do not have", "all but the", "with the exception of", "unequal to", "not quite",
    "not necessarily",
]  # fmt: skip


@pytest.mark.parametrize("phrase", RULED_OUT)
@pytest.mark.parametrize("threshold", ["5 GB", "$2.5 billion", "5-7 GB", "5 GB or more"])
def test_what_is_ruled_out_is_not_asked_for(phrase: str, threshold: str) -> None:
    assert conditions(f"drives {phrase} {threshold}") == []


@pytest.mark.parametrize("phrase", ["not at least", "not >", "not significantly more than"])
def test_bounds_that_no_phrase_turns_round_are_left_out(phrase: str) -> None:
    assert conditions(f"drives {phrase} 5 GB") == []


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("not 5 or 10 GB", []), ("not 5 GB, 10 GB or 20 GB", []), ("neither 5 GB nor 10 GB", []),
        ("not 5 GB but 10 GB", [("=", 10, "gigabyte")]), ("not 5 GB, over 10 GB", [(">", 10, "gigabyte")]),
        ("over 5 GB but not 10 GB", [(">", 5, "gigabyte")]), ("weight!=5kg", []),
        ("not between 5 and 7 kg", []), ("outside the range of 5 to 7 kg", []), ("outside 5-7 kg", []),
        ("not only 5 GB", [("=", 5, "gigabyte")]), ("a drive! 5 GB", [("=", 5, "gigabyte")]),
    ],
)  # fmt: skip
def test_what_else_the_query_names_is_asked_for(query: str, wanted: list[tuple[str, float, str]]) -> None:
    assert _asked(query) == wanted


@pytest.mark.parametrize(
    ("query", "operator"),
    [
        ("not more than 5 kg", "<="), ("no more than 5 kg", "<="), ("not less than 5 kg", ">="),
        ("isn't heavier than 5 kg", "<="), ("does not weigh more than 5 kg", "<="),
        ("not weighing less than 5 kg", ">="), ("should not cost more than $500", "<="),
        ("cannot exceed 5 kg", "<="), ("not to exceed 5 kg", "<="), ("not over 5 kg", "<="),
        ("must not be over 5 kg", "<="), ("not under 5 kg", ">="), ("did not reach 5 kg", "<"),
    ],
)  # fmt: skip
def test_negated_bounds_are_bounds(query: str, operator: str) -> None:
    (condition,) = conditions(query)
    assert condition.operator == operator


@pytest.mark.parametrize(
    "query",
    [
        "twice as much as 5 kg", "more than twice 5 kg", "half as heavy as 5 kg",
        "three times as much as 5 kg", "three times heavier than 5 kg",
        "10x as fast as 5 km/h", "double the weight of 5 kg",
    ],
)  # fmt: skip
def test_multiples_are_no_thresholds(query: str) -> None:
    assert conditions(query) == []


def test_a_bound_without_a_multiple_stays() -> None:
    assert _asked("as much as 5 kg") == [("<=", 5, "kilogram")]
    assert _asked("growth of 3 times in under 5 years") == [("=", 3, "times"), ("<", 5, "year")]


@pytest.mark.parametrize(
    "query",
    [
        "colder than -5 degrees", "warmer than 5 degrees", "hotter than 40°", "not cooler than 5 degrees",
        "below -5 degrees", "temperatures between 5 and 10 degrees", "freezing below 5 degrees",
    ],
)  # fmt: skip
def test_bare_degrees_may_be_temperatures(query: str) -> None:
    """No scale is told, and passages in °C must not fail for being no angles."""
    assert conditions(query) == []


def test_other_degrees_are_angles_or_tell_their_scale() -> None:
    assert _asked("angles over 40 degrees") == [(">", 40, "degree")]
    assert _asked("colder than -5 °C") == [("<", -5, "celsius")]
    assert _asked("colder than 5 degrees Fahrenheit") == [("<", 5, "fahrenheit")]
