"""Sentences again with a value below zero: text, spans and values agree."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from tests.data.test_triples import CONCEPTS, meets, tiny_pool

from numcolbert.data.augment import rewrite_value
from numcolbert.data.below_zero import SIGNS, with_values_below_zero
from numcolbert.data.pool import Concept
from numcolbert.data.triple_settings import TripleSettings
from numcolbert.data.triples import TripleStream


def test_values_of_what_may_be_negative_are_added_below_zero() -> None:
    pool = tiny_pool()
    wider = with_values_below_zero(pool, 1.0, Random(1))
    margins = int((pool.mentions.concept == 1).sum())  # "operating margin", the only one that may be
    assert len(wider.sentences) == len(pool.sentences) + margins == len(wider.sentence_ids)
    assert len(wider.mentions) == len(pool.mentions) + 2 * margins  # each sentence states revenue too
    assert [wider.sentences[i] for i in range(len(pool.sentences))] == [
        pool.sentences[i] for i in range(len(pool.sentences))
    ]
    added = wider.mentions
    for row in range(len(pool.mentions), len(added)):
        text = wider.sentences[int(added.sentence[row])]
        start, end = added.span[row]
        value = text[slice(*added.value_span[row])]
        if added.concept[row] == 1:
            assert text[start:end].startswith(SIGNS)
            assert added.value[row] == added.base_value[row] == -float(value)
            assert text[slice(*added.unit_span[row])] == "%"
        else:
            assert text[start:end].startswith("$")
            assert added.value[row] > 0
            assert float(value.split()[0]) > 0


def test_a_share_of_them() -> None:
    pool = tiny_pool()
    assert with_values_below_zero(pool, 0.0, Random(1)) is pool
    half = with_values_below_zero(pool, 0.5, Random(1))
    assert 0 < len(half.sentences) - len(pool.sentences) < 12
    assert np.array_equal(half.mentions.value, with_values_below_zero(pool, 0.5, Random(1)).mentions.value)


def test_counts_and_lengths_stay_above_zero() -> None:
    concepts = [Concept(f"{concept.name} margin") for concept in CONCEPTS]
    wider = with_values_below_zero(replace(tiny_pool(), concepts=concepts), 1.0, Random(1))
    below = wider.mentions.value < 0
    assert {wider.units[unit].dimension for unit in wider.mentions.unit[below]} == {"currency:USD", "percent"}


def test_triples_below_zero_keep_their_promise() -> None:
    settings = TripleSettings(below_zero=1.0, two_conditions=0, distractors=0)
    stream = TripleStream([tiny_pool()], seed=3, mix={"tiny": 1.0}, settings=settings)
    below = [t for t in stream.next_block(1500) if t.conditions[0].base_value < 0]
    assert len(below) > 50
    assert {t.conditions[0].operator for t in below} >= {"=", "<", ">"}
    twins = 0
    for triple in below:
        (condition,) = triple.conditions
        assert meets(condition, triple.positive)
        assert not meets(condition, triple.negative)
        twins += any(sign in triple.negative.text for sign in SIGNS)
    assert twins > 10  # a negative value is told from another one


@pytest.mark.parametrize(
    ("text", "span", "old", "new", "expected"),
    [
        ("was negative $51 million", (14, 24), -51e6, -60e6, "was negative $60 million"),
        ("was minus 0.2%", (4, 13), -0.2, -0.5, "was minus 0.5%"),
        ("was -12 %", (4, 7), -12.0, -30.0, "was -30 %"),
        ("was negative $51 million", (14, 24), -51e6, 60e6, None),
        ("was $51 million", (5, 15), -51e6, 60e6, None),
    ],
)
def test_a_negative_value_is_replaced_by_another(
    text: str, span: tuple[int, int], old: float, new: float, expected: str | None
) -> None:
    changed = rewrite_value(text, span, old, new, Random(1))
    if expected is None:
        assert changed is None
    else:
        assert changed is not None
        sentence, stated = changed
        assert sentence.rstrip("0%") == expected.rstrip("0%") or sentence == expected
        assert stated == pytest.approx(new)


def test_nothing_is_asked_below_zero_that_never_was_there() -> None:
    pool = tiny_pool()
    there = pool.mentions.concept != 2  # routes of no length: what lies beside them is negative
    value, base = pool.mentions.value * there, pool.mentions.base_value * there
    nothing = replace(pool.mentions, value=value, base_value=base)
    settings = TripleSettings(minimum_values=1, two_conditions=0)
    stream = TripleStream([replace(pool, mentions=nothing)], seed=3, mix={"tiny": 1.0}, settings=settings)
    conditions = [triple.conditions[0] for triple in stream.next_block(800)]
    assert "route length" in {stream.pairs[condition.pair][0] for condition in conditions}
    assert min(condition.base_value for condition in conditions) >= 0
