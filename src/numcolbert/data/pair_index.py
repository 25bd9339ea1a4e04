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
from numcolbert.data.words import word_list
from numcolbert.quantities import satisfies
from numcolbert.quantities.conditions import APPROXIMATE_TOLERANCE, CONVERTED_TOLERANCE
from numcolbert.types import Quantity

FEWEST_VALUES = 5
FEWEST_SENTENCES = 6
FEWEST_SHARE = 0.25
"""Of a concept's mentions: a rare dimension of a frequent concept is mostly misread."""

_WORD = re.compile(r"[a-z0-9][\w&+-]*", re.IGNORECASE)
_NO_CONTENT = word_list("no_content")


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
        # Bare numbers get the position behind the last dimension.
        self._dimension = np.where(
            mentions.unit >= 0, pool.unit_dimension[mentions.unit], len(pool.dimensions)
        )
        self._low = np.where(np.isnan(mentions.base_low), mentions.base_value, mentions.base_low)
        self._high = np.where(np.isnan(mentions.base_high), mentions.base_value, mentions.base_high)
        self._words = self._word_index()
        self._spoken_cache: dict[tuple[tuple[str, str], tuple[str, ...]], NDArray[np.int64]] = {}

    def pairs(self) -> list[Pair]:
        """The pairs worth asking for."""
        totals = Counter(self.pool.mentions.concept[self.pool.mentions.concept >= 0].tolist())
        found = []
        for (concept, dimension), rows in self.pool.pairs.items():
            name, kind = self.pool.concepts[concept].name, self.pool.dimensions[dimension]
            sentences = len(np.unique(self.pool.mentions.sentence[rows]))
            values = len(np.unique(self.pool.mentions.base_value[rows]))
            if (
                # Only concepts of the table have names that are sure to mean the same.
                table().canonical(name.lower()) is None
                or (kind.startswith("count:") and "/" not in kind)
                or values < FEWEST_VALUES
                or sentences < FEWEST_SENTENCES
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
            value=float(f"{mentions.value[row]:.12g}"),
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
        """Sentences with the words, and with a number that fits if it is read as generously as possible."""
        mentions = self._spoken(pair, tuple(sorted(names)))
        fits = self._may_fit(mentions, threshold)
        return set(self.pool.mentions.sentence[mentions[fits]].tolist())

    def _spoken(self, pair: Pair, names: tuple[str, ...]) -> NDArray[np.int64]:
        """Mentions of a comparable dimension in sentences with the words, or with the pair itself."""
        key = (pair.key, names)
        if key not in self._spoken_cache:
            spoken = [np.fromiter(pair.rows, np.int32), *(self.rows_with(name) for name in names)]
            rows = np.unique(np.concatenate(spoken))
            mentions = _ranges(self._first[rows], self._first[rows + 1])
            self._spoken_cache[key] = mentions[self._comparable(pair)[self._dimension[mentions]]]
        return self._spoken_cache[key]

    def _may_fit(self, mentions: NDArray[np.int64], threshold: Threshold) -> NDArray[np.bool_]:
        """A range fits with any value in it, and "about" leaves room."""
        low, high = self._low[mentions], self._high[mentions]
        target = threshold.base_value
        room = np.where(self.pool.mentions.approximate[mentions], APPROXIMATE_TOLERANCE, CONVERTED_TOLERANCE)
        room = room * abs(target)
        match threshold.operator:
            case ">" | ">=":
                return np.asarray(high >= target) if threshold.operator == ">=" else np.asarray(high > target)
            case "<" | "<=":
                return np.asarray(low <= target) if threshold.operator == "<=" else np.asarray(low < target)
            case "range":
                return np.asarray((high >= target) & (low <= threshold.base_high))
            case _:
                return np.asarray((high >= target - room) & (low <= target + room))

    def _comparable(self, pair: Pair) -> NDArray[np.bool_]:
        """For each dimension, and last for bare numbers, whether it might be meant."""
        return np.array([*(comparable(name, pair) for name in self.pool.dimensions), True])

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


def comparable(dimension: str, pair: Pair) -> bool:
    """Points for percent, and "a share" where the concept is per share by nature."""
    if dimension == pair.dimension:
        return True
    if {dimension, pair.dimension} == {"percent", "percentage_point"}:
        return True
    if f"{dimension}/time" == pair.dimension or dimension == f"{pair.dimension}/time":
        return True  # "10 mg" of a daily drug
    return is_per_share(pair.name) and any(dimension == pair.dimension + tail for tail in PER_SHARE)


def _ranges(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """All integers of the half-open intervals, end to end."""
    lengths = ends - starts
    offsets = np.repeat(starts - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
    return np.asarray(offsets + np.arange(int(lengths.sum())), np.int64)
