"""The reranking task of MS MARCO, for whoever has its files.

    python -m numcolbert.reproduce.msmarco SOURCE BENCHMARKS [--model CHECKPOINT -o RUNS/SYSTEM]

SOURCE holds the official files (plain, .gz or .xz), tab-separated:

    top1000.dev          query id, passage id, query, passage: BM25's first thousand for each query
    qrels.dev.small.tsv  query id, 0, passage id, grade

They become the benchmark `msmarco-dev`; with a model, every query's candidates are ranked anew and measured
(MRR@10 is the official measure). Queries without candidates count as zero.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from numcolbert.errors import InputError
from numcolbert.evaluate.trec import Qrels, write_qrels
from numcolbert.files import replacing_folder, text_lines
from numcolbert.program import program
from numcolbert.reproduce.imported import (
    command_parser,
    find_file,
    import_and_rank,
    text_line,
    write_texts,
)

NAME = "msmarco-dev"
CANDIDATES = "candidates.trec"


def import_msmarco(source: Path, target: Path) -> None:
    """Write the benchmark folder with its candidates; an older one is replaced."""
    qrels = _qrels(_found(source, "qrels.dev.small.tsv", "qrels.dev.tsv"))
    queries: dict[str, str] = {}
    written: set[str] = set()
    ranks: dict[str, int] = {}
    path = _found(source, "top1000.dev", "top1000.dev.tsv")
    with (
        replacing_folder(target, overwrite=True, mark="queries.jsonl") as aside,
        (aside / "corpus.jsonl").open("w", encoding="utf-8") as corpus,
        (aside / CANDIDATES).open("w", encoding="utf-8") as candidates,
    ):
        for number, line in text_lines(path):
            cells = line.rstrip("\r\n").split("\t")
            if len(cells) != 4:
                raise InputError(
                    f"Line {number} of '{path}' has {len(cells)} columns.",
                    hint="each line holds query id, passage id, query and passage, with tabs between them",
                )
            query, passage, asked, text = cells
            if query not in qrels:
                continue  # the small set judges some of the queries
            queries[query] = asked
            rank = ranks[query] = ranks.get(query, 0) + 1
            candidates.write(f"{query} Q0 {passage} {rank} {-rank} candidates\n")
            if passage not in written:
                written.add(passage)
                corpus.write(text_line(passage, text))
        if not queries:
            raise InputError(
                f"No query of '{path}' is judged.", hint="both files must come from the same download"
            )
        write_texts(aside / "queries.jsonl", queries.items())
        write_qrels(aside / "qrels.trec", qrels)


def _qrels(path: Path) -> Qrels:
    qrels: Qrels = {}
    for number, line in text_lines(path):
        cells = line.split()
        if not cells:
            continue
        if len(cells) != 4 or not cells[3].isdecimal():
            raise InputError(
                f"Line {number} of '{path}' is not a judgement.", hint="write query, 0, passage and grade"
            )
        qrels.setdefault(cells[0], {})[cells[2]] = int(cells[3])
    return qrels


def _found(folder: Path, *names: str) -> Path:
    return find_file(folder, *names, hint="it is part of MS MARCO's passage ranking download")


@program
def main(arguments: Sequence[str] | None = None) -> int:
    def bring_in(chosen: argparse.Namespace) -> list[str]:
        folder = chosen.benchmarks / NAME
        import_msmarco(chosen.source, folder)
        return [str(folder), "--candidates", str(folder / CANDIDATES), "--depth", "1000"]

    return import_and_rank(command_parser("numcolbert.reproduce.msmarco", __doc__), arguments, bring_in)


if __name__ == "__main__":
    sys.exit(main())
