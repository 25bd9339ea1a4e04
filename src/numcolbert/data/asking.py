"""The last step of every source of numeric triples: write the query and mark its quantities."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from numcolbert.data.queries import Asked, QueryStyle, render_query
from numcolbert.data.triple import Passage, QueryCondition, Triple


def ask(
    asked: Sequence[Asked],
    conditions: Sequence[QueryCondition],
    positive: Passage,
    negative: Passage,
    style: QueryStyle,
    rng: Random,
) -> Triple:
    query = render_query(asked, rng, style)
    for condition, span in zip(conditions, query.spans, strict=True):
        condition.span = span
    return Triple(query.text, conditions, positive, negative)
