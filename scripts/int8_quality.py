"""What int8 weights cost: the packaged model against its float32 checkpoint, on the best hits of queries.

    python scripts/int8_quality.py models/numcolbert-minilm benchmarks/openfinquant openfinquant.gated.trec

ranks the first 50 hits of each query again with both, prints nDCG@10 of each, and how far vectors and scores
are apart (`numcolbert.model.export.parity`). `--queries` takes some, evenly spread over the set.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from best_hits import BestHits, best_hits
from numcolbert.model.checkpoint import load_checkpoint
from numcolbert.model.encoder import Encoder
from numcolbert.model.export import parity
from numcolbert.program import parser_of, program

Vectors = Sequence[NDArray[np.float32]]
PARITY_TEXTS = 200


def ranked_again(chosen: BestHits, query_vectors: Vectors, passage_vectors: Vectors) -> float:
    queries = dict(zip(chosen.queries, query_vectors, strict=True))
    passages = dict(zip(chosen.passages, passage_vectors, strict=True))
    return chosen.ndcg(lambda q, d: float((queries[q] @ passages[d].T).max(axis=1).sum()))


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("run", type=Path, help="a TREC run on the benchmark, of this model or one like it")
    parser.add_argument("--queries", type=int, help="at most so many; all by default")
    parser.add_argument("--best", type=int, default=50)
    given = parser.parse_args(arguments)
    chosen = best_hits(given.benchmark, [given.run], given.best, given.queries)
    asked, texts = [*chosen.queries.values()], [*chosen.passages.values()]
    model, encoder = load_checkpoint(given.checkpoint), Encoder.load()
    int8 = ranked_again(
        chosen,
        [query.vectors for query in encoder.encode_queries(asked)],
        [passage.vectors for passage in encoder.encode_documents(texts)],
    )
    float32 = ranked_again(
        chosen,
        model.encode_query(asked, convert_to_numpy=True),
        model.encode_document(texts, convert_to_numpy=True),
    )
    apart = parity(model, encoder, asked, texts[:PARITY_TEXTS])
    result = {"queries": len(asked), "passages": len(texts), "float32": float32, "int8": int8}
    sys.stdout.write(json.dumps(result | asdict(apart), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
