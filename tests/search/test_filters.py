"""`--where`: what each kind of test selects, and how mistakes are shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.standin import StandIn

from numcolbert.api import Index, NumColBERT
from numcolbert.errors import UsageError

DOCUMENTS = [
    {"id": "ssd", "text": "The SSD holds 1 TB and weighs 40 g.", "year": 2022, "price": 99, "category": "ssd",
     "tags": ["fast", "new"], "archived": False, "seller": {"country": "DE"}, "day": "2022-03-01"},
    {"id": "disk", "text": "The disk holds 500 GB and weighs 0.6 kg.", "year": 2015, "price": "45 dollars",
     "category": "Hard Disk", "tags": [], "archived": True, "seller": {"country": "US"}, "day": "2015-11-30"},
    {"id": "tape", "text": "A tape of 2 to 3 TB.", "year": "1999", "price": "80 euros", "category": None},
    {"id": "card", "text": "A card without figures.", "odd name": "x", "it's": 1},
]  # fmt: skip


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return NumColBERT(StandIn()).index(DOCUMENTS, tmp_path_factory.mktemp("filters") / "idx")


CASES = {
    # numbers; a text that is a number counts as one
    "year >= 2015": "ssd disk",
    "year < 2015": "tape",
    "year = 2022.0": "ssd",
    "year != 2022": "disk tape card",
    "year > 1,999": "ssd disk",
    "year in (1999, 2022)": "ssd tape",
    "year not in (1999, 2022)": "disk card",
    "year >= -1e9": "ssd disk tape",
    # text
    "category = 'ssd'": "ssd",
    'category == "ssd"': "ssd",
    "category = 'SSD'": "",
    "category contains 'DISK'": "disk",
    "category not contains 'disk'": "ssd tape card",
    "day < '2020-01-01'": "disk",
    "category in ('ssd', 'Hard Disk')": "ssd disk",
    "day contains 2022": "ssd",
    "text contains 500": "disk",
    "text contains 0.6": "disk",
    "year >= '2015'": "ssd disk",  # a number in quotes, over numbers and over the text "1999"
    "year < '2000'": "tape",
    "category > '5'": "ssd disk",
    "year < 'x'": "tape",
    # lists, booleans, null, objects, odd names
    "tags contains 'new'": "ssd",
    "archived": "disk",
    "not archived": "ssd tape card",
    "archived = false": "ssd",
    "category is null": "tape card",
    "category is not null": "ssd disk",
    "category = null": "tape card",
    "seller.country = 'DE'": "ssd",
    "`odd name` = 'x'": "card",
    "`it's` = 1": "card",
    # quantities in the passage
    "quantity >= 1 TB": "ssd tape",
    "quantity > 1 TB": "tape",
    "quantity < 2 TB": "ssd disk",
    "quantity > 2500 GB": "",  # a range satisfies when all of it does
    "quantity = 1000 GB": "ssd",
    "quantity = 40 grams": "ssd",
    "quantity > 100 g": "disk",
    "quantity > 100 mph": "",
    # a field with a unit: a number is in that unit, a text is read
    "price < 100 USD": "ssd disk",
    "price < 50 dollars": "disk",
    "price < 100 EUR": "ssd tape",
    "price >= $99": "ssd",
    "price > 40 USD and price < 9,000 cents": "disk",
    "price < 10 million": "ssd",
    # no document has such a field: the passage's quantities
    "weight < 50 g": "ssd",
    "capacity >= 1 TB": "ssd tape",
    # id and text
    "id = 'tape'": "tape",
    "text contains 'WITHOUT'": "card",
    # logic
    "year > 2000 and not archived": "ssd",
    "year > 2020 or archived": "ssd disk",
    "not (year > 2020 or archived)": "tape card",
    "archived or year > 2000 and category = 'ssd'": "ssd disk",
    "NOT archived AND price < 100 USD": "ssd",
    "year>=2015 and(archived)": "disk",
}


@pytest.mark.parametrize("where", CASES)
def test_what_a_filter_selects(index: Index, where: str) -> None:
    found = {hit.id for hit in index.search("disk", k=10, where=where)}
    assert found == set(CASES[where].split())
    assert index.count(where) == len(found)
    assert index.count(f"not ({where})") == len(DOCUMENTS) - len(found), "not is the exact opposite"


MISTAKES = {
    "": "empty",
    "   ": "empty",
    "year >=": "a value",
    "year >= and": "quotes",
    ">= 2020": "name of a field",
    "(year > 3": "')'",
    "year > 3)": "'and', 'or' or the end",
    "year > 'x": "a value",
    "category = ssd": "in quotes",
    "year is 3": "'null'",
    "year in 3": "'('",
    "year in (3": "',' or ')'",
    "year not 3": "'in' or 'contains'",
    "archived > true": "only = and !=",
    "yeer > 3": "did you mean 'year'",
    "nothing = 'x'": "documents have",
    "price < 500 parsecs": "plain numbers",
    "year < 2020 kg": "plain numbers, and nothing says that they are in 'kilogram'",
    "year != 2020 kg": "plain numbers",
    "year in (5 kg, 6 kg)": "plain numbers",
    "tags contains 5 km": "not a number with a unit",
    "prize < 50 USD": "did you mean 'price'",
    "price < 5 quux and year > 3": "known unit",
    "price < 5 to 9 USD": "range",
    "year > 1e999": "too large",
    "year between 2015 and 2020": "year >= 2015 and year <= 2020",
    "category like 'ssd'": "contains",
    "year > 3 && archived": "the words 'and'",
    "year > 3||archived": "the words 'and'",
    "year > 3 and": "name of a field",
    "(" * 60 + "archived" + ")" * 60: "too deep",
    " and ".join(["archived"] * 201): "200",
    "archived" + " " * 10_000: "below 10,000",
}


MEASURED = [
    {"id": "light", "text": "x", "weight_kg": 0.29, "capacityGB": 500, "price (EUR)": "20", "age": 1,
     "mass": "290 g", "speed_km_per_h": 36, "employees": 10, "unit_price": 5, "temp_celsius": 100,
     "discount_pct": 5},
    {"id": "heavy", "text": "x", "weight_kg": 2, "capacityGB": 2000, "price (EUR)": "90", "age": 30,
     "mass": 2, "speed_km_per_h": 72, "employees": 90, "unit_price": 9, "temp_celsius": 0,
     "discount_pct": 50},
]  # fmt: skip

IN_THEIR_UNIT = {
    "weight_kg = 290 g": "light",
    "weight_kg <= 290 g": "light",
    "weight_kg < 290 g": "",
    "weight_kg > 290 g": "heavy",
    "weight_kg >= 290 g": "light heavy",
    "weight_kg in (290 g, 2 kg)": "light heavy",
    "capacityGB > 1 TB": "heavy",
    "`price (EUR)` < 50 euros": "light",
    "age < 18 months": "light",
    "speed_km_per_h > 15 m/s": "heavy",
    "employees > 50 employees": "heavy",
    "unit_price < 6 USD": "light",
    "unit_price < 6 EUR": "light",
    "temp_celsius < 50 °F": "heavy",
    "discount_pct > 10%": "heavy",
    "mass < 1 kg": "light",  # some values say their unit; a number that says none is not compared
}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return NumColBERT(StandIn()).index(MEASURED, tmp_path_factory.mktemp("measured") / "idx")


@pytest.mark.parametrize("where", IN_THEIR_UNIT)
def test_numbers_are_in_the_unit_that_their_field_names(measured: Index, where: str) -> None:
    assert {hit.id for hit in measured.search("x", where=where)} == set(IN_THEIR_UNIT[where].split())


@pytest.mark.parametrize(
    "where",
    ["weight_kg < 5 USD", "`price (EUR)` < 50 USD", "unit_price < 3 km", "employees < 5 dogs", "age > 5 %"],
)
def test_a_unit_that_a_field_of_numbers_cannot_have_is_refused(measured: Index, where: str) -> None:
    with pytest.raises(UsageError, match="character 1") as caught:
        measured.search("x", where=where)
    assert "plain numbers" in caught.value.hint


@pytest.mark.parametrize("where", MISTAKES, ids=lambda where: where[:30])
def test_a_mistake_is_shown_with_its_place(index: Index, where: str) -> None:
    with pytest.raises(UsageError) as caught:
        index.search("disk", where=where)
    assert MISTAKES[where] in f"{caught.value}"


def test_the_caret_points_at_the_mistake(index: Index) -> None:
    with pytest.raises(UsageError) as caught:
        index.count("year > 2000 and price < 5 quux")
    line, caret = caught.value.hint.splitlines()[1:]
    assert line[caret.index("^") :].startswith("5 quux")
    assert "character 25" in caught.value.message


def test_filters_come_before_ranking(index: Index) -> None:
    """k hits that fit, however many better ones do not."""
    best = index.search("The SSD holds 1 TB", k=1)[0].id
    assert best == "ssd"
    assert index.search("The SSD holds 1 TB", k=1, where="id != 'ssd'")[0].id != "ssd"


def test_texts_that_are_numbers_count_as_numbers(tmp_path: Path) -> None:
    prices = {"a": "1,234.50", "b": " 99 ", "c": "-2,000", "d": "1,23", "e": "12,345,678", "f": "1.5e3"}
    documents = [{"id": id, "text": "x", "n": price} for id, price in prices.items()]
    with NumColBERT(StandIn()).index(documents, tmp_path / "idx") as index:
        found = {hit.id for hit in index.search("x", where="n < 2,000")}
        assert found == {"a", "b", "c", "f"}
        assert index.count("n = 1234.5") == index.count("n = 12,345,678") == 1


def test_a_bare_number_over_texts_with_units_is_refused(tmp_path: Path) -> None:
    documents = [
        {"id": str(n), "text": "x", "price": f"${n}", "kind": "ssd", "mixed": [7, "7 kg"][n % 2]}
        for n in (3, 4)
    ]
    with NumColBERT(StandIn()).index(documents, tmp_path / "idx") as index:
        for where in ("price < 4", "price = 3", "not price in (3, 4)"):
            with pytest.raises(UsageError) as caught:
                index.count(where)
            assert "write the unit" in caught.value.hint
        assert index.count("price < 4 USD") == 1
        assert index.count("mixed < 9") == 1  # some are numbers
        assert index.count("kind = 5") == index.count("id < 'x' and text = 5") == 0


def test_an_empty_selection_gives_no_hits(index: Index) -> None:
    assert list(index.search("disk", where="year > 3000")) == []


def test_a_field_that_is_new_is_known_at_once(tmp_path: Path) -> None:
    with NumColBERT(StandIn()).index(["plain"], tmp_path / "idx") as index:
        with pytest.raises(UsageError, match="colour"):
            index.count("colour = 'red'")
        index.add([{"id": "x", "text": "y", "colour": "red"}])
        assert index.count("colour = 'red'") == 1


def test_a_repeated_filter_sees_every_change(tmp_path: Path) -> None:
    with NumColBERT(StandIn()).index([{"id": "a", "text": "x", "n": 1}], tmp_path / "idx") as index:
        for n in range(2, 5):
            assert index.count("n > 0") == index.count("n > 0") == n - 1
            index.add([{"id": f"d{n}", "text": "y", "n": n}])
        for i in range(20):  # more than are kept
            assert index.count(f"n > {i}") == sum(n > i for n in range(1, 5))
        assert len(index.collection.view.selected) == 8
        assert len(index.collection.view.held) == 1  # whether there are numbers is asked once
