"""QColBERT: the first thousand hits of a ColBERT, divided by the highest score, plus the quantity score."""

from __future__ import annotations

from numcolbert.baselines.quantity_rerank import QuantityReranker
from numcolbert.baselines.quantulum import Quantulum
from numcolbert.baselines.query_condition import Conditions
from numcolbert.baselines.ranker import Ranker


def qcolbert(
    colbert: Ranker, reader: Quantulum, *, conditions: Conditions = "parsed", depth: int = 1000
) -> QuantityReranker:
    """`colbert` is any late-interaction ranker, or a `RunRanker` over its run file."""
    return QuantityReranker(colbert, reader, normalise="max", weight=1.0, depth=depth, conditions=conditions)
