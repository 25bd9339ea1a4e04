"""Which phrases name one concept of a pool, and could not be taken for another.

"revenue" stands for "construction revenue" in some sentences, but whoever asks for revenue means revenue:
with passages about both in one batch, such a query would teach the opposite of what it says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from numcolbert.data.pool import Concept


class ClearNames:
    def __init__(self, pairs: Iterable[tuple[Concept, str]]) -> None:
        """Args:
        pairs: Concept and dimension of each pair, in the order of the pairs.
        """
        self._pairs = list(pairs)
        self._named: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        self._called: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        for pair, (concept, dimension) in enumerate(self._pairs):
            self._named[concept.name.lower(), dimension].add(pair)
            for variant in concept.variants:
                self._called[variant.lower(), dimension].add(pair)

    def is_clear(self, phrase: str, pair: int) -> bool:
        """Whether the phrase is the pair's own name, or at least not another's, and not a mere part of its
        name ("earnings" of "segment earnings") that others share.
        """
        concept, dimension = self._pairs[pair]
        if phrase.lower() == concept.name.lower():
            return True
        if self.names_another(phrase, pair):
            return False
        is_part = set(phrase.lower().split()) < set(concept.name.lower().split())
        return not (is_part and self._called.get((phrase.lower(), dimension), set()) - {pair})

    def names_another(self, phrase: str, pair: int) -> bool:
        """Whether it is the very name of another pair of the dimension."""
        _, dimension = self._pairs[pair]
        return bool(self._named.get((phrase.lower(), dimension), set()) - {pair})
