from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from types import ModuleType

import pytest
from tests.data.test_triples import CONCEPTS, tiny_pool

from numcolbert.data.clear_names import ClearNames
from numcolbert.data.corpus_source import CorpusSource
from numcolbert.data.held_out import HeldOut
from numcolbert.data.pool import Concept
from numcolbert.data.triple_settings import TripleSettings
from numcolbert.data.triples import TripleStream
from numcolbert.data.vocabulary import Vocabulary

USD, EUR = "currency:USD", "currency:EUR"
PAIRS = [
    (Concept("revenue", ("sales", "turnover")), USD),
    (Concept("construction revenue", ("revenue", "building revenue")), USD),
    (Concept("segment earnings", ("earnings", "profit of the segment")), USD),
    (Concept("adjusted earnings", ("earnings",)), USD),
    (Concept("segment earnings", ("earnings",)), EUR),
    (Concept("dose", ("dosage",)), USD),
    (Concept("maximal dosage", ("dosage",)), USD),
]


@pytest.mark.parametrize(
    ("phrase", "pair", "clear"),
    [
        ("revenue", 0, True),
        ("turnover", 0, True),
        ("revenue", 1, False),
        ("Revenue", 1, False),
        ("building revenue", 1, True),
        ("earnings", 2, False),
        ("earnings", 4, True),
        ("profit of the segment", 2, True),
        ("dosage", 5, True),
        ("dosage", 6, False),
        ("words of nobody", 0, True),
    ],
)
def test_a_phrase_names_one_concept(phrase: str, pair: int, clear: bool) -> None:
    assert ClearNames(PAIRS).is_clear(phrase, pair) is clear


def test_queries_ask_by_clear_names() -> None:
    revenue, *others = CONCEPTS  # the dividend is in dollars too
    pool = replace(tiny_pool(), concepts=[replace(revenue, variants=("dividend", "another word")), *others])
    for clear in (False, True):
        settings = TripleSettings(concept_expansion=1.0, two_conditions=0, clear_names=clear)
        stream = TripleStream([pool], seed=3, mix={"tiny": 1.0}, settings=settings)
        queries = [
            triple.query.lower()
            for triple in stream.next_block(400)
            if stream.pairs[triple.conditions[0].pair][0] == revenue.name
        ]
        assert any("another word" in query for query in queries)
        taken_for_another = [query for query in queries if "dividend" in query]
        assert bool(taken_for_another) != clear


def test_concepts_with_an_unclear_name_in_common_are_told_apart() -> None:
    """Revenue and dividend are in dollars; here both are kinds of income."""
    _, margin, length, size, _ = CONCEPTS
    both = [Concept(f"{kind} income", ("income",)) for kind in ("first", "second")]
    pool = replace(tiny_pool(), concepts=[both[0], margin, length, size, both[1]])
    for clear in (False, True):
        settings = TripleSettings(clear_names=clear)
        source = CorpusSource(pool, Vocabulary(), HeldOut(), settings)
        names = [concept.name for concept, _ in source.pairs()]
        near = source.neighbour(names.index("first income"), Random(1))
        assert (near is not None and names[near]) == (clear and "second income")


def test_unclear_names_are_counted(
    tmp_path: Path, script: Callable[[str], ModuleType], capsys: pytest.CaptureFixture[str]
) -> None:
    revenue, *others = CONCEPTS
    replace(tiny_pool(), concepts=[replace(revenue, variants=("dividend",)), *others]).save(tmp_path / "pool")
    assert script("unclear_names").main([str(tmp_path / "pool"), "--draws", "2000"]) == 0
    counts = json.loads(capsys.readouterr().out)
    assert 0 < counts["unclear"] == counts["the name of another"] < counts["by a variant"] < 1200
