"""Triples from a mined corpus: real sentences, with the augmentations that make the number decide."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from random import Random

import numpy as np

from numcolbert.data.augment import (
    concept_phrase,
    convert,
    convertible_units,
    rewrite_value,
    value_beside,
    value_for,
)
from numcolbert.data.held_out import HeldOut
from numcolbert.data.mention_table import MentionTable
from numcolbert.data.pool import Pool, Unit
from numcolbert.data.queries import Asked, QueryStyle, render_query
from numcolbert.data.triple import (
    Passage,
    PassageQuantity,
    QueryCondition,
    Triple,
    is_borderline,
    passage_satisfies,
    satisfies,
)
from numcolbert.data.triple_settings import Drawing, OperatorDrawing, TripleSettings
from numcolbert.data.vocabulary import Vocabulary
from numcolbert.data.writing import round_to, write_quantity
from numcolbert.errors import InputError
from numcolbert.types import Operator

_TRIES = 4
_NO_SPAN = (0, 0)


class CorpusSource:
    def __init__(
        self, pool: Pool, vocabulary: Vocabulary, held_out: HeldOut, settings: TripleSettings
    ) -> None:
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
        self._other_units: dict[int, list[Unit]] = {}
        self._known_units = self._common_units()
        self._sentence_count = len(pool.sentences)

    def _common_units(self) -> list[Unit]:
        """Units that the corpus really uses: no one restates a dose in stones."""
        counts = np.bincount(np.asarray(self._table.unit)[np.asarray(self._table.unit) >= 0])
        return [self._vocabulary.units[i] for i in np.flatnonzero(counts >= 3).tolist()]

    def draw(self, rng: Random) -> Triple | None:
        """One triple, or None where the draw came to nothing; the stream then draws again."""
        if rng.random() < self.settings.two_conditions and len(self._table.together):
            return self._two(rng)
        table = self._table
        index = self._anchor(bisect_right(self._pair_steps, rng.random()), rng)
        row = table.anchor_row[index]
        pair = table.asked_pair[row]
        made = self._condition(row, pair, self._operator(rng), rng)
        if made is None:
            return None
        condition, asked = made
        positive = self._positive(row, condition, rng)
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
        self, row: int, pair: int, operator: Operator, rng: Random
    ) -> tuple[QueryCondition, Asked] | None:
        """A condition that the mention in `row` satisfies, and how it will be asked."""
        table, settings = self._table, self.settings
        value: float = table.value[row]
        base: float = table.base[row]
        number = table.unit[row]
        unit = self._vocabulary.units[number]
        dimension = unit.dimension
        low = high = value
        if operator == "range":
            low = value_beside(value, -1, rng, settings.near_threshold)
            high = value_beside(value, 1, rng, settings.near_threshold)
        elif operator != "=" and not (len(operator) == 2 and rng.random() < 0.25):
            side = -1 if operator[0] == ">" else 1
            observed = None
            if rng.random() < settings.observed_threshold:
                observed = self._observed(pair, base, side, rng)
            if observed is None:
                low = value_beside(
                    value, side, rng, settings.near_threshold, whole=dimension.startswith("count")
                )
            else:
                low = round_to((observed - unit.offset) / unit.factor, 12)
            high = low
        if rng.random() < settings.query_other_unit:
            unit, low, high = self._in_another_unit(number, unit, operator, base, low, high, rng)
        base_low, base_high = low * unit.factor + unit.offset, high * unit.factor + unit.offset
        if not satisfies(operator, base, base_low, base_high):
            return None
        concept = table.pool.concepts[table.concept[row]]
        if self._held_out.blocks(concept.name, dimension, operator, base_low):
            return None
        condition = QueryCondition(
            operator, table.pair[row], self._vocabulary.unit(unit), table.dimension[row], low, base_low,
            base_high, _NO_SPAN,
        )  # fmt: skip
        phrase = concept_phrase(concept, rng, settings.concept_expansion)
        return condition, Asked(phrase, operator, low, unit, high)

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
        self, number: int, unit: Unit, operator: Operator, base: float, low: float, high: float, rng: Random
    ) -> tuple[Unit, float, float]:
        """The threshold in another unit, rounded as far as the anchor still satisfies it."""
        other = self._other_unit(number, rng)
        if other is None:
            return unit, low, high
        exact_low, exact_high = convert(low, unit, other), convert(high, unit, other)
        for digits in (3, 4, 6):
            new_low, new_high = round_to(exact_low, digits), round_to(exact_high, digits)
            base_low = new_low * other.factor + other.offset
            base_high = new_high * other.factor + other.offset
            if is_borderline(base, base_low) or is_borderline(base, base_high):
                continue
            if satisfies(operator, base, base_low, base_high):
                return other, new_low, new_high
        return unit, low, high

    def _other_unit(self, number: int, rng: Random) -> Unit | None:
        choices = self._other_units.get(number)
        if choices is None:
            choices = convertible_units(self._vocabulary.units[number], self._known_units)
            self._other_units[number] = choices
        return rng.choice(choices) if choices else None

    # ---- the passages ----------------------------------------------------------------------------------

    def _positive(self, row: int, condition: QueryCondition, rng: Random) -> Passage:
        settings = self.settings
        sentence = self._table.sentence[row]
        drawn = rng.random()
        if drawn < settings.positive_rewritten:
            changed = self._rewritten(row, condition, True, rng)
            if changed is not None:
                return changed
        elif drawn < settings.positive_rewritten + settings.positive_other_unit:
            other = self._other_unit(self._table.unit[row], rng)
            if other is not None:
                unit = self._vocabulary.units[self._table.unit[row]]
                value = round_to(convert(self._table.value[row], unit, other), 6)
                base = value * other.factor + other.offset
                ends = (condition.base_value, condition.base_high)
                if not any(is_borderline(base, end) for end in ends):
                    changed = self._with_quantity(row, value, other, rng)
                    if passage_satisfies(condition, changed):
                        return changed
        return self._table.passage(sentence)

    def _negative(self, row: int, pair: int, condition: QueryCondition, rng: Random) -> Passage | None:
        kind = self._negative_kind(rng)
        found: Passage | None = None
        if kind == "observed":
            found = self._observed_negative(pair, condition, rng)
        elif kind == "other_concept":
            found = self._other_concept(row, condition, rng)
        elif kind == "random":
            found = self._random(row, condition, rng)
        elif kind == "unit":
            found = self._other_unit_negative(row, condition, rng)
        elif kind == "rewritten":
            other = self._table.anchor_row[self._anchor(pair, rng)]
            found = self._rewritten(other, condition, False, rng)
        if found is None:  # a twin can be made of almost every sentence
            found = self._rewritten(row, condition, False, rng)
        return found or self._observed_negative(pair, condition, rng)

    def _rewritten(self, row: int, condition: QueryCondition, wanted: bool, rng: Random) -> Passage | None:
        """The row's sentence with a value that satisfies (or violates) the condition."""
        table = self._table
        sentence = table.sentence[row]
        if not wanted and not self._is_clean(sentence, condition, table.concept[row], skip=row):
            return None
        number = table.unit[row]
        unit = self._vocabulary.units[number]
        low = round_to((condition.base_value - unit.offset) / unit.factor, 12)
        high = round_to((condition.base_high - unit.offset) / unit.factor, 12)
        text = table.sentences[sentence]
        span = (table.value_start[row], table.value_end[row])
        whole = unit.dimension.startswith("count")
        for _ in range(_TRIES):
            new = value_for(
                condition.operator, low, high, wanted, rng, self.settings.near_threshold, whole=whole
            )
            changed = rewrite_value(text, span, table.value[row], new, rng)
            if changed is None:
                return None
            new_text, stated = changed
            base = stated * unit.factor + unit.offset
            if satisfies(condition.operator, base, condition.base_value, condition.base_high) == wanted:
                quantity = PassageQuantity(table.pair[row], number, table.dimension[row], base)
                return table.passage(sentence, new_text, {row: quantity})
        return None

    def _with_quantity(self, row: int, value: float, unit: Unit, rng: Random) -> Passage:
        """The row's sentence with its whole quantity, unit and all, replaced."""
        table = self._table
        sentence = table.sentence[row]
        text = table.sentences[sentence]
        text = text[: table.span_start[row]] + write_quantity(value, unit, rng) + text[table.span_end[row] :]
        dimension = self._vocabulary.dimension(unit.dimension)
        pair = table.pair[row] if dimension == table.dimension[row] else -1
        base = value * unit.factor + unit.offset
        quantity = PassageQuantity(pair, self._vocabulary.unit(unit), dimension, base)
        return table.passage(sentence, text, {row: quantity})

    def _other_unit_negative(self, row: int, condition: QueryCondition, rng: Random) -> Passage | None:
        """The same digits in a unit that breaks the label: other size, or not comparable at all."""
        table = self._table
        if not self._is_clean(table.sentence[row], condition, table.concept[row], skip=row):
            return None
        unit = self._other_unit(table.unit[row], rng)
        if unit is None or rng.random() < 0.3:
            unit = rng.choice(self._known_units)
        changed = self._with_quantity(row, table.value[row], unit, rng)
        return None if passage_satisfies(condition, changed) else changed

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
        for _ in range(_TRIES):
            start, end = sides[0] if len(sides) == 1 else rng.choice(sides)
            if rng.random() < 0.5:  # among the nearest tenth
                reach = max(8, (end - start) // 10)
                if end <= above:
                    start = max(start, end - reach)
                else:
                    end = min(end, start + reach)
            row = table.anchor_row[rng.randrange(start, end)]
            sentence = table.sentence[row]
            if self._is_clean(sentence, condition, table.concept[row]):
                return table.passage(sentence)
        return None

    def _other_concept(self, row: int, condition: QueryCondition, rng: Random) -> Passage | None:
        """A passage where a number of the right dimension satisfies the condition and means another thing."""
        table = self._table
        own = table.words[table.concept[row]]
        for _ in range(2 * _TRIES):
            other = table.anchor_row[self._anchor(bisect_right(self._pair_steps, rng.random()), rng)]
            if table.dimension[other] != condition.dimension or not own.isdisjoint(
                table.words[table.concept[other]]
            ):
                continue
            if not self._is_clean(table.sentence[other], condition, table.concept[row], skip=other):
                continue
            if satisfies(condition.operator, table.base[other], condition.base_value, condition.base_high):
                return table.passage(table.sentence[other])
            changed = self._rewritten_elsewhere(other, condition, rng)
            if changed is not None:
                return changed
        return None

    def _rewritten_elsewhere(self, row: int, condition: QueryCondition, rng: Random) -> Passage | None:
        """Another concept's sentence, given a value that would satisfy the condition."""
        changed = self._rewritten(row, condition, True, rng)
        return None if changed is None or passage_satisfies(condition, changed) else changed

    def _random(self, row: int, condition: QueryCondition, rng: Random) -> Passage | None:
        table = self._table
        for _ in range(_TRIES):
            if rng.random() < 0.5:
                sentence = rng.randrange(self._sentence_count)
            else:
                sentence = table.sentence[table.anchor_row[rng.randrange(len(table.anchor_row))]]
            if self._is_clean(sentence, condition, table.concept[row]):
                return table.passage(sentence)
        return None

    def _is_clean(self, sentence: int, condition: QueryCondition, concept: int, skip: int = -1) -> bool:
        """Whether no quantity of the sentence satisfies the condition, nor one that might mean the same.

        A quantity whose concept is unknown or shares a word with the asked one counts as such: mining is
        not perfect, and a wrong negative costs more than a lost one.
        """
        table = self._table
        own = table.words[concept]
        operator, low, high = condition.operator, condition.base_value, condition.base_high
        for row in table.rows_of(sentence):
            if row == skip or table.dimension[row] != condition.dimension:
                continue
            ends = (table.base[row], table.low[row], table.high[row])
            if any(satisfies(operator, end, low, high) for end in ends if end == end):
                other = table.concept[row]
                if other < 0 or table.pair[row] == condition.pair or not own.isdisjoint(table.words[other]):
                    return False
        return True

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
            if other is not None and self._is_clean(other, conditions[broken], table.concept[rows[broken]]):
                negative = table.passage(other)
        if negative is None:
            negative = self._rewritten(rows[broken], conditions[broken], False, rng)
        if negative is None:
            return None
        return self._triple(asked, conditions, table.passage(table.sentence[rows[0]]), negative, rng)

    def _satisfying(self, row: int, condition: QueryCondition, rng: Random) -> int | None:
        """A sentence about the row's pair, found by a few draws, that satisfies the condition."""
        table = self._table
        for _ in range(_TRIES):
            other = table.anchor_row[self._anchor(table.asked_pair[row], rng)]
            if satisfies(condition.operator, table.base[other], condition.base_value, condition.base_high):
                return table.sentence[other]
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
        if not all(passage_satisfies(c, positive) for c in conditions):
            return None
        if all(passage_satisfies(c, negative) for c in conditions) or positive.text == negative.text:
            return None
        query = render_query(asked, rng, self._styles[rng.random() < self.settings.distractors])
        for condition, span in zip(conditions, query.spans, strict=True):
            condition.span = span
        return Triple(query.text, conditions, positive, negative)
