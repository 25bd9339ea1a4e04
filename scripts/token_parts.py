"""Where does a query hold its number: in the words, in the number, or in all of it?

    python scripts/token_parts.py benchmarks/facts EXPORTED... --weights 2 3

Of the passages that tell the figure asked for, how often does one that satisfies the condition score above
one that does not, by some of the query's vectors alone: the share of all such pairs, by operator. Gates are
left out but for "all". Then nDCG@10 with the number's vectors weighted so, in place of any gate. Every
passage is scored, so the collection must be small.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from numcolbert.evaluate.wrong_hits import read_about
from numcolbert.model.encoder import Encoder
from numcolbert.program import parser_of, program
from numcolbert.train.benchmarks import Benchmark, read_benchmark, read_corpus
from numcolbert.train.measures import mean_measures
from numcolbert.types import QueryEncoding, Span

Scores = NDArray[np.float32]


def is_number(query: QueryEncoding, span: Span) -> NDArray[np.bool_]:
    """Which vectors of a query stand for characters of `span`."""
    return np.array([at is not None and at[0] < span[1] and span[0] < at[1] for at in query.spans])


def pairs_in_order(scores: Scores, right: Sequence[int], wrong: Sequence[int]) -> float:
    """The share of pairs whose right one scores higher; ties count half."""
    above = scores[right][:, None] - scores[wrong][None, :]
    return float(np.mean((above > 0) + 0.5 * (above == 0)))


def best_matches(
    encoder: Encoder, passages: Sequence[str], queries: Sequence[str]
) -> Iterator[tuple[QueryEncoding, Scores]]:
    """Each query with the best match of its vectors, gates left out, in each passage: [vectors, passages]."""
    documents = [one.vectors for one in encoder.encode_documents(passages)]
    starts = np.cumsum([0, *map(len, documents)])[:-1]
    every = np.concatenate(documents)
    for query in encoder.encode_queries(queries):
        yield query, np.maximum.reduceat(query.ungated() @ every.T, starts, axis=1)


def shares(
    encoder: Encoder,
    benchmark: Benchmark,
    about: Mapping[str, Mapping[str, int]],
    weights: Sequence[float] = (),
) -> dict[str, float]:
    corpus = read_corpus(benchmark.corpus_path)
    row = {name: number for number, name in enumerate(corpus.ids)}
    found = defaultdict[str, list[float]](list)
    ranked: dict[float, dict[str, list[str]]] = {weight: {} for weight in weights}
    matched = best_matches(encoder, corpus.texts, benchmark.query_texts)
    for name, (query, best) in zip(benchmark.query_ids, matched, strict=True):
        right = [row[document] for document, value in about.get(name, {}).items() if value > 0]
        wrong = [row[document] for document, value in about.get(name, {}).items() if value == 0]
        known = benchmark.attributes[name]
        number = is_number(query, known["span"])
        for weight, run in ranked.items():
            order = np.argsort(-(np.where(number, weight, 1.0) @ best), kind="stable")
            run[name] = [corpus.ids[place] for place in order[:10]]
        if not right or not wrong or not number.any():
            continue
        for part, counted in (("all", query.gates), ("number", number), ("words", ~number)):
            found[f"{part} {known['operator']}"].append(pairs_in_order(counted @ best, right, wrong))
    told = {part: round(float(np.mean(values)), 3) for part, values in sorted(found.items())}
    return told | {
        f"nDCG@10, number x {weight:g}": round(mean_measures(run, benchmark.qrels)["nDCG@10"], 3)
        for weight, run in ranked.items()
    }


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("models", type=Path, nargs="+", help="folders of exported models")
    parser.add_argument("--weights", type=float, nargs="+", default=[1.0], help="of the number's vectors")
    given = parser.parse_args(arguments)
    benchmark = read_benchmark(given.benchmark)
    about = read_about(given.benchmark, benchmark.qrels)
    told = {
        str(model): shares(Encoder.load(model), benchmark, about, given.weights) for model in given.models
    }
    sys.stdout.write(json.dumps(told, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
