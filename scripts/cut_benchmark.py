"""A benchmark over fewer passages, so that many models can be compared on it without a GPU.

    python scripts/cut_benchmark.py BENCHMARK/dev -o CUT --runs BM25.run... --best 100 --passages 20000

keeps what is known of the queries (qrels.trec, about.trec), the first hits of the runs, and so many other
passages. Values are higher than on the whole collection: compare models by them, and report what
the whole one says.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

from numcolbert.errors import ConflictError, InputError
from numcolbert.evaluate.wrong_hits import find_about, read_about
from numcolbert.files import refuse_existing, replacing_folder
from numcolbert.program import not_negative, parser_of, positive, program
from numcolbert.reproduce.imported import write_texts
from numcolbert.train.benchmarks import Corpus, read_benchmark, read_corpus
from numcolbert.train.reranking import read_candidates

MARK = "queries.jsonl"


def cut(corpus: Corpus, known: Iterable[str], passages: int, seed: int) -> Corpus:
    """The `known` passages and so many others, in the order of the corpus."""
    kept = set(known)
    others = [name for name in corpus.ids if name not in kept]
    kept.update(Random(seed).sample(others, min(passages, len(others))))
    rows = [(n, text) for n, text in zip(corpus.ids, corpus.texts, strict=True) if n in kept]
    return Corpus(corpus.path, [n for n, _ in rows], [text for _, text in rows])


def known_passages(folder: Path, runs: Sequence[Path], best: int) -> set[str]:
    benchmark = read_benchmark(folder)
    about = read_about(folder, benchmark.qrels) if find_about(folder) else {}
    judged = {name for grades in (*benchmark.qrels.values(), *about.values()) for name in grades}
    hits = (found[:best] for run in runs for found in read_candidates(run).values())
    return judged.union(*hits)


def refuse_nested(source: Path, out: Path) -> None:
    """Replacing the benchmark, or a folder around it, would lose the passages that are left out."""
    source_place, out_place = source.resolve(), out.resolve()
    if source_place.is_relative_to(out_place) or out_place.is_relative_to(source_place):
        raise ConflictError(
            f"'{out}' is the benchmark '{source}', or one lies in the other.",
            hint="choose a folder beside the benchmark",
        )


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--runs", type=Path, nargs="*", default=[], help="whose first hits are kept")
    parser.add_argument("--best", type=positive, default=100, help="so many of each query")
    parser.add_argument("--passages", type=not_negative, default=20_000, help="beside those")
    parser.add_argument("--seed", type=int, default=1, help="of the choice of these")
    parser.add_argument("--overwrite", action="store_true")
    given = parser.parse_args(arguments)
    refuse_nested(given.benchmark, given.out)
    refuse_existing(given.out, "folder", overwrite=given.overwrite, mark=MARK)
    known = known_passages(given.benchmark, given.runs, given.best)
    corpus = read_corpus(read_benchmark(given.benchmark).corpus_path)
    if strangers := known - set(corpus.ids):
        raise InputError(
            f"Document '{min(strangers)}' is not in '{corpus.path}'.",
            hint="runs and benchmark must belong together",
        )
    smaller = cut(corpus, known, given.passages, given.seed)
    left_out = shutil.ignore_patterns("corpus.jsonl*", "dev", "suites")
    with replacing_folder(given.out, overwrite=given.overwrite, mark=MARK) as aside:
        shutil.copytree(given.benchmark, aside, ignore=left_out, dirs_exist_ok=True)
        write_texts(aside / "corpus.jsonl", zip(smaller.ids, smaller.texts, strict=True))
    sys.stdout.write(f"{len(smaller.ids):,} of {len(corpus.ids):,} passages\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
