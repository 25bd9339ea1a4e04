"""The noun that a number counts, and its singular."""

from __future__ import annotations

import pytest

from numcolbert.quantities import extract
from numcolbert.quantities.counts import singular


@pytest.mark.parametrize(
    ("many", "one"),
    [
        ("mosquitoes", "mosquito"), ("cargoes", "cargo"), ("shoes", "shoe"), ("countries", "country"),
        ("fetuses", "fetus"), ("metastases", "metastasis"), ("hypotheses", "hypothesis"), ("cases", "case"),
        ("midwives", "midwife"), ("areas", "area"), ("stimuli", "stimulus"), ("gas", "gas"),
        ("texas", "texas"), ("glass", "glass"), ("virus", "virus"),
    ],
)  # fmt: skip
def test_singular(many: str, one: str) -> None:
    assert singular(many) == one


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("They caught 40 mosquitoes a night.", "mosquito/night"),
        ("It covers three rural areas.", "area"),
        ("We bought five cameras.", "camera"),
        ("There were seven drop-outs.", "drop-out"),
        ("It runs six data centres.", "centre"),
        ("There was 1 adverse event.", "event"),
        ("It has 1 preferred stock.", "stock"),
    ],
)
def test_what_is_counted(text: str, unit: str) -> None:
    (quantity,) = extract(text)
    assert quantity.unit == unit


@pytest.mark.parametrize(
    "text",
    [
        "Of these, 1 never returned.",
        "All but 1 received the drug.",
        "All but 1 responded.",
        "p was 1.000 Data are shown as means.",
        "A total of 170 corresponds to it.",
    ],
)
def test_what_is_not_counted(text: str) -> None:
    assert [quantity.unit for quantity in extract(text)] == [None]
