"""Whether a passage satisfies a query's conditions."""

from __future__ import annotations

import pytest

from numcolbert.quantities import extract
from numcolbert.search.describe import base_unit, describe_base, describe_condition
from numcolbert.search.judge import conditions_of, judge, satisfied


@pytest.mark.parametrize(
    ("query", "passage", "verdict"),
    [
        ("SSDs with more than 500 GB", "The SSD holds 1 TB.", True),
        ("SSDs with more than 500 GB", "The SSD holds 256 GB.", False),
        ("SSDs with more than 500 GB", "A 256 GB and a 2 TB model are sold.", True),
        ("SSDs with more than 500 GB", "The link moves 600 Mbps.", None),
        ("SSDs with more than 500 GB", "An SSD.", None),
        ("fast SSDs", "The SSD holds 1 TB.", None),
        # two conditions on one dimension must hold for the same quantity
        ("more than 5 km but less than 10 km", "It is 7 km long.", True),
        ("more than 5 km but less than 10 km", "One is 3 km, the other 12 km.", False),
        ("more than 5 but less than 10 km", "It is 7 km long.", True),
        ("more than 5 but less than 10 km", "It is 3 km long.", False),
        ("films longer than 2 hours 30 minutes", "It runs for 160 minutes.", True),
        ("films longer than 2 hours 30 minutes", "It runs for 140 minutes.", False),
        # what the passage calls over 500 is over 500
        ("firms with more than 500 people", "The firm has over 500 people.", True),
        ("firms with more than 500 people", "The firm has 500 people.", False),
        ("firms with more than 500 people", "The firm has up to 500 people.", False),
        ("firms with less than 500 people", "The firm has more than 500 people.", False),
        ("villages with under 900 inhabitants", "It has fewer than 900 inhabitants.", True),
        ("drives over 1 TB", "It stores more than 1,000 GB.", True),
        # a measure in several units is their sum
        ("marathons under 2 hours", "He won in 2 hours 4 minutes and 12 seconds.", False),
        ("marathons over 2 hours 3 minutes", "He won in 2 hours, 4 minutes and 12 seconds.", True),
        ("babies heavier than 7 pounds", "She weighed 7 pounds, 8 ounces.", True),
        ("climbs under 1 km", "The runs are 5 km, 300 m and 100 m long.", True),
        # a change states both ends, a range each value between them
        ("pressure below 140 mmHg", "Pressure fell from 152 to 138 mmHg.", True),
        ("pressure below 140 mmHg", "Pressure ranged from 132 to 152 mmHg.", False),
        ("sales above 6 million dollars", "Sales rose 40% from $5 million to $7 million.", True),
        ("between 6 and 8 kg but over 7.5 kg", "It grew from 6 to 7 kg.", False),
        # a sprint tells the speed that is reached
        ("cars that reach 100 km/h in under 8 seconds", "It does 0-100 km/h in 7.3 seconds.", True),
        ("cars faster than 90 km/h", "0 to 100 km/h in just 9 seconds.", True),
        ("fans slower than 120 km/h", "It blows at 0-100 km/h.", True),
        ("fans faster than 50 km/h", "It blows at 0-100 km/h.", False),
        # there is no operator for what is ruled out
        ("SSDs other than 500 GB", "The SSD holds 500 GB.", None),
        ("SSDs that are not 500 GB", "The SSD holds 1 TB.", None),
        ("colder than -5 degrees", "It was -10 °C.", None),
        ("over +5 °C", "It was 10 °C.", True),
        # conditions on different dimensions each need a quantity
        ("over 500 GB for less than 100 dollars", "The 1 TB model costs 80 dollars.", True),
        ("over 500 GB for less than 100 dollars", "The 1 TB model costs 120 dollars.", False),
        ("over 500 GB for less than 100 dollars", "The 1 TB model is cheap.", None),
    ],
)
def test_the_verdict_on_a_passage(query: str, passage: str, verdict: bool | None) -> None:
    assert satisfied(passage, extract(passage), conditions_of(query)) is verdict


def test_each_quantity_gets_its_own_verdict() -> None:
    text = "A 256 GB model and a 2 TB model for 90 dollars."
    found = judge(text, extract(text), conditions_of("above 500 GB"))
    assert [judged.satisfies for judged in found] == [False, True, None]


def test_conditions_are_read_back_in_words() -> None:
    assert [describe_condition(c) for c in conditions_of("at least 500 GB under $80")] == [
        "≥ 500 gigabyte",
        "< 80 USD",
    ]
    assert describe_condition(conditions_of("between 2 and 3 km")[0]) == "= 2 to 3 kilometre"


def test_quantities_are_shown_in_base_units() -> None:
    assert describe_base(extract("It holds 2 TB.")[0]) == "2e+12 byte"
    assert base_unit("number") == ""
    speed = extract("at 36 km/h")[0]
    assert describe_base(speed).endswith(base_unit(speed.dimension))
