"""Would sentence vectors help a run? Its first hits, ranked again with the cosine of query and passage added.

    python scripts/sentence_vectors.py benchmarks/openfinquant/dev run.trec MODEL

prints nDCG@10 with more and more of the cosine, once between the passage and the query and once between the
passage and the name the query gives its concept, for all queries and for those that name a concept training
has not seen in other words.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from best_hits import BestHits, best_hits
from numcolbert.evaluate.trec import read_run
from numcolbert.program import parser_of, program

Vectors = Mapping[str, NDArray[np.float32]]


def hardest(chosen: BestHits) -> BestHits:
    """Of the queries those about unseen concepts in other words than the passages'."""
    asked = chosen.benchmark.attributes
    hits = {
        query: found
        for query, found in chosen.hits.items()
        if asked.get(query, {}).get("expanded") and not asked[query].get("seen")
    }
    return replace(chosen, hits=hits)


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("run", type=Path, help="TREC run")
    parser.add_argument("model", help="of sentence-transformers: a name, or a folder")
    parser.add_argument("--best", type=int, default=40, help="hits of a query")
    parser.add_argument("--weights", type=float, nargs="+", default=[0, 0.5, 1, 2, 3, 5])
    given = parser.parse_args(arguments)
    chosen = best_hits(given.benchmark, [given.run], given.best)
    scores, model = read_run(given.run), SentenceTransformer(given.model).float()

    def vectors(texts: Mapping[str, str]) -> Vectors:
        found = model.encode([*texts.values()], normalize_embeddings=True)
        return dict(zip(texts, np.asarray(found), strict=True))

    passages = vectors(chosen.passages)

    def quality(some: BestHits, asked: Vectors, weight: float) -> float:
        return some.ndcg(lambda q, d: scores[q][d] + weight * float(asked[q] @ passages[d]))

    names = {query: chosen.asked_for(query) for query in chosen.queries}
    found: dict[str, dict[str, float]] = {}
    for kind, texts in {"query": chosen.queries, "name": names}.items():
        asked = vectors(texts)
        for part, some in {"all": chosen, "unseen, in other words": hardest(chosen)}.items():
            found[f"{kind}, {part} ({len(some.hits)})"] = {
                f"{weight:g}": round(quality(some, asked, weight), 4) for weight in given.weights
            }
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
