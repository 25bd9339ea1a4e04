"""The pool seen from the pairs: who says what about a concept, and which sentences might."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from numcolbert.data.concept_table import CHANGES, singular, table
from numcolbert.data.mined_units import PER_SHARE, is_per_share
from numcolbert.data.pool import Pool, Unit
from numcolbert.data.thresholds import Threshold
from numcolbert.quantities import satisfies
from numcolbert.types import Quantity

FEWEST_VALUES = 5
FEWEST_SENTENCES = 8
FEWEST_UNKNOWN = 12
"""Sentences for a concept that the table does not have."""
FEWEST_SHARE = 0.1
"""Of a concept's mentions: a rare dimension of a frequent concept is mostly misread."""

_WORD = re.compile(r"[a-z0-9][\w&+-]*", re.IGNORECASE)
_NO_CONTENT = frozenset(
    ("of", "in", "on", "per", "the", "a", "an", "and", "to", "for", "from", "by", "at", "with", "as")
)


class Pair:
    """A (concept, dimension) pair with its mentions."""

    def __init__(
        self, name: str, dimension: str, mentions: Sequence[tuple[int, Quantity]], units: dict[str, Unit]
    ):
        self.key = (name, dimension)
        self.name, self.dimension = name, dimension
        self.mentions = mentions
        """(sentence, quantity); hedges are dropped, so that "about 5" is 5 and nothing else."""
        self.units = units

    @cached_property
    def rows(self) -> set[int]:
        return {row for row, _ in self.mentions}

    @cached_property
    def main_unit(self) -> Unit:
        name, _ = Counter(str(q.unit) for _, q in self.mentions).most_common(1)[0]
        return self.units[name]

    def satisfying(self, threshold: Threshold) -> set[int]:
        condition = threshold.condition()
        return {row for row, quantity in self.mentions if satisfies(quantity, condition)}

    def sentence_ends(self, *, upward: bool) -> list[tuple[float, Quantity]]:
        """For each sentence the value that decides a bound, the most extreme sentence first."""
        best: dict[int, tuple[float, Quantity]] = {}
        for row, quantity in self.mentions:
            value = _bottom(quantity) if upward else _top(quantity)
            if row not in best or (value > best[row][0]) == upward:
                best[row] = (value, quantity)
        return sorted(best.values(), key=lambda end: end[0], reverse=upward)


def _bottom(quantity: Quantity) -> float:
    return quantity.base_value if quantity.base_low is None else quantity.base_low


def _top(quantity: Quantity) -> float:
    return quantity.base_value if quantity.base_high is None else quantity.base_high


