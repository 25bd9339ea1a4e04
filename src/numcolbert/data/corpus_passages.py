"""Passages of a mined corpus, as they stand or rewritten, and whether one is safe to call a negative."""

from __future__ import annotations

from random import Random

import numpy as np

from numcolbert.data.augment import convert, convertible_units, rewrite_value, value_for
from numcolbert.data.mention_table import MentionTable
from numcolbert.data.pool import Unit
from numcolbert.data.triple import (
    Passage,
    PassageQuantity,
    QueryCondition,
    is_borderline,
    passage_satisfies,
    satisfies,
)
from numcolbert.data.triple_settings import TripleSettings
from numcolbert.data.vocabulary import Vocabulary
from numcolbert.data.writing import round_to, write_quantity

TRIES = 4
_SMALLEST, _LARGEST = 0.01, 1e6
_SCALE_APART = 2000.0
_EVERYDAY = frozenset({"percent", "mass", "length", "time", "volume", "area", "temperature"})
_SHARES_KEPT = 0.85
_RAREST_UNIT = 0.005
"""Share of a dimension's mentions that a unit needs to be written by us."""


def is_natural(value: float, before: float) -> bool:
    """Whether someone would restate a value that reads `before` as `value`: not billions in cents."""
    return abs(value) >= min(_SMALLEST, abs(before)) and abs(value) <= max(_LARGEST, abs(before))


def _is_near_scale(value: float, before: float) -> bool:
    """Whether a value can take the place of another: a month in minutes cannot take that of five minutes."""
    return before != 0 and 1 / _SCALE_APART <= abs(value / before) <= _SCALE_APART


def _common_units(table: MentionTable, vocabulary: Vocabulary) -> list[Unit]:
    """Units that the corpus really uses: no one restates a dose in stones."""
    used = np.asarray(table.unit)
    counts = np.bincount(used[used >= 0], minlength=len(vocabulary.units))
    totals: dict[str, int] = {}
    for unit, count in zip(vocabulary.units, counts.tolist(), strict=True):
        totals[unit.dimension] = totals.get(unit.dimension, 0) + count
    return [
        unit
        for unit, count in zip(vocabulary.units, counts.tolist(), strict=True)
        if count >= max(3, _RAREST_UNIT * totals[unit.dimension])
    ]


class CorpusPassages:
    def __init__(self, table: MentionTable, vocabulary: Vocabulary, settings: TripleSettings) -> None:
        self._table = table
        self._vocabulary = vocabulary
        self._near, self._at = settings.near_threshold, settings.at_threshold
        self._common = _common_units(table, vocabulary)
        self._currencies = [u for u in self._common if u.dimension.startswith("currency:")]
        plain = [u for u in self._currencies if "/" not in u.name]
        self._breaking = [*plain, *(u for u in self._common if u.dimension in _EVERYDAY)] or self._common
        self._others: dict[int, list[Unit]] = {}

    def unit_of(self, row: int) -> Unit:
        number: int = self._table.unit[row]
        return self._vocabulary.units[number]

    def other_unit(self, row: int, rng: Random) -> Unit | None:
        """Another unit in which the row's value could be stated."""
        number = self._table.unit[row]
        choices = self._others.get(number)
        if choices is None:
            choices = convertible_units(self._vocabulary.units[number], self._common)
            self._others[number] = choices
        return rng.choice(choices) if choices else None

    def rewritten(self, row: int, condition: QueryCondition, wanted: bool, rng: Random) -> Passage | None:
        """The row's sentence with a value that satisfies (or violates) the condition."""
        table = self._table
        sentence = table.sentence[row]
        if not wanted and not self.is_clean(sentence, condition, table.concept[row], skip=row):
            return None
        unit = self.unit_of(row)
        low = round_to((condition.base_value - unit.offset) / unit.factor, 12)
        high = round_to((condition.base_high - unit.offset) / unit.factor, 12)
        old: float = table.value[row]
        if table.unit[row] != condition.unit and not _is_near_scale(low, old):
            return None
        text = table.sentences[sentence]
        span = (table.value_start[row], table.value_end[row])
        whole = unit.dimension.startswith("count")
        is_share = unit.dimension == "percent" and 0 <= old <= 100
        for _ in range(TRIES):
            new = value_for(condition.operator, low, high, wanted, rng, self._near, at=self._at, whole=whole)
            if is_share and new > 100 and rng.random() < _SHARES_KEPT:
                continue  # a share of a whole stays one, mostly: growth may pass a hundred
            changed = rewrite_value(text, span, old, new, rng)
            if changed is None:
                return None
            new_text, stated = changed
            if stated == 0:  # "0 patients" is right and nobody writes it
                continue
            base = stated * unit.factor + unit.offset
            if self._doubtful(table.unit[row], base, condition):
                continue
            if satisfies(condition.operator, base, condition.base_value, condition.base_high) == wanted:
                quantity = PassageQuantity(table.pair[row], table.unit[row], table.dimension[row], base)
                return table.passage(sentence, new_text, {row: quantity})
        return None

    def restated(self, row: int, condition: QueryCondition, rng: Random) -> Passage | None:
        """The row's sentence with its own amount in another unit, where it still satisfies the condition."""
        other = self.other_unit(row, rng)
        if other is None:
            return None
        before = self._table.value[row]
        value = round_to(convert(before, self.unit_of(row), other), 6)
        base = value * other.factor + other.offset
        if not is_natural(value, before) or any(
            is_borderline(base, end) for end in (condition.base_value, condition.base_high)
        ):
            return None
        changed = self._with_quantity(row, value, other, rng)
        return changed if passage_satisfies(condition, changed) else None

    def in_breaking_unit(self, row: int, condition: QueryCondition, rng: Random) -> Passage | None:
        """The same digits in a unit that breaks the label: of another size, or not comparable at all."""
        table = self._table
        if not self.is_clean(table.sentence[row], condition, table.concept[row], skip=row):
            return None
        unit = self.other_unit(row, rng)
        if unit is None or rng.random() < 0.3:
            money = table.dimension[row] == condition.dimension and self.unit_of(row) in self._currencies
            unit = rng.choice(self._currencies if money and rng.random() < 0.8 else self._breaking)
        if unit.name == self.unit_of(row).name:
            return None
        changed = self._with_quantity(row, table.value[row], unit, rng)
        return None if passage_satisfies(condition, changed) else changed

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

    def is_clean(self, sentence: int, condition: QueryCondition, concept: int, skip: int = -1) -> bool:
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
            base = table.base[row]
            if (
                satisfies(operator, base, low, high)
                or satisfies(operator, table.low[row], low, high)
                or satisfies(operator, table.high[row], low, high)
                or self._doubtful(table.unit[row], base, condition)
            ):
                other = table.concept[row]
                if other < 0 or table.pair[row] == condition.pair or not own.isdisjoint(table.words[other]):
                    return False
        return True

    @staticmethod
    def _doubtful(unit: int, base: float, condition: QueryCondition) -> bool:
        """In another unit than the query's, people round: what lies so close to the threshold is neither."""
        return unit != condition.unit and (
            is_borderline(base, condition.base_value) or is_borderline(base, condition.base_high)
        )
