"""nDCG@10, RR@10, P@10 and R@100 with numpy alone, for machines without ir-measures.

A test holds them equal to ir-measures; `numcolbert evaluate` uses the latter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

MEASURES = ("nDCG@10", "RR@10", "P@10", "R@100")

Qrels = Mapping[str, Mapping[str, int]]
Measures = Mapping[str, float]


def as_it_ranks(variants: Mapping[str, Measures]) -> Measures:
    """Of the variants in which a model was evaluated, the one it is used in: gated where it has a gate."""
    return variants["gated"] if "gated" in variants else variants["plain"]


def measure_query(ranking: Sequence[str], judged: Mapping[str, int]) -> tuple[float, float, float, float]:
    """The four measures of one query, its documents best first."""
    gains = np.array([max(judged.get(document, 0), 0) for document in ranking[:100]], np.float64)
    relevant = gains > 0
    discount = 1.0 / np.log2(np.arange(2, 12))
    ideal = np.sort(np.array([g for g in judged.values() if g > 0], np.float64))[::-1][:10]
    best = float((ideal * discount[: len(ideal)]).sum())
    top = gains[:10]
    first = np.flatnonzero(relevant[:10])
    total = len([g for g in judged.values() if g > 0])
    return (
        float((top * discount[: len(top)]).sum()) / best if best else 0.0,
        1.0 / (int(first[0]) + 1) if len(first) else 0.0,
        float(relevant[:10].sum()) / 10,
        float(relevant.sum()) / total if total else 0.0,
    )


def measure_all(rankings: Mapping[str, Sequence[str]], qrels: Qrels) -> NDArray[np.float64]:
    """[queries, measures] for the queries of `qrels`, in their order; an unranked query counts 0."""
    rows = [measure_query(rankings.get(query, ()), judged) for query, judged in qrels.items()]
    return np.array(rows, np.float64).reshape(-1, len(MEASURES))


def mean_measures(rankings: Mapping[str, Sequence[str]], qrels: Qrels) -> dict[str, float]:
    values = measure_all(rankings, qrels)
    means = values.mean(axis=0) if len(values) else np.zeros(len(MEASURES))
    return {name: round(float(value), 5) for name, value in zip(MEASURES, means, strict=True)}
