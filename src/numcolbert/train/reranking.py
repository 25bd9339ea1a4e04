"""Rank only what another system found for each query, a few queries at a time.

For collections that are too large to encode whole: the reranking task of MS MARCO has a thousand candidates
for each of 6,980 queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from numcolbert.errors import InputError
from numcolbert.progress import Progress
from numcolbert.train.benchmarks import Benchmark, read_corpus
from numcolbert.train.evaluate import Ranker, variants_of
from numcolbert.train.ranking import encode_documents, encode_queries, score_all, tokenise
from numcolbert.train.trec import read_run

QUERIES_AT_ONCE = 16
"""Their candidates are encoded together; each query is scored against all of them, so not too many."""

Candidates = Mapping[str, Sequence[str]]
Rankings = dict[str, list[tuple[str, float]]]


def read_candidates(path: Path) -> dict[str, list[str]]:
    """Query -> documents of a TREC run, in the order of its lines."""
    return {query: list(ranking) for query, ranking in read_run(path, what="run of candidates").items()}


def rerank(ranker: Ranker, benchmark: Benchmark, candidates: Candidates, depth: int) -> dict[str, Rankings]:
    """Per variant of the model (gated, ungated or plain) the rankings of all queries."""
    corpus = read_corpus(benchmark.corpus_path)
    place = {document: row for row, document in enumerate(corpus.ids)}
    strangers = (d for q in benchmark.query_ids for d in candidates.get(q, ()) if d not in place)
    stranger = next(strangers, None)
    if stranger is not None:
        raise InputError(
            f"The candidates name document '{stranger}', which '{benchmark.corpus_path}' does not hold.",
            hint="candidates and corpus must come from the same download",
        )
    rankings: dict[str, Rankings] = {}
    queries = list(zip(benchmark.query_ids, benchmark.query_texts, strict=True))
    ranker.encoder.eval()
    with Progress("rerank", len(queries), "queries") as progress:
        for start in range(0, len(queries), QUERIES_AT_ONCE):
            part = queries[start : start + QUERIES_AT_ONCE]
            names = list(dict.fromkeys(d for query, _ in part for d in candidates.get(query, ())))
            for variant, found in _ranked(
                ranker, part, names, [corpus.texts[place[d]] for d in names]
            ).items():
                for query, scores in found.items():
                    own = {d: scores[d] for d in candidates.get(query, ())}
                    best = sorted(own.items(), key=lambda pair: -pair[1])[:depth]
                    rankings.setdefault(variant, {})[query] = best
            progress.advance(len(part))
    return rankings


def _ranked(
    ranker: Ranker, queries: Sequence[tuple[str, str]], names: Sequence[str], texts: Sequence[str]
) -> dict[str, dict[str, dict[str, float]]]:
    """Variant -> query -> document -> score."""
    store = torch.float16 if ranker.device.type == "cuda" else torch.float32
    groups = encode_documents(
        ranker.encoder,
        tokenise(ranker.reader, texts),
        ranker.device,
        skipped_ids=ranker.skipped_ids,
        store=store,
    )
    encoded = encode_queries(
        ranker.encoder, ranker.gate, ranker.reader, [text for _, text in queries], ranker.device
    )
    weights = variants_of(encoded, gated=ranker.gate is not None)
    made = score_all(encoded, list(weights.values()), groups)
    return {
        variant: {
            query: dict(zip(names, row, strict=True))
            for (query, _), row in zip(queries, scores.tolist(), strict=True)
        }
        for variant, scores in zip(weights, made, strict=True)
    }
