"""One query, three rankings: with the gate, without it, and by words alone."""

from __future__ import annotations

from dataclasses import dataclass

from numcolbert.api import Index
from numcolbert.baselines.bm25 import BM25
from numcolbert.baselines.ranker import Query
from numcolbert.progress import listening
from numcolbert.search.judge import satisfied
from numcolbert.types import Condition, Hit


@dataclass(frozen=True, slots=True)
class Comparison:
    query: str
    conditions: tuple[Condition, ...]
    gated: tuple[Hit, ...]
    ungated: tuple[Hit, ...]
    words: tuple[Hit, ...]


class Comparer:
    """Answers queries in all three ways over one index."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._documents = {document.id: document for document in index.documents()}
        self._bm25 = BM25()
        with listening(None):  # a moment's work, not worth a line of progress
            self._bm25.index(self._documents.values())

    def compare(self, query: str, k: int) -> Comparison:
        gated = self._index.search(query, k)
        ungated = self._index.search(query, k, gate=False)
        with listening(None):
            found = self._bm25.search([Query("query", query)], k)["query"]
        return Comparison(
            query=query,
            conditions=gated.conditions,
            gated=gated.hits,
            ungated=ungated.hits,
            words=tuple(self._hit(id, score, gated.conditions) for id, score in found.items()),
        )

    def _hit(self, id: str, score: float, conditions: tuple[Condition, ...]) -> Hit:
        from numcolbert.quantities import extract

        document = self._documents[id]
        quantities = tuple(extract(document.text))
        satisfies = satisfied(document.text, quantities, conditions)
        return Hit(id, document.text, score, 0.0, document.metadata, quantities, satisfies)
