"""QSPLADE: SPLADE scores, stretched to 0..1 per query, plus the quantity score."""

from __future__ import annotations

from numcolbert.baselines.quantity_rerank import QuantityReranker
from numcolbert.baselines.quantulum import Quantulum
from numcolbert.baselines.query_condition import Conditions
from numcolbert.baselines.ranker import Ranker


def qsplade(
    splade: Ranker, reader: Quantulum, *, conditions: Conditions = "parsed", depth: int = 1000
) -> QuantityReranker:
    """`splade` is any sparse ranker, or a `RunRanker` over its run file."""
    return QuantityReranker(
        splade, reader, normalise="min-max", weight=1.0, depth=depth, conditions=conditions
    )