class PairIndex:
    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.units = {unit.name: unit for unit in pool.units}
        mentions = pool.mentions
        self._first = np.searchsorted(mentions.sentence, np.arange(len(pool.sentences) + 1))
        self._words = self._word_index()

    def pairs(self) -> list[Pair]:
        """The pairs worth asking for."""
        totals = Counter(self.pool.mentions.concept[self.pool.mentions.concept >= 0].tolist())
        found = []
        for (concept, dimension), rows in self.pool.pairs.items():
            name, kind = self.pool.concepts[concept].name, self.pool.dimensions[dimension]
            sentences = len(np.unique(self.pool.mentions.sentence[rows]))
            values = len(np.unique(self.pool.mentions.base_value[rows]))
            known = table().canonical(name.lower()) is not None
            if (
                kind.startswith("count:")
                or values < FEWEST_VALUES
                or sentences < (FEWEST_SENTENCES if known else FEWEST_UNKNOWN)
                or (not kind.startswith("currency:") and len(rows) < FEWEST_SHARE * totals[concept])
            ):
                continue
            found.append(self._pair(name, kind, rows))
        return found

    def _pair(self, name: str, dimension: str, rows: NDArray[np.int32]) -> Pair:
        mentions = [
            (int(self.pool.mentions.sentence[row]), replace(self._quantity(int(row)), approximate=False))
            for row in rows
        ]
        units = {str(quantity.unit): self.units[str(quantity.unit)] for _, quantity in mentions}
        return Pair(name, dimension, mentions, units)

    def _quantity(self, row: int) -> Quantity:
        mentions = self.pool.mentions
        unit = self.pool.units[mentions.unit[row]] if mentions.unit[row] >= 0 else None
        low, high = float(mentions.base_low[row]), float(mentions.base_high[row])
        return Quantity(
            value=float(mentions.value[row]),
            unit=unit.name if unit else None,
            dimension=unit.dimension if unit else "number",
            base_value=float(mentions.base_value[row]),
            span=(int(mentions.span[row, 0]), int(mentions.span[row, 1])),
            value_span=(int(mentions.value_span[row, 0]), int(mentions.value_span[row, 1])),
            low=None if np.isnan(low) else low,
            high=None if np.isnan(high) else high,
            base_low=None if np.isnan(low) else low,
            base_high=None if np.isnan(high) else high,
            approximate=bool(mentions.approximate[row]),
        )

    # -- passages that might be relevant ----------------------------------------------------------------

    def doubtful(self, parts: Sequence[tuple[Pair, Threshold, Iterable[str]]]) -> set[int]:
        """Sentences that might satisfy every part, relevant ones among them."""
        found: set[int] | None = None
        for pair, threshold, names in parts:
            possible = self._possible(pair, threshold, names)
            found = possible if found is None else found & possible
        return found or set()

    def _possible(self, pair: Pair, threshold: Threshold, names: Iterable[str]) -> set[int]:
        rows = set(pair.rows)
        for name in names:
            rows.update(self.rows_with(name).tolist())
        return {row for row in rows if self._may_satisfy(row, pair, threshold)}

    def _may_satisfy(self, row: int, pair: Pair, threshold: Threshold) -> bool:
        """Whether any quantity of the sentence could be meant and fit, read as generously as possible."""
        condition = threshold.condition()
        for mention in range(self._first[row], self._first[row + 1]):
            quantity = self._quantity(mention)
            if not _comparable(quantity.dimension, pair):
                continue
            for reading in _readings(quantity, pair.dimension):
                if satisfies(reading, condition):
                    return True
        return False

    def rows_with(self, phrase: str) -> NDArray[np.int32]:
        """Sentences with a quantity that hold all content words of the phrase."""
        stems = content_stems(phrase)
        if not stems:
            return np.empty(0, np.int32)
        rows = self._words.get(stems[0], _NONE)
        for stem in stems[1:]:
            rows = np.intersect1d(rows, self._words.get(stem, _NONE), assume_unique=True)
        return rows

    def _word_index(self) -> dict[str, NDArray[np.int32]]:
        found: defaultdict[str, list[int]] = defaultdict(list)
        for row in np.unique(self.pool.mentions.sentence).tolist():
            for stem in {stem for word in _WORD.findall(self.pool.sentences[row]) for stem in _stems(word)}:
                found[stem].append(row)
        return {stem: np.array(rows, np.int32) for stem, rows in found.items()}


_NONE = np.empty(0, np.int32)


def content_stems(phrase: str) -> list[str]:
    """The words of a phrase that a passage about it must hold; "revenue growth" may be said with any verb."""
    base, _, last = phrase.rpartition(" ")
    if base and last in CHANGES:
        phrase = base
    stems = [stem for word in _WORD.findall(phrase) for stem in _stems(word)]
    return [stem for stem in dict.fromkeys(stems) if stem not in _NO_CONTENT]


def _stems(word: str) -> list[str]:
    """Lower case, singular, and the parts of a hyphenated word."""
    return [singular(part) for part in word.lower().strip("-.").split("-") if part]


def _comparable(dimension: str, pair: Pair) -> bool:
    """Dimensions that a person might take for the pair's: bare numbers, points for percent, "a share"."""
    if dimension in (pair.dimension, "number"):
        return True
    if {dimension, pair.dimension} == {"percent", "percentage_point"}:
        return True
    if is_per_share(pair.name):
        return any(dimension == pair.dimension + tail for tail in PER_SHARE)
    return False


def _readings(quantity: Quantity, dimension: str) -> Iterable[Quantity]:
    """The quantity itself, and each end of a range: "5 to 7%" might be meant by "above 6%"."""
    same = replace(quantity, dimension=dimension)
    yield same
    for end in (quantity.base_low, quantity.base_high):
        if end is not None:
            yield replace(same, base_value=end, base_low=None, base_high=None, low=None, high=None)
    if quantity.is_range:
        yield replace(same, base_low=None, base_high=None, low=None, high=None)
