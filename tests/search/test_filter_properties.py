"""Whatever is typed: a filter either selects or is refused in a sentence, and nothing of it becomes SQL."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples

from numcolbert.errors import UsageError
from numcolbert.index.store import Selection, Store
from numcolbert.search.filters import parse_filter
from numcolbert.types import Condition, Document, Operator, Quantity

FIELDS = {"year", "price", "tag", "odd ' name", 'quoted " name', "ünï"}


def nowhere(condition: Selection) -> bool:
    return False


fragments = st.sampled_from([
    "year", "price", "tag", "`odd ' name`", '`quoted " name`', "ünï", "quantity", "id", "text", "and", "or",
    "not", "in", "is", "null", "contains", "true", "(", ")", ",", "=", "!=", "<", ">=", "5", "-3.5", "1e5",
    "500 USD", "$1.5 million", "3 kg", "'text'", '"it\'\'s"', "'", '"', "`", ";", "--", "/*", "?",
    "DROP TABLE documents", "2 to 3 km", "١٢", "½", "\x00", "\ud800", "9" * 400, ".", "year.sub",
])  # fmt: skip
expressions = st.one_of(st.lists(fragments, max_size=12).map(" ".join), st.text(max_size=40))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    from numcolbert.quantities import extract

    made = Store.create(Path(tmp_path_factory.mktemp("store")) / "documents.sqlite")
    with made.transaction() as generation:
        for key in range(5):
            text = f"It weighs {key} kg and costs {key}00 dollars."
            metadata = {"year": 2000 + key, "tag": ["a", key], "odd ' name": "x", 'quoted " name': key}
            made.insert(generation, key, Document(str(key), text, metadata), extract(text))
    return made


@examples(400)
@given(expression=expressions)
def test_anything_is_selected_or_refused(store: Store, expression: str) -> None:
    try:
        selection = parse_filter(expression, FIELDS, lambda condition: store.holds(condition, 1))
        keys = store.select(selection, 1)
    except UsageError as error:
        assert error.hint
    else:
        assert set(keys.tolist()) <= set(range(5))
        assert selection.sql.count("?") == len(selection.parameters)
    assert store.count() == 5


# Names that JSON writes as they are, and values without NUL, at which SQLite's JSON functions end a text.
names = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters='`"\\'), min_size=1, max_size=20
)
values = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30)


@examples(200)
@given(name=names, value=values)
def test_names_and_values_are_bound_never_written_into_the_sql(store: Store, name: str, value: str) -> None:
    quoted = value.replace("'", "''")
    selection = parse_filter(f"`{name}` = '{quoted}'", {name}, nowhere)
    assert value in selection.parameters
    assert re.fullmatch(r"\(coalesce\(CAST\(\S+( \?\))? AS TEXT\) = \?, 0\)\)", selection.sql) or name in (
        "id",
        "text",
    )
    store.select(selection, 1)


@examples(150)
@given(name=names, value=values)
def test_any_name_and_text_that_is_stored_is_found(store: Store, name: str, value: str) -> None:
    if name in ("id", "text"):
        return
    quoted = value.replace("'", "''")
    with pytest.raises(Undone), store.transaction() as generation:
        store.insert(generation, 10, Document("a", "x", {name: value}), [])
        store.insert(generation, 11, Document("b", "x", {name: value + "!"}), [])
        found = store.select(parse_filter(f"`{name}` = '{quoted}'", {name}, nowhere), generation).tolist()
        assert [key for key in found if key >= 10] == [10]
        raise Undone


class Undone(Exception):
    """Ends a transaction without a trace."""


@examples(200)
@given(
    number=st.floats(allow_nan=False, allow_infinity=False, width=32),
    operator=st.sampled_from(["<", "<=", ">", ">=", "=", "!="]),
)
def test_numbers_compare_as_in_python(store: Store, number: float, operator: str) -> None:
    compare = {
        "<": float.__lt__,
        "<=": float.__le__,
        ">": float.__gt__,
        ">=": float.__ge__,
        "=": float.__eq__,
        "!=": float.__ne__,
    }[operator]
    keys = store.select(parse_filter(f"year {operator} {number!r}", FIELDS, nowhere), 1).tolist()
    assert keys == [key for key in range(5) if compare(2000.0 + key, float(number))]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, list[Quantity]]:
    """Passages with one quantity each: points and ranges, exact and approximate, in three units."""
    from numcolbert.quantities import extract

    texts = [
        f"{about}{low} to {high} {unit}" if high else f"{about}{low} {unit}"
        for about in ("", "about ")
        for unit in ("kg", "g", "pounds")
        for low, high in (
            ("1", ""),
            ("1.001", ""),
            ("2", "3"),
            ("1000", ""),
            ("2.2", ""),
            ("0", ""),
            ("950", "1050"),
        )
    ]
    quantities = [extract(text)[0] for text in texts]
    made = Store.create(Path(tmp_path_factory.mktemp("weights")) / "documents.sqlite")
    with made.transaction() as generation:
        for key, (text, quantity) in enumerate(zip(texts, quantities, strict=True)):
            made.insert(generation, key, Document(str(key), text), [quantity])
    return made, quantities


@examples(150)
@given(
    operator=st.sampled_from(["<", "<=", ">", ">=", "="]),
    value=st.sampled_from(["0", "1", "1.001", "2", "2.5", "3", "1000", "950", "1050", "2.2", "0.45359237"]),
    unit=st.sampled_from(["kg", "g", "pounds"]),
)
def test_quantities_are_selected_by_the_rules_that_judge_hits(
    weights: tuple[Store, list[Quantity]], operator: Operator, value: str, unit: str
) -> None:
    from numcolbert.quantities import extract, satisfies

    store, quantities = weights
    threshold = extract(f"{value} {unit}")[0]
    wanted = [
        key
        for key, quantity in enumerate(quantities)
        if satisfies(quantity, Condition(operator, threshold, threshold.span))
    ]
    selection = parse_filter(f"quantity {operator} {value} {unit}", (), nowhere)
    assert store.select(selection, 1).tolist() == wanted
