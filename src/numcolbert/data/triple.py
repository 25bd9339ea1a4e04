"""One training example, and the batch of numbers it carries beside its text.

Units and pairs are small integers: positions in the vocabularies of the stream that made the triple.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numcolbert.types import Operator, Span

OPERATORS: tuple[Operator, ...] = ("=", ">", "<", ">=", "<=", "range")


@dataclass(slots=True)
class PassageQuantity:
    pair: int
    """Which (concept, dimension) pair it belongs to; -1 where it describes no known concept."""
    unit: int
    dimension: int
    base_value: float


@dataclass(slots=True)
class Passage:
    text: str
    quantities: Sequence[PassageQuantity]


@dataclass(slots=True)
class QueryCondition:
    operator: Operator
    pair: int
    unit: int
    dimension: int
    value: float
    """As written in the query, scale word applied, in its unit; the property heads predict it."""
    base_value: float
    base_high: float
    """Upper end of a range, else equal to `base_value`."""
    span: Span
    """Characters of the quantity mention: value, scale word and unit."""


@dataclass(slots=True)
class Triple:
    query: str
    conditions: Sequence[QueryCondition]
    """Usually one; none for general retrieval pairs, which train the retrieval loss only."""
    positive: Passage
    negative: Passage
