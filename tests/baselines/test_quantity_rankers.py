"""The published quantity score and the three rankers that add it, by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numcolbert.baselines.qbm25 import QBM25
from numcolbert.baselines.qcolbert import qcolbert
from numcolbert.baselines.qsplade import qsplade
from numcolbert.baselines.quantity_rerank import RunRanker, normalised
from numcolbert.baselines.quantity_score import Amount, Wanted, quantity_score
from numcolbert.baselines.quantulum import Quantulum, mended
from numcolbert.baselines.query_condition import read_query
from numcolbert.baselines.ranker import Query
from numcolbert.errors import InputError
from numcolbert.types import Condition, Document, Quantity


@pytest.mark.parametrize(
    ("operator", "threshold", "values", "expected"),
    [
        ("=", 5, [5], 1.0),
        ("=", 5, [6], math.exp(-1)),
        ("=", 5, [5, 6], (1 + math.exp(-1)) / 2),
        (">", 5, [10], 0.5),
        (">", 5, [10, 4], 0.25),
        (">", 5, [5], 0.0),
        (">=", 5, [5], 1.0),
        ("<", 5, [4], 0.8),
        ("<", 5, [6], 0.0),
        ("<=", 5, [5], 1.0),
        (">", -5, [-2], 1.0),
        (">", -5, [3], 0.0),
        ("<", 0, [-3], 0.0),
        (">", 5, [], 0.0),
    ],
)
def test_quantity_score(operator, threshold: float, values: list[float], expected: float) -> None:
    amounts = [Amount(value, "kilogram") for value in values] + [Amount(threshold, "metre")]
    assert quantity_score(Wanted(operator, threshold, "kilogram"), amounts) == pytest.approx(expected)


def test_a_range_is_satisfied_inside() -> None:
    wanted = Wanted("range", 2, "kilogram", 4)
    assert quantity_score(wanted, [Amount(3, "kilogram"), Amount(5, "kilogram")]) == 0.5


@given(
    st.sampled_from(["=", ">", "<", ">=", "<="]),
    st.floats(-1e12, 1e12),
    st.lists(st.floats(-1e12, 1e12), max_size=5),
)
def test_the_score_stays_between_0_and_1(operator, threshold: float, values: list[float]) -> None:
    score = quantity_score(Wanted(operator, threshold, "u"), [Amount(value, "u") for value in values])
    assert 0 <= score <= 1


def test_newswire_spellings() -> None:
    assert mended("3.5 mln dlrs, 5 pct; dlrs. U.S. dollars, dlrsx") == (
        "3.5 million dollars, 5 percent; dollars. dollars, dlrsx"
    )
    assert mended("$50bn, 64m USD, 5m long, £3m") == "$50 billion, 64 million USD, 5m long, £3 million"


def test_quantulum_reads_and_remembers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: Quantulum
) -> None:
    assert [m.amount for m in reader.read("sales of 3.5 mln dlrs and US$2 billion")] == [
        Amount(3.5e6, "dollar"), Amount(2e9, "dollar"),
    ]  # fmt: skip
    first = Quantulum(tmp_path / "c.sqlite")
    expected = first.amounts(["5 kg", "none", "5 kg"])
    first.close()
    second = Quantulum(tmp_path / "c.sqlite")
    monkeypatch.setattr(second, "_read", lambda text: pytest.fail("parsed twice"))
    assert second.amounts(["5 kg", "none"]) == expected == {"5 kg": (Amount(5.0, "kilogram"),), "none": ()}


@pytest.mark.parametrize(
    ("text", "concept", "wanted"),
    [
        ("revenue above 2 billion dollars", "revenue", Wanted(">", 2e9, "dollar")),
        ("weight less than 5 kg", "weight", Wanted("<", 5, "kilogram")),
        ("weight no less than 5 kg", "weight", Wanted(">=", 5, "kilogram")),
        ("margin of 35%", "margin", Wanted("=", 35, "percentage")),
        ("margin equal to 35 percent", "margin", Wanted("=", 35, "percentage")),
        ("5 kg or more of rice", "of rice", Wanted(">=", 5, "kilogram")),
        ("weight between 3 and 5 kg", "weight", Wanted("range", 3, "kilogram", 5)),
        ("no number here", "no number here", None),
        ("which companies reported debt above $1.5bn?", "debt ?", Wanted(">", 1.5e9, "dollar")),
        ("list all reports", "list all reports", None),
    ],
)
def test_queries_are_read(reader: Quantulum, text: str, concept: str, wanted: Wanted | None) -> None:
    read = read_query(Query("q", text), reader, "parsed")
    assert (read.concept, read.wanted) == (concept, wanted)


def gold(text: str, mention: str, operator, value: float) -> Condition:
    start = text.index(mention)
    span = (start, start + len(mention))
    return Condition(operator, Quantity(value, "USD", "currency:USD", value, span, span), span)


def test_gold_conditions_use_the_benchmarks_operator_and_value(reader: Quantulum) -> None:
    text = "revenue north-ish of 2 billion dollars"
    query = Query("q", text, concept="revenue", condition=gold(text, "2 billion dollars", ">", 2e9))
    read = read_query(query, reader, "gold")
    assert (read.concept, read.wanted) == ("revenue", Wanted(">", 2e9, "dollar"))


CORPUS = [
    Document("high", "revenue of 4 billion dollars"),
    Document("low", "revenue of 1 billion dollars"),
    Document("other", "profit of 4 billion dollars"),
]
RUN = {"q": {"low": 10.0, "high": 8.0, "other": 5.0}}
QUERY = Query("q", "revenue above 2 billion dollars")


def test_qcolbert_by_hand(reader: Quantulum) -> None:
    ranker = qcolbert(RunRanker(RUN), reader)
    ranker.index(CORPUS)
    assert ranker.search([QUERY], 10)["q"] == pytest.approx(
        {"high": 0.8 + 0.5, "low": 1.0, "other": 0.5 + 0.5}
    )


def test_qsplade_by_hand(reader: Quantulum) -> None:
    ranker = qsplade(RunRanker(RUN), reader)
    ranker.index(CORPUS)
    assert ranker.search([QUERY], 10)["q"] == pytest.approx(
        {"high": 0.6 + 0.5, "low": 1.0, "other": 0.0 + 0.5}
    )


def test_only_the_first_hits_are_reranked(reader: Quantulum) -> None:
    ranker = qcolbert(RunRanker(RUN), reader, depth=1)
    ranker.index(CORPUS)
    assert list(ranker.search([QUERY], 1)["q"]) == ["low"]


def test_qbm25_by_hand(reader: Quantulum) -> None:
    pytest.importorskip("bm25s")
    ranker = QBM25(reader)
    ranker.index(CORPUS)
    run = ranker.search([QUERY], 10)
    # Both passages hold "revenue" and are equally long: text score 1. "other" lacks it.
    assert run["q"] == pytest.approx({"high": 1 + 2 * 0.5, "low": 1.0})


def test_qbm25_without_a_condition_is_bm25(reader: Quantulum) -> None:
    pytest.importorskip("bm25s")
    ranker = QBM25(reader)
    ranker.index(CORPUS)
    assert ranker.search([Query("q", "profit")], 10)["q"] == pytest.approx({"other": 1.0})


def test_normalised() -> None:
    assert normalised({"a": 4.0, "b": 2.0}, "max") == {"a": 1.0, "b": 0.5}
    assert normalised({"a": 4.0, "b": 2.0}, "min-max") == {"a": 1.0, "b": 0.0}
    assert normalised({"a": 3.0, "b": 3.0}, "min-max") == {"a": 1.0, "b": 1.0}
    assert normalised({}, "max") == {}
    assert normalised({"a": -1.0, "b": -1.0}, "max") == {"a": 1.0, "b": 1.0}
    with pytest.raises(InputError, match="turn the ranking round"):
        normalised({"a": -1.0, "b": -2.0}, "max")


def test_a_first_run_of_another_collection_is_refused() -> None:
    ranker = RunRanker({"q": {"high": 2.0, "stranger": 1.0}, "not asked": {"other stranger": 1.0}})
    ranker.index(CORPUS)
    assert ranker.search([Query("q", "x")], 1) == {"q": {"high": 2.0}}
    with pytest.raises(InputError, match="document 'stranger' for query 'q'"):
        ranker.search([Query("q", "x")], 2)


def test_a_first_run_of_another_benchmark_is_refused() -> None:
    ranker = RunRanker({"other": {"high": 2.0}})
    with pytest.raises(InputError, match="answers none of the queries; it has no 'q'"):
        ranker.search([Query("q", "revenue above 5 dollars")], 10)
