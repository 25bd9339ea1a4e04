"""Query to hits: scores, the gate, verification, and what a query may not be."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from tests.standin import GATE, StandIn

from numcolbert.api import Index, NumColBERT
from numcolbert.errors import InputError
from numcolbert.types import Document

DOCUMENTS = [Document(f"d{i}", f"drive number {i} holds {i * 100} GB") for i in range(30)]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return NumColBERT(StandIn()).index(DOCUMENTS, tmp_path_factory.mktemp("searcher") / "idx")


def maxsim(query: str, text: str, *, gate: bool) -> float:
    """By the book, for one pair."""
    encoder = StandIn()
    q = encoder.encode_queries([query])[0]
    vectors = q.vectors if gate else q.ungated()
    document = encoder.encode_documents([text])[0].vectors
    return float((vectors @ document.T).max(axis=1).sum())


@pytest.mark.parametrize("gate", [True, False])
def test_scores_are_maxsim_with_or_without_the_gate(index: Index, gate: bool) -> None:
    query = "drives above 500 GB"
    hits = index.search(query, k=30, gate=gate)
    assert len(hits) == 30
    for hit in hits:
        assert hit.score == pytest.approx(maxsim(query, hit.text, gate=gate), abs=0.02)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_relevance_is_the_share_of_the_highest_possible_score(index: Index) -> None:
    text = DOCUMENTS[7].text
    tokens = len(StandIn().encode_queries([text])[0].tokens)
    hit = index.search(text, k=1)[0]
    assert hit.id == "d7"
    # All but the marker match themselves; two tokens are numbers.
    highest = tokens - 2 + 2 * GATE
    assert hit.relevance == pytest.approx(hit.score / highest)
    assert 0.9 < hit.relevance <= 1
    assert all(0 <= hit.relevance <= 1 for hit in index.search("nothing alike", k=30))


def test_hits_carry_quantities_and_verdicts(index: Index) -> None:
    results = index.search("drives above 500 GB", k=30)
    assert results.conditions[0].operator == ">"
    for hit in results:
        assert hit.satisfies is (int(hit.id[1:]) > 5)
        assert hit.quantities[-1].dimension == "data"
    assert all(hit.satisfies is None for hit in index.search("drives", k=3))


def test_verify_keeps_what_satisfies_in_the_same_order_and_counts_the_rest(index: Index) -> None:
    query = "drive number 3 holds above 2,500 GB"
    ranked = index.search(query, k=30)
    good = [hit.id for hit in ranked if hit.satisfies]
    verified = index.search(query, k=3, verify=True)
    assert [hit.id for hit in verified] == good[:3]
    last = [hit.id for hit in ranked].index(good[2])
    assert verified.dropped == last + 1 - 3
    everything = index.search(query, k=30, verify=True)
    assert [hit.id for hit in everything] == good
    assert everything.dropped == 30 - len(good)


def test_verify_without_a_condition_drops_nothing(index: Index) -> None:
    results = index.search("drives", k=5, verify=True)
    assert len(results) == 5 and results.dropped == 0


def test_an_encoded_query_is_searched_as_it_is(index: Index) -> None:
    encoding = StandIn().encode_queries(["drives above 500 GB"])[0]
    assert index.search(encoding, k=5).hits == index.search("drives above 500 GB", k=5).hits


def test_many_queries_give_what_each_gives_alone(index: Index) -> None:
    queries = ["drives above 500 GB", "drive number 3", "something else"]
    for query, results in zip(queries, index.search_many(queries, k=5), strict=True):
        assert results.hits == index.search(query, k=5).hits
    assert index.search_many([]) == []
    with pytest.raises(InputError):
        index.search_many(["fine", " "])


@pytest.mark.parametrize("query", ["", "   ", "\n", "x" * 100_000])
def test_queries_that_are_none(index: Index, query: str) -> None:
    with pytest.raises(InputError) as caught:
        index.search(query)
    assert len(caught.value.message) < 100


def test_a_query_without_a_number_or_with_odd_characters_is_fine(index: Index) -> None:
    for query in ("drives", "💾 ∞ ½ ١٢", "a\x00b", "'; DROP TABLE documents; --"):
        assert len(index.search(query, k=2)) == 2


def test_many_threads_search_while_one_writes(tmp_path: Path) -> None:
    index = NumColBERT(StandIn()).index(DOCUMENTS, tmp_path / "idx")
    failures: list[BaseException] = []
    stop = threading.Event()

    def search() -> None:
        try:
            while not stop.is_set():
                hits = index.search("drive number 7 holds 700 GB", k=3)
                assert hits[0].id == "d7"
        except BaseException as error:  # noqa: BLE001 - told to the main thread
            failures.append(error)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for round in range(8):
        index.add([Document("extra", f"something else in round {round}")])
        index.delete(["extra"])
    index.compact()
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(index) == 30


def test_results_behave_like_a_list(index: Index) -> None:
    results = index.search("drives", k=4)
    assert len(results) == 4 and results[0] is results.hits[0] and list(results) == list(results.hits)
    assert results.seconds > 0
    assert np.isfinite(results[0].score)
