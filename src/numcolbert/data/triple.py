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


EQUAL_WITHIN = 1e-6
"""Relative difference up to which two base values are the same: conversion and rounding stay below it."""

ROUNDED_WITHIN = 5e-3
"""The same for values in different units, which people round."""


def same_value(one: float, other: float) -> bool:
    return abs(one - other) <= EQUAL_WITHIN * max(abs(one), abs(other))


def is_borderline(one: float, other: float) -> bool:
    """Whether two values in different units might be meant as the same: 310 miles and 500 kilometres."""
    return not same_value(one, other) and abs(one - other) < ROUNDED_WITHIN * max(abs(one), abs(other))


def satisfies(operator: Operator, value: float, low: float, high: float) -> bool:
    """Whether a base value meets the operator at `low` (from `low` to `high`, inclusive, for a range)."""
    above = value - low
    slack = EQUAL_WITHIN * abs(low)
    if operator == ">":
        return above > slack
    if operator == "<":
        return above < -slack
    if operator == "=":
        return -slack <= above <= slack
    if operator == ">=":
        return above >= -slack
    if operator == "<=":
        return above <= slack
    return above >= -slack and value - high <= EQUAL_WITHIN * abs(high)


def passage_satisfies(condition: QueryCondition, passage: Passage) -> bool:
    """Whether any quantity of the passage describes the condition's concept and satisfies it."""
    pair, operator = condition.pair, condition.operator
    low, high = condition.base_value, condition.base_high
    for quantity in passage.quantities:
        if quantity.pair == pair and satisfies(operator, quantity.base_value, low, high):
            return True
    return False


def labels_hold(conditions: Sequence[QueryCondition], positive: Passage, negative: Passage) -> bool:
    """Whether the finished passages are what a triple says: one satisfies every condition, the other not."""
    if not all(passage_satisfies(condition, positive) for condition in conditions):
        return False
    return positive.text != negative.text and not all(passage_satisfies(c, negative) for c in conditions)
