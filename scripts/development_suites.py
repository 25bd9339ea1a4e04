"""Suites to choose with: other queries of the kinds in a benchmark's suites, over part of its collection.

    python scripts/development_suites.py pools/finance benchmarks/openfinquant -o SUITES --development 210

builds the benchmark again, as `numcolbert data benchmark` does with the same options, and draws on: no query
has a condition that one of the benchmark has, and two conditions stand between two concepts that no query of
the suites has together. A suite with fewer queries than `--fewest` is left out. The collection is what is
known of these queries, and `--passages` others of the benchmark's.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cut_benchmark import cut, refuse_nested
from numcolbert.data.benchmark import BenchmarkSettings, Builder, JudgedQuery
from numcolbert.data.benchmark_files import document_id, write_set
from numcolbert.data.pool import Pool
from numcolbert.data.suites import SUITES
from numcolbert.errors import InputError
from numcolbert.files import refuse_existing, replacing_folder
from numcolbert.program import not_negative, parser_of, positive, program
from numcolbert.reproduce.imported import write_texts
from numcolbert.train.benchmarks import Corpus, read_benchmark, read_corpus, with_suites

CORPUS = "corpus.jsonl"
OTHER_SEED = 1_000
"""Added to the benchmark's seed: the same draws again would find all their queries taken."""
TRIES = 3
"""So many times as many queries are drawn, since those between known couples of concepts are left out."""


def drawn(builder: Builder, count: int, fewest: int) -> dict[str, list[JudgedQuery]]:
    """New queries for each suite of a benchmark that is built."""
    known = {_concepts(query) for queries in builder.made.suites.values() for query in queries}
    builder.settings = replace(builder.settings, seed=builder.settings.seed + OTHER_SEED)
    found = {}
    for name, draw in SUITES.items():
        queries = draw(builder, TRIES * count)
        if name == "two_conditions":
            queries = [query for query in queries if _concepts(query) not in known]
        if len(queries) >= fewest:
            found[name] = queries[:count]
    return found


def same(builder: Builder, benchmark: Path, corpus: Corpus) -> bool:
    """Whether what was built has the collection and all queries of the benchmark in that folder."""
    test, *suites = with_suites(benchmark)
    pool, removed = builder.pool, builder.made.removed
    asked = {suite.name.rpartition("/")[2]: suite.query_texts for suite in suites}
    texts = {name: [query.text for query in queries] for name, queries in builder.made.suites.items()}
    return (
        test.query_texts == [query.text for query in builder.made.test]
        and asked == texts
        and corpus.ids == [document_id(pool, row) for row in range(len(pool.sentences)) if row not in removed]
    )


def without(corpus: Corpus, names: set[str]) -> Corpus:
    left = [(name, text) for name, text in zip(corpus.ids, corpus.texts, strict=True) if name not in names]
    return Corpus(corpus.path, [name for name, _ in left], [text for _, text in left])


def _concepts(query: JudgedQuery) -> frozenset[tuple[str, str]]:
    return frozenset(condition.pair for condition in query.asked)


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("pool", type=Path)
    parser.add_argument("benchmark", type=Path, help="made of this pool")
    parser.add_argument("-o", "--out", type=Path, required=True)
    for option, usual in (("queries", 420), ("development", 102), ("suite", 60), ("seed", 13)):
        parser.add_argument(f"--{option}", type=int, default=usual, help="what the benchmark was made with")
    parser.add_argument("--count", type=positive, default=80, help="queries in each suite")
    parser.add_argument(
        "--fewest", type=positive, default=20, help="queries without which a suite is left out"
    )
    parser.add_argument("--passages", type=not_negative, default=20_000)
    parser.add_argument("--overwrite", action="store_true")
    given = parser.parse_args(arguments)
    refuse_nested(given.benchmark, given.out)
    refuse_existing(given.out, "folder", overwrite=given.overwrite, mark=CORPUS)
    pool, name = Pool.load(given.pool), given.benchmark.resolve().name
    corpus = read_corpus(read_benchmark(given.benchmark).corpus_path)
    settings = BenchmarkSettings(name, given.queries, given.development, suite=given.suite, seed=given.seed)
    builder = Builder(pool, settings)
    builder.build()
    if not same(builder, given.benchmark, corpus):
        raise InputError(
            f"The benchmark '{given.benchmark}' was not made of the pool '{given.pool}' with these options.",
            hint="give the pool, --queries, --development, --suite and --seed that it was made with",
        )
    suites = drawn(builder, given.count, given.fewest)
    if not suites:
        raise InputError(
            f"The pool '{given.pool}' yields no suite with {given.fewest} new queries.",
            hint="lower --fewest, or mine a larger corpus",
        )
    removed = builder.made.removed  # more than from the benchmark
    left = without(corpus, {document_id(pool, row) for row in removed})
    known = {
        document_id(pool, row)
        for queries in suites.values()
        for query in queries
        for row in (*query.relevant, *query.violating)
    }
    part = cut(left, known, given.passages, given.seed)
    with replacing_folder(given.out, overwrite=given.overwrite, mark=CORPUS) as aside:
        write_texts(aside / CORPUS, zip(part.ids, part.texts, strict=True))
        for suite, queries in suites.items():
            write_set(pool, aside / "suites" / suite, queries, removed)
    sys.stdout.write(", ".join(f"{suite} {len(some)}" for suite, some in suites.items()) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
