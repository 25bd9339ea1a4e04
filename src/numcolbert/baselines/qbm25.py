"""QBM25: BM25 over sets of words, divided by its highest score; passages with all of the concept's words also
get twice the quantity score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from numcolbert.baselines.bm25 import BM25
from numcolbert.baselines.quantity_score import quantity_score
from numcolbert.baselines.quantulum import Quantulum
from numcolbert.baselines.query_condition import Conditions, ReadQuery, read_query
from numcolbert.baselines.ranker import Query, Run
from numcolbert.types import Document

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class QBM25:
    def __init__(self, reader: Quantulum, *, conditions: Conditions = "parsed", weight: float = 2.0) -> None:
        self.reader, self.conditions, self.weight = reader, conditions, weight
        self._bm25 = BM25(binary=True)
        self._texts: list[str] = []

    def index(self, corpus: Iterable[Document]) -> None:
        documents = list(corpus)
        self._texts = [document.text for document in documents]
        self._bm25.index(documents)

    def search(self, queries: Sequence[Query], k: int) -> Run:
        read = {query.id: read_query(query, self.reader, self.conditions) for query in queries}
        full = {query.id: self._bm25.containing_all(read[query.id].concept) for query in queries}
        # Only passages with all words can get a quantity score, so only these are parsed.
        needed = {int(i) for query, found in full.items() if read[query].wanted for i in found}
        amounts = self.reader.amounts(self._texts[i] for i in sorted(needed))
        run: Run = {}
        for query in queries:
            scores = self._text_scores(read[query.id])
            wanted = read[query.id].wanted
            if wanted is not None:
                for i in full[query.id]:
                    scores[i] += self.weight * quantity_score(wanted, amounts[self._texts[i]])
            run[query.id] = self._bm25.top(scores, k)
        return run

    def _text_scores(self, query: ReadQuery) -> NDArray[np.float64]:
        import numpy as np

        scores = self._bm25.scores(query.concept).astype(np.float64)
        highest = scores.max()
        return scores / highest if highest > 0 else scores
