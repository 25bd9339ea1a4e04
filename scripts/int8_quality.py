"""What int8 weights cost: the packaged model against its float32 checkpoint, on the best hits of queries.

    python scripts/int8_quality.py models/numcolbert-minilm benchmarks/openfinquant openfinquant.gated.trec

ranks the first 50 hits of 120 queries, evenly spread over the set, again with both, prints nDCG@10 of each,
and how far vectors and scores are apart (`numcolbert.model.export.parity`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from numcolbert.model.checkpoint import load_checkpoint
from numcolbert.model.encoder import Encoder
from numcolbert.model.export import parity
from numcolbert.train.benchmarks import Benchmark, read_benchmark, read_corpus
from numcolbert.train.measures import mean_measures
from numcolbert.train.reranking import read_candidates

Encode = Callable[[Sequence[str]], Sequence[NDArray[np.float32]]]
PARITY_TEXTS = 200


def ranked_again(
    benchmark: Benchmark,
    hits: Mapping[str, Sequence[str]],
    texts: Mapping[str, str],
    query: Encode,
    passage: Encode,
) -> float:
    asked = dict(zip(benchmark.query_ids, benchmark.query_texts, strict=True))
    queries = dict(zip(hits, query([asked[q] for q in hits]), strict=True))
    passages = dict(zip(texts, passage(list(texts.values())), strict=True))

    def score(q: str, passage_id: str) -> float:
        return float((queries[q] @ passages[passage_id].T).max(axis=1).sum())

    rankings = {q: sorted(found, key=lambda d: (-score(q, d), d)) for q, found in hits.items()}
    return mean_measures(rankings, {q: benchmark.qrels[q] for q in hits})["nDCG@10"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("run", type=Path, help="a TREC run of the model on the benchmark")
    parser.add_argument("--queries", type=int, default=120)
    parser.add_argument("--best", type=int, default=50)
    chosen = parser.parse_args()
    benchmark = read_benchmark(chosen.benchmark)
    found = read_candidates(chosen.run)
    names = [q for q in benchmark.query_ids if q in found]
    names = names[:: max(1, len(names) // chosen.queries)][: chosen.queries]
    hits = {q: found[q][: chosen.best] for q in names}
    wanted = {d for best in hits.values() for d in best}
    corpus = read_corpus(benchmark.corpus_path)
    texts = {d: t for d, t in zip(corpus.ids, corpus.texts, strict=True) if d in wanted}
    model, encoder = load_checkpoint(chosen.checkpoint), Encoder.load()
    int8 = ranked_again(
        benchmark,
        hits,
        texts,
        lambda asked: [q.vectors for q in encoder.encode_queries(asked)],
        lambda passages: [d.vectors for d in encoder.encode_documents(passages)],
    )
    float32 = ranked_again(
        benchmark,
        hits,
        texts,
        lambda asked: model.encode_query(list(asked), convert_to_numpy=True),
        lambda passages: model.encode_document(list(passages), convert_to_numpy=True),
    )
    asked = dict(zip(benchmark.query_ids, benchmark.query_texts, strict=True))
    apart = parity(model, encoder, [asked[q] for q in hits], list(texts.values())[:PARITY_TEXTS])
    result = {"queries": len(hits), "passages": len(texts), "float32": float32, "int8": int8, **asdict(apart)}
    sys.stdout.write(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
