"""The published quantity score of the disjoint rankers (QBM25, QSPLADE, QColBERT)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from numcolbert.types import Operator


@dataclass(frozen=True, slots=True)
class Amount:
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """The query's condition in the words of the extractor that also reads the passages."""

    operator: Operator
    value: float
    unit: str
    high: float | None = None
    """Upper end where the operator is a range; `value` is then the lower."""


def quantity_score(wanted: Wanted, amounts: Iterable[Amount]) -> float:
    """Mean agreement over the passage's values in the query's unit, 0 where there is none.

    Units are compared by name, without conversion, as published.
    """
    agreements = [_agreement(wanted, amount.value) for amount in amounts if amount.unit == wanted.unit]
    return sum(agreements) / len(agreements) if agreements else 0.0


def _agreement(wanted: Wanted, value: float) -> float:
    match wanted.operator:
        case "=":
            return math.exp(-abs(wanted.value - value))
        case ">" | ">=":
            satisfied = value > wanted.value or (wanted.operator == ">=" and value == wanted.value)
            return _ratio(wanted.value, value) if satisfied else 0.0
        case "<" | "<=":
            satisfied = value < wanted.value or (wanted.operator == "<=" and value == wanted.value)
            return _ratio(value, wanted.value) if satisfied else 0.0
        case "range":
            # Not published; inside is as good as it gets.
            inside = wanted.value <= value <= (wanted.value if wanted.high is None else wanted.high)
            return 1.0 if inside else 0.0


def _ratio(smaller: float, larger: float) -> float:
    """smaller / larger, held in 0..1: with negative numbers or zero the published ratio has no meaning."""
    if larger == 0:
        return 1.0 if smaller == 0 else 0.0
    return min(1.0, max(0.0, smaller / larger))
