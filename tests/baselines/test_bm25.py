"""BM25 on a collection small enough to score by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numcolbert.baselines.bm25 import BM25
from numcolbert.baselines.ranker import Query
from numcolbert.baselines.words import stem, words
from numcolbert.errors import InputError, UsageError
from numcolbert.types import Document

pytest.importorskip("bm25s")

CORPUS = [
    Document("d1", "revenue revenue profit"),
    Document("d2", "profit margin"),
    Document("d3", "revenue 2.5 billion dollars"),
    Document("d4", "weather"),
]
LENGTHS = {"d1": 3, "d2": 2, "d3": 4, "d4": 1}
AVERAGE = 10 / 4


def by_hand(tf: int, df: int, length: int, average: float = AVERAGE, count: int = 4) -> float:
    """Lucene's formula."""
    idf = math.log(1 + (count - df + 0.5) / (df + 0.5))
    return idf * tf / (tf + 1.5 * (1 - 0.75 + 0.75 * length / average))


def test_scores_by_hand() -> None:
    ranker = BM25()
    ranker.index(CORPUS)
    run = ranker.search([Query("q", "Revenues of 2.5 billion")], 10)
    assert list(run["q"]) == ["d3", "d1"]
    assert run["q"]["d1"] == pytest.approx(by_hand(2, 2, 3), rel=1e-5)
    assert run["q"]["d3"] == pytest.approx(by_hand(1, 2, 4) + 2 * by_hand(1, 1, 4), rel=1e-5)


def test_scores_are_bm25s() -> None:
    ranker = BM25()
    ranker.index(CORPUS)
    for text in ("revenue profit", "revenue revenue margin", "2.5 billion weather"):
        assert ranker.scores(text) == pytest.approx(ranker._index.get_scores(words(text)))


def test_binary_counts_a_word_once() -> None:
    ranker = BM25(binary=True)
    ranker.index(CORPUS)
    scores = ranker.scores("revenue")
    assert scores[0] == pytest.approx(by_hand(1, 2, 2, average=9 / 4), rel=1e-5)


def test_concept_only() -> None:
    ranker = BM25("concept")
    ranker.index(CORPUS)
    run = ranker.search([Query("q", "revenue over 2.5 billion dollars", concept="revenue")], 10)
    assert list(run["q"]) == ["d1", "d3"]
    with pytest.raises(InputError, match="'q' has no concept"):
        ranker.search([Query("q", "revenue")], 10)


def test_a_query_without_a_match_gets_an_empty_ranking() -> None:
    ranker = BM25()
    ranker.index(CORPUS)
    assert ranker.search([Query("q", "xylophone")], 10) == {"q": {}}


def test_ties_are_cut_in_the_order_of_the_collection() -> None:
    ranker = BM25()
    ranker.index([Document(str(i), "same words") for i in range(50)])
    assert list(ranker.search([Query("q", "words")], 3)["q"]) == ["0", "1", "2"]


def test_containing_all() -> None:
    ranker = BM25()
    ranker.index(CORPUS)
    assert ranker.containing_all("revenue profits").tolist() == [0]
    assert ranker.containing_all("profit").tolist() == [0, 1]
    assert ranker.containing_all("profit xylophone").tolist() == []
    assert ranker.containing_all("the").tolist() == []


def test_wrong_use() -> None:
    with pytest.raises(UsageError, match="no collection"):
        BM25().search([Query("q", "a")], 1)
    with pytest.raises(InputError, match="no words"):
        BM25().index([Document("d", "...")])


def test_words() -> None:
    assert words("The companies' revenues: $1,250.5, up 3%") == [
        "companies'",
        "revenue",
        "$",
        "1,250.5",
        "up",
        "3",
        "%",
    ]
    assert [stem(w) for w in ("policies", "losses", "gas", "us", "class", "trees")] == [
        "policy", "losse", "gas", "us", "class", "tree",
    ]  # fmt: skip


@given(st.text(max_size=80))
def test_words_never_fail(text: str) -> None:
    assert all(words(text)) or words(text) == []
