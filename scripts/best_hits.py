"""The best hits of some runs with their texts: what is ranked again to compare variants of one model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from numcolbert.errors import InputError
from numcolbert.train.benchmarks import Benchmark, read_benchmark, read_corpus
from numcolbert.train.measures import mean_measures
from numcolbert.train.reranking import read_candidates


@dataclass(frozen=True)
class BestHits:
    benchmark: Benchmark
    queries: Mapping[str, str]
    """Id -> text."""
    hits: Mapping[str, Sequence[str]]
    """Query -> ids of passages."""
    passages: Mapping[str, str]
    """Id -> text."""

    def asked_for(self, query: str) -> str:
        """The name that a query gives its concept."""
        known = self.benchmark.attributes[query]
        return str(known.get("phrase") or known["concept"])

    def ndcg(self, score: Callable[[str, str], float]) -> float:
        """nDCG@10 with the hits ordered by score(query id, passage id)."""
        ranked = {q: sorted(found, key=lambda d: (-score(q, d), d)) for q, found in self.hits.items()}
        return mean_measures(ranked, {q: self.benchmark.qrels[q] for q in ranked})["nDCG@10"]


def best_hits(folder: Path, runs: Sequence[Path], best: int, most_queries: int | None = None) -> BestHits:
    """The first `best` hits of each run together; of at most so many queries, evenly spread over the set."""
    benchmark = read_benchmark(folder)
    found = [read_candidates(run) for run in runs]
    names = [q for q in benchmark.query_ids if q in benchmark.qrels and any(q in run for run in found)]
    if most_queries is not None:
        count = min(most_queries, len(names))
        names = [names[i * len(names) // count] for i in range(count)]
    hits = {q: list(dict.fromkeys(d for run in found for d in run.get(q, ())[:best])) for q in names}
    wanted = {d for pooled in hits.values() for d in pooled}
    corpus = read_corpus(benchmark.corpus_path)
    texts = {d: t for d, t in zip(corpus.ids, corpus.texts, strict=True) if d in wanted}
    if strangers := wanted - texts.keys():
        raise InputError(
            f"A run names document '{min(strangers)}', which '{benchmark.corpus_path}' does not hold.",
            hint="runs and benchmark must belong together",
        )
    asked = dict(zip(benchmark.query_ids, benchmark.query_texts, strict=True))
    return BestHits(benchmark, {q: asked[q] for q in names}, hits, texts)
