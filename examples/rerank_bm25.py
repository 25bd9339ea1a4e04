"""Let BM25 find candidates by their words, and NumColBERT put them in order by their numbers.

python examples/rerank_bm25.py
"""

from __future__ import annotations

from pathlib import Path

from numcolbert import NumColBERT
from numcolbert.baselines.bm25 import BM25
from numcolbert.baselines.ranker import Query
from numcolbert.data import corpora

QUERY = "phones with more than 200 GB of storage"


def main() -> None:
    documents = {document.id: document for document in corpora.read(Path(__file__).parent / "phones.csv")}
    bm25 = BM25()
    bm25.index(documents.values())
    candidates = bm25.search([Query("q", QUERY)], k=100)["q"]  # id -> BM25's score

    reranked = NumColBERT.load().rerank(QUERY, [documents[id] for id in candidates])
    before = {id: rank for rank, id in enumerate(candidates, 1)}
    for rank, hit in enumerate(reranked, 1):
        print(f"{rank} (BM25: {before[hit.id]})  {hit.satisfies!s:5}  {hit.text}")


if __name__ == "__main__":
    main()
