"""Triples from a mined corpus: real sentences, with the augmentations that make the number decide."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING

from numcolbert.data.asking import ask
from numcolbert.data.augment import concept_phrase, convert, value_beside
from numcolbert.data.below_zero import with_values_below_zero
from numcolbert.data.clear_names import ClearNames
from numcolbert.data.confusable import Neighbours, phrases_of
from numcolbert.data.corpus_passages import TRIES, CorpusPassages, is_natural
from numcolbert.data.held_out import HeldOut
from numcolbert.data.mention_table import MentionTable
from numcolbert.data.pool import Concept, Pool, Unit
from numcolbert.data.queries import Asked, QueryStyle
from numcolbert.data.triple import (
    Passage,
    QueryCondition,
    Triple,
    is_borderline,
    labels_hold,
    passage_satisfies,
    satisfies,
)
from numcolbert.data.triple_settings import Drawing, OperatorDrawing, TripleSettings
from numcolbert.data.vocabulary import Vocabulary
from numcolbert.data.writing import round_to
from numcolbert.errors import InputError
from numcolbert.types import Operator

if TYPE_CHECKING:
    from numcolbert.data.abbreviated import Abbreviation
    from numcolbert.data.synonyms import Rewording

_NO_SPAN = (0, 0)
_AT_THE_BOUND = 0.25
"""Share of inclusive bounds that are the positive's own value."""


