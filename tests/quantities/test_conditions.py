"""How queries ask: operator phrases, ranges, approximation, and what is no condition."""

from __future__ import annotations

import pytest

from numcolbert.quantities import conditions, extract, satisfies

PHRASES = {
    ">": [
        "above", "over", "more than", "greater than", "exceeding", "exceeds", "higher than", "larger than",
        "bigger than", "north of", "in excess of", "upwards of", "upward of", "older than", "longer than",
        "heavier than", "taller than", "wider than", "faster than", "deeper than", "surpassing", "beyond",
        "topping", ">", "more than about", "just over", "stronger than", "hotter than", "thicker than",
    ],
    "<": [
        "below", "under", "less than", "fewer than", "lower than", "smaller than", "short of", "cheaper than",
        "lighter than", "shorter than", "younger than", "slower than", "narrower than", "beneath", "south of",
        "shy of", "<", "just under", "thinner than", "shallower than", "cooler than", "colder than",
    ],
    ">=": [
        "at least", "no less than", "not less than", "no fewer than", "no lower than", "not below",
        "a minimum of", "minimum", "starting at", ">=", "≥", "greater than or equal to",
        "more than or equal to",
        "not under",
        "no shorter than", "no younger than", "min.", "equal to or greater than",
    ],
    "<=": [
        "at most", "no more than", "not more than", "not exceeding", "up to", "a maximum of", "maximum",
        "max",
        "not over", "no greater than", "no higher than", "no longer than", "no older than", "<=", "≤",
        "less than or equal to", "not above", "as much as", "capped at", "limited to", "within",
        "does not exceed", "must not exceed",
    ],
    "=": [
        "", "of", "equal to", "exactly", "precisely", "at", "is", "amounting to", "totalling", "worth", "=",
        "equals", "about", "around", "roughly", "approximately", "of about", "costing", "priced at",
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("operator", "phrase"),
    [(operator, phrase) for operator, phrases in PHRASES.items() for phrase in phrases],
)
@pytest.mark.parametrize("threshold", ["5 kg", "$2.5 billion", "65"])
def test_phrases(operator: str, phrase: str, threshold: str) -> None:
    if threshold == "65" and operator == "=":
        return  # a bare whole number needs an operator, see below
    query = f"things {phrase} {threshold}".replace("  ", " ")
    (condition,) = conditions(query)
    assert condition.operator == operator
    covered = query[slice(*condition.span)]
    assert covered.endswith(threshold)
    if phrase and operator != "=":
        assert phrase.split()[-1] in covered


@pytest.mark.parametrize(
    ("query", "operator"),
    [
        ("phones with 128 GB or more", ">="), ("5 kg and above", ">="), ("65 years or older", ">="),
        ("5 or more children", ">="), ("3 or fewer cars", "<="), ("20+ megapixels", ">="),
        ("weight>=50kg", ">="),
        ("weight<50kg", "<"), ("5+ years of experience", ">="),
        ("$500+ laptops", ">="), ("100 km or less", "<="),
        ("5 kg or under", "<="), ("30 minutes or fewer", "<="), ("20 percent or higher", ">="),
        ("18 years and younger", "<="), ("500 dollars max", "<="), ("3 years minimum", ">="),
    ],
)  # fmt: skip
def test_phrases_behind_the_threshold(query: str, operator: str) -> None:
    (condition,) = conditions(query)
    assert condition.operator == operator


@pytest.mark.parametrize("query", ["between 5 and 7 kg", "from 5 to 7 kg", "5-7 kg", "5 to 7 kg"])
def test_ranges(query: str) -> None:
    (condition,) = conditions(f"loads {query}")
    assert (condition.operator, condition.quantity.low, condition.quantity.high) == ("range", 5, 7)


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("iPhone 15 under 500 dollars in 2020", [("<", 500, "USD")]),
        ("companies founded after 2015", []),
        ("top 10 phones", []),
        ("COVID-19 deaths in March 2020", []),
        ("Galaxy S22 with at least 8 GB", [(">=", 8, "gigabyte")]),
        ("Boeing 737 flights longer than 3 hours", [(">", 3, "hour")]),
        ("type 2 diabetes with HbA1c above 7.5%", [(">", 7.5, "percent")]),
        ("Q3 2021 revenue above $2 billion", [(">", 2e9, "USD")]),
        ("over 500 km and under 20 kWh", [(">", 500, "kilometre"), ("<", 20, "kilowatt_hour")]),
        (
            "older than 65 years with BMI over 30 kg/m2",
            [(">", 65, "year"), (">", 30, "kilogram/square_metre")],
        ),
        ("no numbers here", []),
        ("", []),
    ],
)
def test_what_is_a_condition(query: str, wanted: list[tuple[str, float, str]]) -> None:
    assert [(c.operator, c.quantity.value, c.quantity.unit) for c in conditions(query)] == wanted


@pytest.mark.parametrize(
    ("query", "passage", "answer"),
    [
        ("over 500 GB", "a 1 TB disk", True), ("over 500 GB", "a 256 GB disk", False),
        ("over 500 GB", "at 600 Mbps", None), ("over 500 GB", "a 500 GB disk", False),
        ("at least 500 GB", "a 500 GB disk", True), ("at most 5 kg", "11 pounds", True),
        ("over 5 kg", "6 tonnes", True), ("= 500 km", "310.7 miles", True), ("= 500 km", "311 miles", True),
        ("= 500 km", "320 miles", False), ("exactly 5 kg", "5.1 kg", False), ("exactly 5 kg", "5.0 kg", True),
        ("about 50 kg", "53 kg", True), ("about 50 kg", "60 kg", False),
        ("exactly 50 kg", "about 52 kg", True),
        ("over 5 kg", "6-8 kg", True), ("over 7 kg", "6-8 kg", False), ("under 9 kg", "6-8 kg", True),
        ("exactly 7 kg", "6-8 kg", False), ("between 5 and 9 kg", "6-8 kg", True),
        ("between 5 and 7 kg", "6-8 kg", False), ("between 5 and 7 kg", "5 kg", True),
        ("between 5 and 7 kg", "7.1 kg", False), ("over $5", "6 euros", None), ("over $5", "$5.01", True),
        ("above 60 mph", "100 km/h", True), ("above 70 mph", "100 km/h", False),
        ("over 2 dollars", "250 cents", True),
        ("over 50 basis points", "1 percentage point", True), ("over 3 percent", "4 percentage points", None),
        ("above 30 degrees Celsius", "90 degrees Fahrenheit", True),
        ("over 100 patients", "120 patients", True),
        ("over 100 patients", "120 stores", None), ("$5 per share", "500 cents per share", True),
    ],
)  # fmt: skip
def test_satisfies(query: str, passage: str, answer: bool | None) -> None:
    (condition,) = conditions(query)
    (quantity,) = extract(passage)
    assert satisfies(quantity, condition) is answer
