"""Concepts that are easily taken for one another, as negatives and as neighbours in a batch."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from tests.data.test_triples import CONCEPTS, meets, tiny_pool

from numcolbert.data.confusable import are_confusable, phrases_of
from numcolbert.data.held_out import HeldOut
from numcolbert.data.pool import Concept, Pool
from numcolbert.data.triple import QueryCondition
from numcolbert.data.triple_settings import NegativeShares, TripleSettings
from numcolbert.data.triples import TripleStream

TRADE, BUDGET = "trade deficit", "budget deficit"
ONLY_CONFUSABLE = NegativeShares(
    observed=0, twin=0, rewritten=0, other_concept=0, unit=0, random=0, confusable=1
)


@pytest.fixture(scope="module")
def pool() -> Pool:
    """The tiny pool, whose two sums of money are deficits now."""
    trade, budget = Concept(TRADE, ("trade gap",)), Concept(BUDGET, ("shortfall",))
    return replace(tiny_pool(), concepts=[trade, *CONCEPTS[1:4], budget])


def of_pool(pool: Pool, settings: TripleSettings, count: int) -> list[tuple[str, QueryCondition, list[str]]]:
    """(concept asked for, condition, concepts in the negative that have a value that satisfies it)"""
    stream = TripleStream([pool], seed=3, mix={"tiny": 1.0}, settings=settings)
    drawn = []
    for triple in stream.next_block(count):
        (condition,) = triple.conditions
        answers = [
            stream.pairs[q.pair][0]
            for q in triple.negative.quantities
            if q.pair >= 0
            and q.dimension == condition.dimension
            # as if it had been asked for this pair
            and meets(replace(condition, pair=q.pair), replace(triple.negative, quantities=[q]))
        ]
        drawn.append((stream.pairs[condition.pair][0], condition, answers))
    return drawn


@pytest.mark.parametrize(
    ("one", "other", "confusable"),
    [
        (["trade deficit"], ["budget deficit"], True),
        (["net income", "profit after tax"], ["operating income"], True),
        (["sales"], ["same-store sales"], False),  # a case of it
        (["revenue", "sales"], ["same-store sales", "comps"], False),
        (["net income"], ["net income"], False),
        (["net income"], ["head count"], False),
        (["cost of goods"], ["rate of return"], False),  # "of" is no word in common
        (["R&D"], ["R&D expense"], False),
        ([], ["sales"], False),
    ],
)
def test_what_is_confusable(one: list[str], other: list[str], confusable: bool) -> None:
    assert are_confusable(phrases_of(one), phrases_of(other)) is confusable
    assert are_confusable(phrases_of(other), phrases_of(one)) is confusable


def test_the_negative_has_the_right_number_beside_the_neighbour(pool: Pool) -> None:
    settings = TripleSettings(negatives=ONLY_CONFUSABLE, two_conditions=0)
    drawn = of_pool(pool, settings, 300)
    deficits = [(asked, answers) for asked, _, answers in drawn if asked in (TRADE, BUDGET)]
    other = {TRADE: BUDGET, BUDGET: TRADE}
    # One is told in billions and one in cents: often no such sentence would do, and the number is changed.
    assert all(answers in ([], [other[asked]]) for asked, answers in deficits)
    assert sum(answers != [] for _, answers in deficits) > 0.3 * len(deficits) > 30
    assert {asked for asked, _, _ in drawn} > {TRADE, BUDGET}, "others are asked for too"


def test_neighbours_follow_one_another(pool: Pool) -> None:
    def subjects(share: float) -> list[str]:
        settings = TripleSettings(same_subject=2, two_conditions=0, neighbours=share)
        return [asked for asked, _, _ in of_pool(pool, settings, 400)][::2]

    for share, least, most in ((0.0, 0.0, 0.5), (1.0, 1.0, 1.0)):
        asked = subjects(share)
        after = [b for a, b in pairwise(asked) if a == TRADE]
        found = sum(b == BUDGET for b in after) / len(after)
        assert least <= found <= most


def test_attributes_have_neighbours_that_are_not_held_out() -> None:
    settings = TripleSettings(negatives=ONLY_CONFUSABLE, neighbours=1.0, two_conditions=0)
    stream = TripleStream([], seed=3, settings=settings)
    asked = [stream.pairs[triple.conditions[0].pair] for triple in stream.next_block(300)]
    moved = [(a, b) for a, b in pairwise(asked) if a != b]
    shared = [not set(a[0].split()).isdisjoint(b[0].split()) for a, b in moved]
    assert sum(shared) > 50
    held_out = HeldOut(pairs=frozenset(asked[:40]))
    kept = TripleStream([], seed=3, settings=settings, held_out=held_out)
    assert held_out.pairs.isdisjoint(kept.pairs[t.conditions[0].pair] for t in kept.next_block(300))
