"""Which part of a query prefers a wrong hit: its number, or its words?

    python scripts/wrong_parts.py BENCHMARK/dev EXPORTED... --passages 40000

Of the first hits, as many as there are answers, those that are wrong are compared with the best answer that
was missed. Wrong is the concept, or the number of the right one (about.trec says). Of each kind it counts how
often the number's vectors, gates and all, score the wrong hit higher, and how often all others do. The
collection is cut: to what is known of the queries' concepts, and so many other passages.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cut_benchmark import cut
from numcolbert.evaluate.wrong_hits import read_about
from numcolbert.model.encoder import Encoder
from numcolbert.program import not_negative, parser_of, program
from numcolbert.train.benchmarks import Benchmark, Corpus, read_benchmark, read_corpus
from token_parts import best_matches, is_number

About = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class WrongHit:
    kind: str
    """`concept` or `number`."""
    number: float
    words: float
    """By how much each part scores it above the best answer that was missed."""


def wrong_hits(
    number: NDArray[np.float32],  # [passages], what the number's vectors score
    words: NDArray[np.float32],
    right: Sequence[int],
    about: frozenset[int],
) -> Iterator[WrongHit]:
    """`right` are the rows of the answers, `about` those about the concept, whatever their number."""
    scores = number + words
    first = np.argsort(-scores, kind="stable")[: len(right)].tolist()
    missed = [row for row in right if row not in first]
    for row in (row for row in first if row not in right):
        best = max(missed, key=lambda answer: float(scores[answer]))
        kind = "number" if row in about else "concept"
        yield WrongHit(kind, float(number[row] - number[best]), float(words[row] - words[best]))


def found_in(encoder: Encoder, benchmark: Benchmark, corpus: Corpus, about: About) -> list[WrongHit]:
    place = {name: row for row, name in enumerate(corpus.ids)}
    found: list[WrongHit] = []
    matched = best_matches(encoder, corpus.texts, benchmark.query_texts)
    for name, (query, best) in zip(benchmark.query_ids, matched, strict=True):
        best *= query.gates[:, None]
        marks = [is_number(query, span) for span in benchmark.condition_spans(name)]
        if not marks:  # nothing is known of its number
            continue
        is_quantity = np.any(marks, axis=0)
        right = [place[document] for document, grade in benchmark.qrels[name].items() if grade > 0]
        near = frozenset(place[document] for document in about.get(name, {}))
        found += wrong_hits(best[is_quantity].sum(axis=0), best[~is_quantity].sum(axis=0), right, near)
    return found


def told(found: Sequence[WrongHit]) -> dict[str, dict[str, float]]:
    """Counts and shares by kind."""
    table = {}
    for kind, count in sorted(Counter(hit.kind for hit in found).items()):
        hits = [hit for hit in found if hit.kind == kind]
        shares = {
            "number prefers it": np.mean([hit.number > 0 for hit in hits]),
            "words prefer it": np.mean([hit.words > 0 for hit in hits]),
            "the number alone does": np.mean([hit.number > 0 >= hit.words for hit in hits]),
            "number, on average": np.mean([hit.number for hit in hits]),
            "words, on average": np.mean([hit.words for hit in hits]),
        }
        table[kind] = {"hits": count} | {name: round(float(value), 2) for name, value in shares.items()}
    return table


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("benchmark", type=Path, help="with one condition a query")
    parser.add_argument("models", type=Path, nargs="+", help="folders of exported models")
    parser.add_argument(
        "--passages", type=not_negative, default=40_000, help="beside those known of the concepts"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the choice of these")
    given = parser.parse_args(arguments)
    benchmark = read_benchmark(given.benchmark)
    about = read_about(given.benchmark, benchmark.qrels)
    known = {name for judged in (*benchmark.qrels.values(), *about.values()) for name in judged}
    corpus = cut(read_corpus(benchmark.corpus_path), known, given.passages, given.seed)
    table = {
        str(model): told(found_in(Encoder.load(model), benchmark, corpus, about)) for model in given.models
    }
    sys.stdout.write(json.dumps(table, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
