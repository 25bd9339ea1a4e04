"""What a test query calls its concept and its unit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from random import Random

import numpy as np

from numcolbert.data.acronyms import SHORTEST_ACRONYM
from numcolbert.data.concept_table import singular, table
from numcolbert.data.pair_index import Pair
from numcolbert.data.pool import Pool, Unit
from numcolbert.data.thresholds import Threshold
from numcolbert.quantities import conditions

SURFACES = 4
USUAL_SHARE = 0.02
"""A unit surface that stands in fewer of its mentions is left to the training data."""

CURRENCY_WORDS = {
    "USD": ("dollar", "dollars", "USD"),
    "EUR": ("euro", "euros", "EUR"),
    "US_cent": ("cent", "cents"),
}


class Wording:
    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self._units: dict[str, Unit] = {}
        self._tables: list[str] | None = pool.notes.get("tables")

    def names(self, pair: Pair, phrase: str) -> tuple[str, ...]:
        """Every phrase by which a passage may speak of the pair's concept."""
        return tuple(dict.fromkeys((phrase, pair.name, *table().close_variants(pair.name))))

    def phrase(self, pair: Pair, relevant: set[int], rng: Random, *, expanded: bool) -> str | None:
        """A name that stands in most relevant passages, or, expanded, one that does not."""
        texts = [normal(self.pool.sentences[row]) for row in sorted(relevant)]
        variants = () if self._is_foreign(pair.name) else table().close_variants(pair.name)
        candidates = [phrase for phrase in dict.fromkeys((pair.name, *variants)) if _can_be_asked(phrase)]
        share = {p: sum(normal(p) in text for text in texts) / len(texts) for p in candidates}
        if expanded:
            rare = [p for p in candidates if share[p] < 0.5]
            return rng.choice(rare) if rare else None
        best = max(candidates, key=lambda p: share[p], default=None)
        return best if best is not None and share[best] >= 0.5 else None

    def _is_foreign(self, concept: str) -> bool:
        """Whether its other names come from another field: zinc is no "zinc supplement" in the news."""
        return self._tables is not None and set(self._tables).isdisjoint(table().domains_of(concept))

    def unit(self, unit: Unit) -> Unit:
        """The unit with its usual surfaces only; rare ones ("bucks", "stg") would test something else."""
        if unit.name not in self._units:
            surfaces, prefixes = _usual_surfaces(unit, self.pool)
            self._units[unit.name] = replace(unit, surfaces=surfaces, prefixes=prefixes)
        return self._units[unit.name]


@lru_cache(maxsize=1 << 14)
def normal(text: str) -> str:
    """Lower case, words singular, spaces around, so that plural and case make no difference."""
    return f" {' '.join(singular(word) for word in re.findall(r'[a-z0-9&%+]+', text.lower()))} "


def _can_be_asked(phrase: str) -> bool:
    """No bare two-letter acronym: nobody could tell what it stands for."""
    return len(phrase) >= SHORTEST_ACRONYM and "," not in phrase


def _usual_surfaces(unit: Unit, pool: Pool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    position = next((i for i, known in enumerate(pool.units) if known.name == unit.name), None)
    if position is None:  # a unit that only the queries use
        return unit.surfaces[:SURFACES], unit.prefixes[:1]
    mentions = pool.mentions
    rows = np.flatnonzero((mentions.unit == position) & (mentions.unit_span[:, 0] >= 0))[:2000]
    after: Counter[str] = Counter()
    before: Counter[str] = Counter()
    for row in rows.tolist():
        start, end = mentions.unit_span[row]
        surface = pool.sentences[int(mentions.sentence[row])][start:end]
        (before if start < mentions.value_span[row, 0] else after)[surface] += 1
    floor = USUAL_SHARE * len(rows)
    spelled = CURRENCY_WORDS.get(unit.name)
    surfaces = spelled or tuple(s for s, n in after.most_common(SURFACES) if n >= floor and _is_clean(s))
    if not surfaces and not before:
        return unit.surfaces[:SURFACES], unit.prefixes[:1]
    return surfaces, tuple(s for s, n in before.most_common(2) if n >= 10 * floor)


def _is_clean(surface: str) -> bool:
    return surface == surface.strip(" .,;") and not re.search(r"\b(?:old|age|consecutive)\b", surface)


def check_reads_back(text: str, thresholds: Sequence[Threshold]) -> bool:
    """Whether our own reader finds every condition in the text as it is meant."""
    found = conditions(text)
    return all(
        any(
            condition.operator == wanted.operator
            and condition.quantity.dimension == wanted.unit.dimension
            and _close(
                condition.quantity.base_value if wanted.high is None else condition.quantity.base_low,
                wanted.base_value,
            )
            and (wanted.high is None or _close(condition.quantity.base_high, wanted.base_high))
            for condition in found
        )
        for wanted in thresholds
    )


def _close(one: float | None, other: float) -> bool:
    return one is not None and abs(one - other) <= 1e-6 * max(abs(one), abs(other))
