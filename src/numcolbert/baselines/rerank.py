"""A second look: another system scores the first hits of a first one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from numcolbert.baselines.ranker import Query, Ranker, Run
from numcolbert.types import Document

Pair = tuple[str, str]
"""(query text, passage text)"""

_TIE = 1e-4


class Scorer(Protocol):
    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """One number a pair, higher is better."""
        ...


class Reranker:
    """The first `depth` hits in the scorer's order, then the rest in the first system's.

    Equal scores keep the first system's order: its rank is added in the fourth decimal, because a run file
    knows no order but the score.
    """

    def __init__(self, first: Ranker, scorer: Scorer, depth: int = 100) -> None:
        self.first, self.scorer, self.depth = first, scorer, depth
        self._texts: dict[str, str] = {}

    def index(self, corpus: Iterable[Document]) -> None:
        documents = list(corpus)
        self._texts = {document.id: document.text for document in documents}
        self.first.index(documents)

    def search(self, queries: Sequence[Query], k: int) -> Run:
        first = self.first.search(queries, max(k, self.depth))
        scores = iter(self.scorer.score(self._pairs(queries, first)))
        run: Run = {}
        for query in queries:
            head = list(first[query.id])[: self.depth]
            scored = {d: next(scores) + _TIE * (1 - rank / self.depth) for rank, d in enumerate(head)}
            ranking = dict(sorted(scored.items(), key=lambda pair: -pair[1]))
            floor = min(ranking.values(), default=0.0)
            rest = [document for document in first[query.id] if document not in ranking]
            ranking |= {document: floor - 1 - rank for rank, document in enumerate(rest)}
            run[query.id] = dict(list(ranking.items())[:k])
        return run

    def pairs(self, queries: Sequence[Query]) -> list[Pair]:
        """What the scorer will be asked."""
        return self._pairs(queries, self.first.search(queries, self.depth))

    def _pairs(self, queries: Sequence[Query], first: Run) -> list[Pair]:
        heads = [(query.text, list(first[query.id])[: self.depth]) for query in queries]
        return [(text, self._texts[document]) for text, head in heads for document in head]
