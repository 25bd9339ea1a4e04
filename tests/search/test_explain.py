"""Explanations add up to the score, and rerank gives the scores of search."""

from __future__ import annotations

import pytest
from tests.standin import GATE, StandIn

from numcolbert.api import Index, NumColBERT
from numcolbert.errors import InputError, NotFoundError, UsageError

DOCUMENTS = [
    {"id": "big", "text": "The SSD holds 1 TB for 90 dollars.", "year": 2020},
    {"id": "small", "text": "The SSD holds 256 GB."},
    {"id": "link", "text": "The link moves 600 Mbps."},
]
QUERY = "SSD above 500 GB"


@pytest.fixture(scope="module", params=["flat", "plaid"])
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("explain") / "idx"
    return NumColBERT(StandIn()).index(DOCUMENTS, folder, engine=request.param)


def test_contributions_add_up_to_the_score_of_the_hit(index: Index) -> None:
    for hit in index.search(QUERY, k=3):
        found = index.explain(QUERY, hit.id)
        assert found.score == pytest.approx(hit.score, rel=1e-4)
        assert found.relevance == pytest.approx(hit.relevance, rel=1e-4)
        assert sum(match.contribution for match in found.tokens) == pytest.approx(found.score)
        assert sum(match.share for match in found.tokens) == pytest.approx(1)
        ungated = {h.id: h for h in index.search(QUERY, k=3, gate=False)}[hit.id]
        assert found.score_without_gate == pytest.approx(ungated.score, rel=1e-4)
        assert found.relevance_without_gate == pytest.approx(ungated.relevance, rel=1e-4)


def test_every_query_token_is_there_with_its_gate_and_match(index: Index) -> None:
    found = index.explain(QUERY, "small")
    by_token = {match.token: match for match in found.tokens}
    assert list(by_token) == ["[Q]", "ssd", "above", "500", "gb"]
    assert by_token["500"].gate == GATE and by_token["ssd"].gate == 1
    assert by_token["500"].probability > 0.5 > by_token["ssd"].probability
    assert by_token["gb"].matched_token == "gb"
    assert by_token["gb"].similarity == pytest.approx(1, abs=0.1)
    start, end = by_token["gb"].matched_span or (0, 0)
    assert found.text[start:end] == "GB"
    start, end = by_token["500"].span or (0, 0)
    assert QUERY[start:end] == "500"


def test_conditions_and_quantities_are_judged(index: Index) -> None:
    big = index.explain(QUERY, "big")
    assert big.satisfies is True and big.metadata == {"year": 2020}
    assert [(j.quantity.unit, j.satisfies) for j in big.quantities] == [("terabyte", True), ("USD", None)]
    assert index.explain(QUERY, "small").satisfies is False
    assert index.explain(QUERY, "link").satisfies is None


def test_an_unknown_document_or_empty_query_is_refused(index: Index) -> None:
    with pytest.raises(NotFoundError, match="'nobody'"):
        index.explain(QUERY, "nobody")
    with pytest.raises(InputError):
        index.explain(" ", "big")


def test_reranking_gives_the_scores_of_an_exact_search() -> None:
    model = NumColBERT(StandIn())
    results = model.rerank(QUERY, DOCUMENTS)
    for hit in results:
        found = model.explain(QUERY, hit.text)
        assert hit.score == pytest.approx(found.score)
        assert hit.satisfies is found.satisfies
    assert [hit.score for hit in results] == sorted((hit.score for hit in results), reverse=True)
    assert len(model.rerank(QUERY, DOCUMENTS, k=1)) == 1
    verified = model.rerank(QUERY, DOCUMENTS, verify=True)
    assert [hit.id for hit in verified] == ["big"] and verified.dropped == 2
    assert [hit.id for hit in model.rerank(QUERY, ["first", "second"])] in (["0", "1"], ["1", "0"])
    assert list(model.rerank(QUERY, [])) == []


def test_reranking_refuses_what_it_cannot_score() -> None:
    model = NumColBERT(StandIn())
    with pytest.raises(InputError):
        model.rerank("", DOCUMENTS)
    with pytest.raises(InputError, match="no text"):
        model.rerank(QUERY, ["fine", ""])
    with pytest.raises(UsageError):
        model.rerank(QUERY, DOCUMENTS, k=0)
