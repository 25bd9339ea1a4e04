"""Which phrases name one concept of a pool, and could not be taken for another.

"revenue" stands for "construction revenue" in some sentences, but whoever asks for revenue means revenue:
with passages about both in one batch, such a query would teach the opposite of what it says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from numcolbert.data.pool import Concept


@dataclass(slots=True)
class _Uses:
    """Who is called by a phrase, as positions of pairs."""

    name_of: set[int]
    variant_of: set[int]


class ClearNames:
    def __init__(self, pairs: Iterable[tuple[Concept, str]]) -> None:
        """Args:
        pairs: Concept and dimension of each pair, in the order of the pairs.
        """
        self._concepts: list[tuple[Concept, str]] = []
        self._uses: dict[tuple[str, str], _Uses] = {}
        for pair, (concept, dimension) in enumerate(pairs):
            self._concepts.append((concept, dimension))
            self._use(concept.name, dimension).name_of.add(pair)
            for variant in concept.variants:
                self._use(variant, dimension).variant_of.add(pair)

    def is_clear(self, phrase: str, pair: int) -> bool:
        """Whether the phrase is the pair's own name, or at least not another's, and not a mere part of its
        name ("earnings" of "segment earnings") that others share.
        """
        concept, dimension = self._concepts[pair]
        uses = self._uses.get((phrase.lower(), dimension))
        if uses is None or phrase.lower() == concept.name.lower():
            return True
        if uses.name_of - {pair}:
            return False
        is_part = set(phrase.lower().split()) < set(concept.name.lower().split())
        return not (is_part and uses.variant_of - {pair})

    def _use(self, phrase: str, dimension: str) -> _Uses:
        return self._uses.setdefault((phrase.lower(), dimension), _Uses(set(), set()))
