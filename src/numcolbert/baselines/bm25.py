"""BM25 (by bm25s), over the whole query or over its concept words alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal

from numcolbert.baselines.ranker import Query, Run, require_indexed
from numcolbert.baselines.words import words
from numcolbert.errors import InputError, MissingDependencyError
from numcolbert.progress import track
from numcolbert.types import Document

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Sees = Literal["query", "concept"]


class BM25:
    """Lucene's BM25 with k1 = 1.5 and b = 0.75.

    `sees="concept"` hides the condition from it, as the paper's BM25 was; `sees="query"` is the fair one.
    With `binary`, a passage is the set of its words.
    """

    def __init__(self, sees: Sees = "query", *, binary: bool = False) -> None:
        self.sees, self.binary = sees, binary
        self.ids: list[str] = []
        self._index: Any = None

    def index(self, corpus: Iterable[Document]) -> None:
        try:
            import bm25s
        except ModuleNotFoundError as error:
            raise MissingDependencyError.for_extra("bm25s", "baselines", "BM25") from error
        ids, texts = [], []
        for document in track(corpus, "read", unit="documents"):
            found = words(document.text)
            ids.append(document.id)
            texts.append(list(dict.fromkeys(found)) if self.binary else found)
        if not any(texts):
            raise InputError("The collection has no words.", hint="give at least one document with text")
        self.ids = ids
        self._index = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
        self._index.index(texts, show_progress=False)

    def search(self, queries: Sequence[Query], k: int) -> Run:
        run: Run = {}
        for query in track(queries, "BM25", unit="queries"):
            run[query.id] = self.top(self.scores(self.seen_text(query)), k)
        return run

    def seen_text(self, query: Query) -> str:
        if self.sees == "query":
            return query.text
        if query.concept is None:
            raise InputError(
                f"Query '{query.id}' has no concept.",
                hint="only benchmarks with attributes.json have concepts",
            )
        return query.concept

    def scores(self, text: str) -> NDArray[np.float32]:
        """The score of every passage, in the order of `ids`; zero where no word matches."""
        import numpy as np

        require_indexed(self._index is not None, "BM25")
        scores = np.zeros(len(self.ids), np.float32)
        for word in words(text):
            if word in self._index.vocab_dict:
                # A passage stands once in a word's list, so adding by index is safe, and faster than bm25s'.
                passages, weights = self._postings(word)
                scores[passages] += weights
        return scores

    def containing_all(self, text: str) -> NDArray[np.int64]:
        """Positions of the passages with every word of `text`, in ascending order."""
        import numpy as np

        require_indexed(self._index is not None, "BM25")
        wanted = set(words(text))
        if not wanted or not all(word in self._index.vocab_dict for word in wanted):
            return np.empty(0, np.int64)
        lists = sorted((self._postings(word)[0] for word in wanted), key=len)
        return np.sort(reduce(np.intersect1d, lists).astype(np.int64))

    def _postings(self, word: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """The passages that hold a word, and its weight in each."""
        matrix, column = self._index.scores, self._index.vocab_dict[word]
        part = slice(matrix["indptr"][column], matrix["indptr"][column + 1])
        return matrix["indices"][part], matrix["data"][part]

    def top(self, scores: NDArray[np.floating[Any]], k: int) -> dict[str, float]:
        """The best `k` passages with a score above zero, ties in the order of the collection."""
        import numpy as np

        k = min(k, int((scores > 0).sum()))
        if k == 0:
            return {}
        # Everything as good as the k-th stays in, so that ties are cut by position and not by chance.
        threshold = np.partition(scores, -k)[-k]
        candidates = np.flatnonzero(scores >= threshold)
        order = candidates[np.argsort(-scores[candidates], kind="stable")][:k]
        return {self.ids[i]: float(scores[i]) for i in order}
