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
    assert satisfied(extract(passage), conditions_of(query)) is verdict


def test_each_quantity_gets_its_own_verdict() -> None:
    found = judge(extract("A 256 GB model and a 2 TB model for 90 dollars."), conditions_of("above 500 GB"))
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
