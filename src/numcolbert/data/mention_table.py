"""A pool's mentions laid out for drawing: by pair in order of value, and by sentence.

Columns are memoryviews: one element costs a tenth of what it costs from a numpy array, and nothing is copied
into Python objects.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numcolbert.data.held_out import HeldOut
from numcolbert.data.plurals import plural_of
from numcolbert.data.pool import Pool, Unit
from numcolbert.data.triple import Passage, PassageQuantity
from numcolbert.data.vocabulary import Vocabulary

_WORD = re.compile(r"[a-z0-9]{3,}")
_SURFACES_KEPT = 6


def view(array: NDArray[Any]) -> Any:
    """A memoryview, typed loosely: its elements are ints or floats as the array's are."""
    return np.ascontiguousarray(array).data


class MentionTable:
    def __init__(self, pool: Pool, vocabulary: Vocabulary, held_out: HeldOut, minimum_values: int) -> None:
        self.pool = pool
        mentions = pool.mentions
        self.sentences = pool.sentences
        units = completed_units(pool)
        to_global = np.array([*vocabulary.add_units(units), -1], np.int32)  # [-1] stays -1
        dimension = np.array([vocabulary.dimension(u.dimension) for u in units] + [-1], np.int32)
        unit = to_global[mentions.unit]
        dimension_of = dimension[mentions.unit]
        pair, seen = self._pairs(pool, vocabulary, held_out, dimension_of)

        self.unit, self.dimension, self.pair = view(unit), view(dimension_of), view(pair)
        self.concept = view(mentions.concept)
        self.value, self.base = view(mentions.value), view(mentions.base_value)
        self.low, self.high = view(mentions.base_low), view(mentions.base_high)
        self.sentence = view(mentions.sentence)
        self.span_start, self.span_end = view(mentions.span[:, 0]), view(mentions.span[:, 1])
        self.value_start, self.value_end = view(mentions.value_span[:, 0]), view(mentions.value_span[:, 1])

        by_sentence = np.argsort(mentions.sentence, kind="stable").astype(np.int32)
        bounds = np.searchsorted(mentions.sentence[by_sentence], np.arange(len(pool.sentences) + 1))
        self.by_sentence, self.sentence_start = view(by_sentence), view(bounds.astype(np.int64))

        writable = np.array([bool(u.surfaces or u.prefixes) for u in units] + [False])
        anchor = (
            seen
            & writable[mentions.unit]
            & np.isfinite(mentions.base_value)
            & np.isfinite(mentions.value)
            & np.isnan(mentions.base_low)
            & np.isnan(mentions.base_high)
        )
        self._lay_out_anchors(np.flatnonzero(anchor), pair, minimum_values)
        self.words = [
            frozenset(_WORD.findall(" ".join((c.name, *c.variants, *c.surfaces)).lower()))
            for c in pool.concepts
        ]

    @staticmethod
    def _pairs(
        pool: Pool, vocabulary: Vocabulary, held_out: HeldOut, dimension_of: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """The stream-wide pair of each mention (-1: none), and whether it may be asked about."""
        mentions = pool.mentions
        pair = np.full(len(mentions), -1, np.int32)
        seen = np.zeros(len(mentions), np.bool_)
        rows = np.flatnonzero((mentions.concept >= 0) & (mentions.unit >= 0))
        keys = mentions.concept[rows].astype(np.int64) << 32 | dimension_of[rows].astype(np.int64)
        unique, inverse = np.unique(keys, return_inverse=True)
        numbers = np.empty(len(unique), np.int32)
        allowed = np.empty(len(unique), np.bool_)
        for i, key in enumerate(unique.tolist()):
            name = (pool.concepts[key >> 32].name, vocabulary.dimensions[key & 0xFFFFFFFF])
            numbers[i] = vocabulary.pair(*name)
            allowed[i] = name not in held_out.pairs
        pair[rows], seen[rows] = numbers[inverse], allowed[inverse]
        return pair, seen

    def _lay_out_anchors(self, rows: NDArray[np.int64], pair: NDArray[np.int32], minimum: int) -> None:
        """Sort by pair and value; keep pairs with enough different values."""
        base = self.pool.mentions.base_value
        rows = rows[np.lexsort((base[rows], pair[rows]))]
        new_pair = np.diff(pair[rows], prepend=-2) != 0
        new_value = new_pair | (np.diff(base[rows], prepend=np.nan) != 0)
        pair_index = np.cumsum(new_pair) - 1
        distinct = np.bincount(pair_index[new_value]) if len(rows) else np.zeros(0, np.int64)
        kept = distinct[pair_index] >= minimum if len(rows) else np.zeros(0, np.bool_)
        rows = rows[kept]
        new_pair, new_value = new_pair[kept], new_value[kept]
        self.anchor_row = view(rows.astype(np.int32))
        asked_pair = np.full(len(pair), -1, np.int32)
        asked_pair[rows] = np.cumsum(new_pair) - 1
        self.asked_pair = view(asked_pair)
        """For each mention, its place among the pairs that are asked about; -1: none."""
        self.anchor_base = view(base[rows])
        self.pair_starts: list[int] = [*np.flatnonzero(new_pair).tolist(), len(rows)]
        value_starts = np.flatnonzero(new_value)
        self.value_starts = view(np.append(value_starts, len(rows)))
        self.pair_values: list[int] = [
            *np.searchsorted(value_starts, self.pair_starts[:-1]).tolist(),
            len(value_starts),
        ]
        """Pair p owns the distinct values `pair_values[p]` to `pair_values[p + 1]`."""
        order = np.lexsort((rows, self.pool.mentions.sentence[rows]))
        ordered = rows[order]
        sentence = self.pool.mentions.sentence[ordered]
        together = np.flatnonzero((np.diff(sentence) == 0) & (np.diff(pair[ordered]) != 0))
        self.together = view(np.stack([ordered[together], ordered[together + 1]], 1).ravel())
        """Rows 2i and 2i + 1: two pairs described in one sentence."""

    @property
    def pair_count(self) -> int:
        return len(self.pair_starts) - 1

    def frequencies(self) -> NDArray[np.float64]:
        return np.diff(self.pair_starts).astype(np.float64)

    def rows_of(self, sentence: int) -> Sequence[int]:
        rows: Sequence[int] = self.by_sentence[
            self.sentence_start[sentence] : self.sentence_start[sentence + 1]
        ]
        return rows

    def passage(
        self, sentence: int, text: str | None = None, changed: dict[int, PassageQuantity] | None = None
    ) -> Passage:
        """The sentence with its quantities; both ends of a range count. `changed` replaces rewritten ones."""
        quantities = []
        for row in self.rows_of(sentence):
            unit = self.unit[row]
            if changed is not None and row in changed:
                quantities.append(changed[row])
                continue
            if unit < 0:
                continue
            pair, dimension, low, high = self.pair[row], self.dimension[row], self.low[row], self.high[row]
            if low == low or high == high:  # NaN differs from itself
                ends = [end for end in (low, high) if end == end]
                quantities += [PassageQuantity(pair, unit, dimension, end) for end in ends]
            else:
                quantities.append(PassageQuantity(pair, unit, dimension, self.base[row]))
        return Passage(self.sentences[sentence] if text is None else text, quantities)


def completed_units(pool: Pool) -> list[Unit]:
    """The pool's units; those without surfaces get the ones observed in the text or made of their name."""
    missing = {i for i, unit in enumerate(pool.units) if not (unit.surfaces or unit.prefixes)}
    observed: dict[int, Counter[str]] = {}
    mentions = pool.mentions
    if missing:
        rows = np.flatnonzero(np.isin(mentions.unit, list(missing)) & (mentions.unit_span[:, 0] >= 0))
        for row in rows.tolist():
            start, end = mentions.unit_span[row].tolist()
            if start >= mentions.value_span[row, 1]:  # written after the number
                surface = pool.sentences[int(mentions.sentence[row])][start:end].strip()
                observed.setdefault(int(mentions.unit[row]), Counter())[surface] += 1
    by_name = {unit.name: unit for unit in pool.units}
    units = list(pool.units)
    for i in missing:
        counted = [s for s, _ in observed.get(i, Counter()).most_common(_SURFACES_KEPT) if s]
        units[i] = replace(units[i], surfaces=tuple(counted) or made_surfaces(units[i], by_name))
    return units


def made_surfaces(unit: Unit, by_name: dict[str, Unit]) -> tuple[str, ...]:
    if unit.dimension.startswith("count:") and "/" not in unit.name:
        return (unit.name, plural_of(unit.name))
    numerator, slash, denominator = unit.name.partition("/")
    if slash and numerator in by_name:
        per = denominator.replace("_", " ")
        return tuple(f"{s} per {per}" for s in by_name[numerator].surfaces[:_SURFACES_KEPT])
    return ()
