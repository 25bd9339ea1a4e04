"""Adds the quantity score to any text ranker's: what the disjoint systems have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from numcolbert.baselines.quantity_score import quantity_score
from numcolbert.baselines.quantulum import Quantulum
from numcolbert.baselines.query_condition import Conditions, read_query
from numcolbert.baselines.ranker import Query, Ranker, Run, best
from numcolbert.errors import InputError
from numcolbert.types import Document

Normalise = Literal["max", "min-max"]


class QuantityReranker:
    """`normalise(text score) + weight * quantity score` over the first `depth` hits of a text ranker."""

    def __init__(
        self,
        first: Ranker,
        reader: Quantulum,
        *,
        normalise: Normalise,
        weight: float = 1.0,
        depth: int = 1000,
        conditions: Conditions = "parsed",
    ) -> None:
        self.first, self.reader = first, reader
        self.normalise, self.weight, self.depth, self.conditions = normalise, weight, depth, conditions
        self._texts: dict[str, str] = {}

    def index(self, corpus: Iterable[Document]) -> None:
        documents = list(corpus)
        self._texts = {document.id: document.text for document in documents}
        self.first.index(documents)

    def search(self, queries: Sequence[Query], k: int) -> Run:
        first = self.first.search(queries, max(k, self.depth))
        amounts = self.reader.amounts(self._texts[d] for ranking in first.values() for d in ranking)
        run: Run = {}
        for query in queries:
            wanted = read_query(query, self.reader, self.conditions).wanted
            scores = normalised(first[query.id], self.normalise)
            if wanted is not None:
                for document in scores:
                    scores[document] += self.weight * quantity_score(wanted, amounts[self._texts[document]])
            run[query.id] = best(scores, k)
        return run


def normalised(scores: Mapping[str, float], how: Normalise) -> dict[str, float]:
    """Divide by the highest score, or stretch to 0..1; a flat ranking becomes all ones."""
    if not scores:
        return {}
    high, lowest = max(scores.values()), min(scores.values())
    if how == "max" and lowest < high <= 0:
        raise InputError(
            f"The highest score of a query is {high:g}: dividing by it would turn the ranking round.",
            hint="take a first run whose scores are positive, or stretch them to 0..1 as QSPLADE does",
        )
    low = lowest if how == "min-max" else 0.0
    if high == low:
        return dict.fromkeys(scores, 1.0)
    return {document: (score - low) / (high - low) for document, score in scores.items()}


class RunRanker:
    """A finished run in the place of a ranker, so that a baseline can stand on any system's output."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._known: frozenset[str] | None = None

    def index(self, corpus: Iterable[Document]) -> None:
        """The ranking is already made; what it ranks must be there."""
        self._known = frozenset(document.id for document in corpus)

    def search(self, queries: Sequence[Query], k: int) -> Run:
        if self.run and queries and all(query.id not in self.run for query in queries):
            raise InputError(
                f"The first run answers none of the queries; it has no '{queries[0].id}'.",
                hint="run and queries must belong to the same benchmark",
            )
        found = {query.id: best(self.run.get(query.id, {}), k) for query in queries}
        for query, ranking in found.items():
            stranger = next((d for d in ranking if self._known is not None and d not in self._known), None)
            if stranger is not None:
                raise InputError(
                    f"The first run names document '{stranger}' for query '{query}', "
                    "which the collection does not hold.",
                    hint="run and collection must belong to the same benchmark",
                )
        return found