class CorpusSource:
    def __init__(
        self, pool: Pool, vocabulary: Vocabulary, held_out: HeldOut, settings: TripleSettings
    ) -> None:
        if settings.below_zero:
            pool = with_values_below_zero(pool, settings.below_zero, Random(pool.name))
        self.name = pool.name
        self.settings = settings
        self._held_out = held_out
        self._vocabulary = vocabulary
        self._table = table = MentionTable(pool, vocabulary, held_out, settings.minimum_values)
        if not table.pair_count:
            raise InputError(
                f"The pool '{pool.name}' has no pair with {settings.minimum_values} different values.",
                hint="mine a larger corpus, or lower minimum_values",
            )
        steps = list(accumulate((table.frequencies() ** settings.pair_temper).tolist()))
        self._pair_steps = [step / steps[-1] for step in steps]
        self._pair_steps[-1] = 1.0  # random() stays below it, whatever the division rounded to
        self._operator = OperatorDrawing(settings.operators)
        self._simple_operator = OperatorDrawing(settings.operators, simple=True)
        self._negative_kind = Drawing(vars(settings.negatives))
        self._styles = {
            flag: QueryStyle(long_share=settings.long_queries, distractor=flag) for flag in (False, True)
        }
        self._passages = CorpusPassages(table, vocabulary, settings)
        self._sentence_count = len(pool.sentences)

    def subject(self, rng: Random) -> int:
        """A pair, by its frequency."""
        return bisect_right(self._pair_steps, rng.random())

    def neighbour(self, subject: int, rng: Random) -> int | None:
        near = self._neighbours.of(subject)
        return rng.choice(near) if near else None

    def draw(self, subject: int, rng: Random) -> Triple | None:
        """One triple about the pair, or None where the draw came to nothing; the stream then draws again."""
        if rng.random() < self.settings.two_conditions and len(self._table.together):
            return self._two(rng)
        table = self._table
        row = table.anchor_row[self._anchor(subject, rng)]
        pair = table.asked_pair[row]
        operator = self._operator(rng)
        # An equal threshold leaves the positive no other value; half of the time both get a fresh one.
        fresh = operator == "=" and rng.random() < self.settings.positive_rewritten
        made = self._condition(row, pair, operator, rng, fresh=fresh)
        if made is None:
            return None
        condition, asked = made
        positive = (
            self._passages.rewritten(row, condition, True, rng)
            if fresh
            else self._positive(row, condition, rng)
        )
        if positive is None:
            return None
        negative = self._negative(row, pair, condition, rng)
        if negative is None:
            return None
        return self._triple([asked], [condition], positive, negative, rng)

    # ---- the query -------------------------------------------------------------------------------------

    def _anchor(self, pair: int, rng: Random) -> int:
        """A mention of the pair: first one of its values, then one of the mentions with that value."""
        table = self._table
        value = rng.randrange(table.pair_values[pair], table.pair_values[pair + 1])
        return rng.randrange(table.value_starts[value], table.value_starts[value + 1])

    def _condition(
        self, row: int, pair: int, operator: Operator, rng: Random, *, fresh: bool = False
    ) -> tuple[QueryCondition, Asked] | None:
        """A condition that the mention in `row` satisfies, and how it will be asked.

        A `fresh` one has a threshold near the mention's value, which is still to be written into it.
        """
        table, settings = self._table, self.settings
        base: float = table.base[row]
        unit = self._passages.unit_of(row)
        low, high = self._threshold(row, pair, operator, fresh, rng)
        if not fresh and rng.random() < settings.query_other_unit:
            unit, low, high = self._in_another_unit(row, operator, low, high, rng)
        base_low, base_high = low * unit.factor + unit.offset, high * unit.factor + unit.offset
        if low == 0 or (unit.dimension.startswith("count") and low != int(low)):
            return None
        if base_low < 0 <= base and table.anchor_base[table.pair_starts[pair]] >= 0:
            return None  # nobody asks for more than -1 acre
        if not fresh and not satisfies(operator, base, base_low, base_high):
            return None
        concept = table.pool.concepts[table.concept[row]]
        if self._held_out.blocks(concept.name, unit.dimension, operator, base_low):
            return None
        condition = QueryCondition(
            operator, table.pair[row], self._vocabulary.unit(unit), table.dimension[row], low, base_low,
            base_high, _NO_SPAN,
        )  # fmt: skip
        phrase = self._phrase(concept, pair, unit.dimension, rng)
        return condition, Asked(phrase, operator, low, unit, high)

    def _phrase(self, concept: Concept, pair: int, dimension: str, rng: Random) -> str:
        """What the query calls the concept."""
        settings = self.settings
        phrase = concept_phrase(concept, rng, settings.concept_expansion)
        if settings.synonyms and rng.random() < settings.synonyms:
            phrase = self._reworded(phrase, dimension, rng)
        if settings.acronyms and rng.random() < settings.acronyms:
            phrase = self._rewording.initials(concept.name, dimension, rng) or phrase
        if self._held_out.has_pair(phrase, dimension):
            return concept.name  # a variant of this concept is the name of a held-out one
        if settings.clear_names and not self._clear_names.is_clear(phrase, pair):
            return concept.name
        return phrase

    def _reworded(self, phrase: str, dimension: str, rng: Random) -> str:
        """With one or two parts exchanged, where there is something to exchange."""
        for _ in range(rng.choice((1, 2))):
            others = self._rewording.of(phrase, dimension)
            phrase = rng.choice(others) if others else phrase
        return phrase

    def _threshold(
        self, row: int, pair: int, operator: Operator, fresh: bool, rng: Random
    ) -> tuple[float, float]:
        """The threshold (both ends of a range) in the row's own unit."""
        table, near = self._table, self.settings.near_threshold
        value: float = table.value[row]
        unit = self._passages.unit_of(row)
        whole = unit.dimension.startswith("count")
        if operator == "range":
            below, above = (value_beside(value, side, rng, near, whole=whole) for side in (-1, 1))
            return below, above
        if fresh:
            value = value_beside(value, rng.choice((-1, 1)), rng, near, whole=whole)
            return value, value
        if operator == "=" or (len(operator) == 2 and rng.random() < _AT_THE_BOUND):
            return value, value
        side = -1 if operator[0] == ">" else 1
        if rng.random() < self.settings.observed_threshold:
            observed = self._observed(pair, table.base[row], side, rng)
            if observed is not None:
                exact = (observed - unit.offset) / unit.factor
                for digits in (3, 4, 6, 12):  # as a person would say it, unless that changes the answer
                    low = round_to(exact, digits)
                    if (low - value) * side > 0:
                        return low, low
        low = value_beside(value, side, rng, near, whole=whole)
        return low, low

    def _observed(self, pair: int, base: float, side: int, rng: Random) -> float | None:
        """A base value observed for the pair on one side of `base`."""
        table = self._table
        first, last = table.pair_starts[pair], table.pair_starts[pair + 1]
        if side < 0:
            last = bisect_left(table.anchor_base, base, first, last)
        else:
            first = bisect_right(table.anchor_base, base, first, last)
        return table.anchor_base[rng.randrange(first, last)] if first < last else None

    def _in_another_unit(
        self, row: int, operator: Operator, low: float, high: float, rng: Random
    ) -> tuple[Unit, float, float]:
        """The threshold in another unit, rounded as far as the row's value still satisfies it."""
        unit, base = self._passages.unit_of(row), self._table.base[row]
        other = self._passages.other_unit(row, rng)
        if other is None:
            return unit, low, high
        exact_low, exact_high = convert(low, unit, other), convert(high, unit, other)
        if not (is_natural(exact_low, low) and is_natural(exact_high, high)):
            return unit, low, high
        for digits in (3, 4, 6):
            new_low, new_high = round_to(exact_low, digits), round_to(exact_high, digits)
            base_low = new_low * other.factor + other.offset
            base_high = new_high * other.factor + other.offset
            if is_borderline(base, base_low) or is_borderline(base, base_high):
                continue
            if satisfies(operator, base, base_low, base_high):
                return other, new_low, new_high
        return unit, low, high

    # ---- the passages ----------------------------------------------------------------------------------

    def _positive(self, row: int, condition: QueryCondition, rng: Random) -> Passage:
        settings = self.settings
        drawn = rng.random()
        changed = None
        if drawn < settings.positive_rewritten:
            changed = self._passages.rewritten(row, condition, True, rng)
        elif drawn < settings.positive_rewritten + settings.positive_other_unit:
            changed = self._passages.restated(row, condition, rng)
        return changed or self._table.passage(self._table.sentence[row])

    def _negative(self, row: int, pair: int, condition: QueryCondition, rng: Random) -> Passage | None:
        kind = self._negative_kind(rng)
        found: Passage | None = None
        if kind == "observed":
            found = self._observed_negative(pair, condition, rng)
        elif kind == "other_concept":
            found = self._other_concept(row, condition, [], rng)
        elif kind == "confusable":
            found = self._other_concept(row, condition, self._neighbours.of(pair), rng)
        elif kind == "random":
            found = self._random(row, condition, rng)
        elif kind == "unit":
            found = self._passages.in_breaking_unit(row, condition, rng)
        elif kind == "rewritten":
            other = self._table.anchor_row[self._anchor(pair, rng)]
            found = self._passages.rewritten(other, condition, False, rng)
        if found is None:  # a twin can be made of almost every sentence
            found = self._passages.rewritten(row, condition, False, rng)
        return found or self._observed_negative(pair, condition, rng)

    def _observed_negative(self, pair: int, condition: QueryCondition, rng: Random) -> Passage | None:
        """A passage about the pair whose value violates the condition, half of the time a close one."""
        table = self._table
        first, last = table.pair_starts[pair], table.pair_starts[pair + 1]
        below = bisect_left(table.anchor_base, condition.base_value, first, last)
        above = bisect_right(table.anchor_base, condition.base_high, first, last)
        operator = condition.operator
        sides: list[tuple[int, int]] = []
        if operator in (">", ">="):
            sides = [(first, above if operator == ">" else below)]
        elif operator in ("<", "<="):
            sides = [(below if operator == "<" else above, last)]
        else:
            sides = [(first, below), (above, last)]
        sides = [side for side in sides if side[0] < side[1]]
        if not sides:
            return None
        for _ in range(TRIES):
            start, end = sides[0] if len(sides) == 1 else rng.choice(sides)
            if rng.random() < 0.5:  # among the nearest tenth
                reach = max(8, (end - start) // 10)
                if end <= above:
                    start = max(start, end - reach)
                else:
                    end = min(end, start + reach)
            row = table.anchor_row[rng.randrange(start, end)]
            sentence = table.sentence[row]
            if self._passages.is_clean(sentence, condition, table.concept[row]):
                return table.passage(sentence)
        return None

    def _other_concept(
        self, row: int, condition: QueryCondition, near: Sequence[int], rng: Random
    ) -> Passage | None:
        """A passage where a number of the right dimension satisfies the condition and means another thing:
        one of the pairs in `near`, or, where there are none, anything without a word in common.
        """
        table = self._table
        own = table.words[table.concept[row]]
        for _ in range(2 * TRIES):
            other = table.anchor_row[self._anchor(rng.choice(near) if near else self.subject(rng), rng)]
            if not near and (
                table.dimension[other] != condition.dimension
                or not own.isdisjoint(table.words[table.concept[other]])
            ):
                continue
            if not self._passages.is_clean(table.sentence[other], condition, table.concept[row], skip=other):
                continue
            if satisfies(condition.operator, table.base[other], condition.base_value, condition.base_high):
                return table.passage(table.sentence[other])
            changed = self._passages.rewritten(other, condition, True, rng)
            if changed is not None and not passage_satisfies(condition, changed):
                return changed
        return None

    @cached_property
    def _rewording(self) -> Rewording:
        # Not at the top: the table of concepts takes a tenth of a second, in every worker.
        from numcolbert.data.synonyms import Rewording

        return Rewording(self._held_out)

    @cached_property
    def _abbreviation(self) -> Abbreviation:
        from numcolbert.data.abbreviated import Abbreviation  # rewords, see above

        return Abbreviation(
            self._table.pool.concepts, self._vocabulary.pairs, self._rewording, self._held_out
        )

    @cached_property
    def _neighbours(self) -> Neighbours[int]:
        return Neighbours(
            {
                pair: (dimension, phrases_of(self._asked_by(pair, concept)))
                for pair, (concept, dimension) in enumerate(self.pairs())
            }
        )

    def _asked_by(self, pair: int, concept: Concept) -> Iterator[str]:
        """The names a query may use. What none asks by must not keep two concepts from being told apart:
        "net revenue" and "construction revenue" are both "revenue".
        """
        yield concept.name
        for variant in concept.variants:
            if not self.settings.clear_names or self._clear_names.is_clear(variant, pair):
                yield variant

    @cached_property
    def _clear_names(self) -> ClearNames:
        return ClearNames(self.pairs())

    def pairs(self) -> Iterator[tuple[Concept, str]]:
        """Concept and dimension of each pair, in order."""
        table = self._table
        for start in table.pair_starts[:-1]:
            row = table.anchor_row[start]
            yield table.pool.concepts[table.concept[row]], self._passages.unit_of(row).dimension

    def _random(self, row: int, condition: QueryCondition, rng: Random) -> Passage | None:
        table = self._table
        for _ in range(TRIES):
            if rng.random() < 0.5:
                sentence = rng.randrange(self._sentence_count)
            else:
                sentence = table.sentence[table.anchor_row[rng.randrange(len(table.anchor_row))]]
            if self._passages.is_clean(sentence, condition, table.concept[row]):
                return table.passage(sentence)
        return None

    # ---- two conditions --------------------------------------------------------------------------------

    def _two(self, rng: Random) -> Triple | None:
        """Two conditions on one sentence; the negative satisfies at most one of them."""
        table = self._table
        at = 2 * rng.randrange(len(table.together) // 2)
        rows = (table.together[at], table.together[at + 1])
        made = [self._condition(row, table.asked_pair[row], self._simple_operator(rng), rng) for row in rows]
        if made[0] is None or made[1] is None:
            return None
        conditions, asked = [made[0][0], made[1][0]], [made[0][1], made[1][1]]
        negative: Passage | None = None
        broken = rng.randrange(2)
        if rng.random() < 0.4:  # another passage that satisfies one condition and says nothing of the other
            other = self._satisfying(rows[1 - broken], conditions[1 - broken], rng)
            if other is not None and self._passages.is_clean(
                other, conditions[broken], table.concept[rows[broken]]
            ):
                negative = table.passage(other)
        if negative is None:
            negative = self._passages.rewritten(rows[broken], conditions[broken], False, rng)
        if negative is None:
            return None
        return self._triple(asked, conditions, table.passage(table.sentence[rows[0]]), negative, rng)

    def _satisfying(self, row: int, condition: QueryCondition, rng: Random) -> int | None:
        """A sentence about the row's pair, found by a few draws, that satisfies the condition."""
        table = self._table
        for _ in range(TRIES):
            other = table.anchor_row[self._anchor(table.asked_pair[row], rng)]
            if satisfies(condition.operator, table.base[other], condition.base_value, condition.base_high):
                found: int = table.sentence[other]
                return found
        return None

    # ---- together --------------------------------------------------------------------------------------

    def _triple(
        self,
        asked: list[Asked],
        conditions: list[QueryCondition],
        positive: Passage,
        negative: Passage,
        rng: Random,
    ) -> Triple | None:
        """Write the query; refuse what a look at the finished passages does not confirm."""
        if self.settings.passage_acronyms and rng.random() < self.settings.passage_acronyms:
            pairs = [condition.pair for condition in conditions]
            positive, negative = (self._abbreviation.of(one, pairs, rng) for one in (positive, negative))
        if not labels_hold(conditions, positive, negative):
            return None
        style = self._styles[rng.random() < self.settings.distractors]
        return ask(asked, conditions, positive, negative, style, rng)
