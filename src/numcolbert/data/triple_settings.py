"""What a triple stream is made of, as one table of shares."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, fields
from itertools import accumulate
from random import Random

from numcolbert.data.triple import OPERATORS
from numcolbert.errors import UsageError
from numcolbert.types import Operator


@dataclass(frozen=True)
class OperatorShares:
    """How often each operator is asked for; weights, they need not sum to 1."""

    equal: float = 0.28
    greater: float = 0.28
    less: float = 0.32
    """A little more than the others: `<` is the operator models learn last."""
    at_least: float = 0.04
    at_most: float = 0.04
    between: float = 0.04


@dataclass(frozen=True)
class NegativeShares:
    """Where the negative of a numeric triple comes from; weights."""

    observed: float = 0.34
    """Another passage about the same pair whose value violates the condition."""
    twin: float = 0.30
    """The positive's own sentence with only the number changed."""
    rewritten: float = 0.10
    """Another passage about the same pair with a value written into it that violates the condition."""
    other_concept: float = 0.10
    """The right number beside the wrong concept."""
    unit: float = 0.06
    """The positive's own sentence with a unit that breaks the label."""
    random: float = 0.10
    """Any passage."""
    confusable: float = 0.0
    """The right number beside a concept that is easily taken for the asked one; where there is none, beside
    any other."""


@dataclass(frozen=True)
class TripleSettings:
    operators: OperatorShares = field(default_factory=OperatorShares)
    negatives: NegativeShares = field(default_factory=NegativeShares)
    two_conditions: float = 0.03
    """Share of queries with two conditions, both of which the positive satisfies."""
    same_subject: int = 1
    """Triples in a row about the same concept and dimension. In one batch they are each other's hard
    negatives, or known answers, so that a query is compared with that many times as many numbers."""
    neighbours: float = 0.0
    """Share of subjects that are easily taken for the source's last one, so that a batch holds passages about
    both. What few triples in a row are to numbers, these are to concepts."""
    minimum_values: int = 5
    """Distinct values a pair needs before it is asked about."""
    pair_temper: float = 0.5
    """Pairs are drawn by frequency to this power: 1 as they are, 0 all alike."""
    positive_rewritten: float = 0.5
    """Share of positives whose value was rewritten, so that an edited sentence is no sign of a negative."""
    positive_other_unit: float = 0.08
    """Share of positives restated in another unit of the dimension."""
    near_threshold: float = 0.6
    """Share of drawn values that lie close to the threshold or share its digits."""
    at_threshold: float = 0.15
    """Share of values drawn to violate a strict bound, or to satisfy an inclusive one, that are the threshold
    itself."""
    observed_threshold: float = 0.4
    """Share of thresholds that are a value observed for the pair, not a drawn one."""
    query_other_unit: float = 0.2
    """Share of queries asked in another unit than the positive's."""
    concept_expansion: float = 0.45
    """Share of queries that name the concept by a variant."""
    synonyms: float = 0.0
    """Share of queries that exchange words of that phrase for others (`synonyms.toml`)."""
    acronyms: float = 0.0
    """Share of queries that name a concept of several words by its initials."""
    passage_acronyms: float = 0.0
    """Share of triples whose passages do, in place of the names that stand there."""
    clear_names: bool = False
    """Ask by the concept's own name where a variant is the name of another concept, or a part of its own
    ("revenue" of "construction revenue") that others share."""
    below_zero: float = 0.0
    """Share of the sentences with a positive value of something that may be negative ("margin", "cash flow")
    that stand a second time in the pool, with that value below zero. Corpora have few of them."""
    distractors: float = 0.12
    """Share of queries with a number that carries no condition."""
    references: float = 0.0
    """Share of triples about attributes whose passages hold a number that is not the thing's own and would
    satisfy the condition, and, drawn apart, share of those whose query ends in a measure ("per 100 g")."""
    other_kinds: float = 0.0
    """Share of triples about attributes whose negative tells the right number of another kind of thing: an
    aircraft's speed where ships are asked for. Both passages say what kind of thing they are about."""
    other_kinds_converted: float = 0.0
    """Share of these whose query asks in the negative's unit and not in the positive's: the right unit is no
    sign of the right thing."""
    other_kinds_usual: float = 0.0
    """Share of these whose negative tells a figure that is usual for its own kind, of any kind that has one
    in the dimension asked for: how far an aircraft flies where long rivers are asked for."""
    unnamed: float = 0.0
    """Share of triples about attributes whose query does not name the concept, but says it with a verb or a
    comparative: "ships that make more than 30 knots", "ships faster than 30 knots"."""
    long_queries: float = 0.5
    """Share of question-like queries of 8 to 15 words."""

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, float) and item.name != "pair_temper" and not 0 <= value <= 1:
                raise UsageError(f"'{item.name}' is {value}.", hint="a share lies between 0 and 1")
        if self.same_subject < 1:
            raise UsageError(f"'same_subject' is {self.same_subject}.", hint="it is 1 or more")
        for shares in (self.operators, self.negatives):
            weights = [getattr(shares, item.name) for item in fields(shares)]
            if min(weights) < 0 or sum(weights) <= 0:
                raise UsageError(
                    f"The weights of {type(shares).__name__} are {weights}.",
                    hint="none may be negative and one must be positive",
                )


class Drawing:
    """Draws a name by weight with one random number."""

    def __init__(self, weights: dict[str, float]) -> None:
        total = sum(weights.values())
        self._names = list(weights)
        self._steps = [step / total for step in accumulate(weights.values())]

    def __call__(self, rng: Random) -> str:
        return self._names[min(bisect_right(self._steps, rng.random()), len(self._names) - 1)]


class OperatorDrawing:
    def __init__(self, shares: OperatorShares, *, simple: bool = False) -> None:
        weights = [getattr(shares, item.name) for item in fields(shares)]
        if simple:  # a range cannot be half of a two-condition query
            weights[-1] = 0.0
        total = sum(weights)
        self._steps = [step / total for step in accumulate(weights)]

    def __call__(self, rng: Random) -> Operator:
        return OPERATORS[min(bisect_right(self._steps, rng.random()), len(OPERATORS) - 1)]
