"""What is known about the numbers of a batch, and which documents satisfy which condition.

Everything is a tensor and every answer comes from one broadcast comparison: no loop over pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from numcolbert.data.triple import OPERATORS

Strategy = Literal["unit", "numeric", "joint", "separate", "none"]

TOLERANCE = 1e-9
"""Two base values within this relative distance are equal (conversion is not exact)."""


@dataclass(slots=True)
class Conditions:
    """The conditions of a batch of queries, one a row; a query may have none or several."""

    query: Tensor  # [C] long, the row of the query in the batch
    operator: Tensor  # [C] long, position in OPERATORS; -1 where there is no condition
    unit: Tensor  # [C] long, -1 for a bare number
    dimension: Tensor  # [C] long
    pair: Tensor  # [C] long, -1 where the concept is not known
    value: Tensor  # [C] float64, as written in the query
    base_value: Tensor  # [C] float64
    base_high: Tensor  # [C] float64, the upper end of a range, else base_value
    mention: Tensor  # [C, Tq] bool, the query tokens of value, scale word and unit

    def __len__(self) -> int:
        return len(self.query)

    @property
    def real(self) -> Tensor:
        """[C] bool: rows without an operator only fill a batch up to a usual size."""
        return self.operator >= 0


@dataclass(slots=True)
class DocumentQuantities:
    """The quantities of a batch of documents, padded to the same number."""

    unit: Tensor  # [D, M] long, -1 for a bare number
    dimension: Tensor  # [D, M] long, -1 where there is no quantity
    pair: Tensor  # [D, M] long, -1 where it describes no known concept
    base_value: Tensor  # [D, M] float64

    @property
    def present(self) -> Tensor:
        return self.dimension >= 0


def compares(conditions: Conditions, documents: DocumentQuantities) -> Tensor:
    """Whether each quantity's base value satisfies each condition, units aside: [C, D, M] bool."""
    value = documents.base_value  # [D, M]
    low = conditions.base_value[:, None, None]  # [C, 1, 1]
    high = conditions.base_high[:, None, None]
    equal_low, equal_high = _equal(value, low), _equal(value, high)
    above, below = (value > low) & ~equal_low, (value < low) & ~equal_low
    answers = {
        "=": equal_low,
        ">": above,
        "<": below,
        ">=": above | equal_low,
        "<=": below | equal_low,
        "range": (above | equal_low) & ((value < high) | equal_high),
    }
    answer = torch.zeros_like(equal_low)
    for position, operator in enumerate(OPERATORS):
        answer |= answers[operator] & (conditions.operator == position)[:, None, None]
    return answer & documents.present


def _equal(left: Tensor, right: Tensor) -> Tensor:
    return (left - right).abs() <= TOLERANCE * torch.maximum(left.abs(), right.abs())


def contrastive_positives(
    conditions: Conditions,
    documents: DocumentQuantities,
    strategy: Strategy,
    unit_match: Literal["unit", "dimension"] = "unit",
) -> list[Tensor]:
    """The positive sets of the contrastive loss, each [C, D] bool; two for "separate", none for "none".

    - unit: a quantity of the document has the condition's unit (or dimension, as `unit_match` says)
    - numeric: a quantity of the document satisfies the comparison, whatever its unit
    - joint: one and the same quantity does both
    - separate: unit and numeric as two objectives
    """
    if strategy == "none":
        return []
    ours, theirs = getattr(conditions, unit_match), getattr(documents, unit_match)
    same_unit = (theirs == ours[:, None, None]) & documents.present  # [C, D, M]
    if strategy == "unit":
        return [same_unit.any(dim=-1)]
    satisfied = compares(conditions, documents)
    if strategy == "numeric":
        return [satisfied.any(dim=-1)]
    if strategy == "joint":
        return [(same_unit & satisfied).any(dim=-1)]
    return [same_unit.any(dim=-1), satisfied.any(dim=-1)]


def comparable(conditions: Conditions, documents: DocumentQuantities) -> Tensor:
    """Which documents hold a quantity of each condition's dimension: [C, D] bool."""
    return (documents.dimension == conditions.dimension[:, None, None]).any(dim=-1)


def about_the_same(conditions: Conditions, documents: DocumentQuantities, queries: int) -> Tensor:
    """Which documents hold a quantity of each concept and dimension a query asks about, of any size:
    [queries, D] bool. Conditions on an unknown concept ask for nothing here.
    """
    found = _same_pair(conditions, documents).any(dim=-1)
    return _meets_all(found, conditions.pair >= 0, conditions, queries)


def known_answers(conditions: Conditions, documents: DocumentQuantities, queries: int) -> Tensor:
    """Which documents satisfy every condition of a query on the same concept: [queries, D] bool.

    Queries without a condition have no known answer.
    """
    return _meets_all(satisfying(conditions, documents), conditions.real, conditions, queries)


def satisfying(conditions: Conditions, documents: DocumentQuantities) -> Tensor:
    """Which documents satisfy each condition on its own concept: [C, D] bool."""
    same_dimension = documents.dimension == conditions.dimension[:, None, None]
    described = _same_pair(conditions, documents) & same_dimension
    return (described & compares(conditions, documents)).any(dim=-1)


def _same_pair(conditions: Conditions, documents: DocumentQuantities) -> Tensor:
    """Which quantities describe each condition's concept, where it is known: [C, D, M] bool."""
    return (documents.pair == conditions.pair[:, None, None]) & (conditions.pair >= 0)[:, None, None]


def _meets_all(met: Tensor, counted: Tensor, conditions: Conditions, queries: int) -> Tensor:
    """Which documents meet all `counted` [C] conditions of a query, of which it has some: [queries, D] bool.

    `met` [C, D] says which document meets which condition, and nothing of those that do not count.
    """
    found = torch.zeros(queries, met.shape[1], dtype=torch.long, device=met.device)
    found.index_add_(0, conditions.query, met.long())
    asked = _counts(counted, conditions, queries)
    return (found == asked[:, None]) & (asked > 0)[:, None]


def condition_counts(conditions: Conditions, queries: int) -> Tensor:
    """How many conditions each query has: [queries] long."""
    return _counts(conditions.real, conditions, queries)


def _counts(counted: Tensor, conditions: Conditions, queries: int) -> Tensor:
    """How many of the `counted` [C] conditions each query has: [queries] long."""
    found = torch.zeros(queries, dtype=torch.long, device=conditions.query.device)
    return found.index_add_(0, conditions.query, counted.long())


def candidates(answers: Tensor, target: Tensor, document_key: Tensor | None = None) -> Tensor:
    """Which documents compete for each query: its own target, and all that are not known to be right too.

    Args:
        answers: [B, D] bool, from `known_answers`.
        target: [B] long, the column of each query's own positive.
        document_key: [D] long, equal for documents with the same text: a copy of the target is no rival.
    """
    wrong = ~answers
    if document_key is not None:
        wrong &= document_key[None, :] != document_key[target][:, None]
    return wrong.scatter(1, target[:, None], True)
