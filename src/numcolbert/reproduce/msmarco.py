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
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from numcolbert.errors import InputError, NotFoundError, NumColBERTError
from numcolbert.evaluate.trec import Qrels, write_qrels
from numcolbert.files import open_binary, replacing_folder

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
        replacing_folder(target, overwrite=True) as aside,
        open_binary(path) as lines,
        (aside / "corpus.jsonl").open("w", encoding="utf-8") as corpus,
        (aside / CANDIDATES).open("w", encoding="utf-8") as candidates,
    ):
        for number, line in enumerate(lines, 1):
            cells = line.decode("utf-8").rstrip("\r\n").split("\t")
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
                corpus.write(json.dumps({"_id": passage, "text": text}, ensure_ascii=False) + "\n")
        if not queries:
            raise InputError(
                f"No query of '{path}' is judged.", hint="both files must come from the same download"
            )
        rows = (json.dumps({"_id": q, "text": t}, ensure_ascii=False) + "\n" for q, t in queries.items())
        (aside / "queries.jsonl").write_text("".join(rows), encoding="utf-8")
        write_qrels(aside / "qrels.trec", qrels)


def _qrels(path: Path) -> Qrels:
    qrels: Qrels = {}
    with open_binary(path) as lines:
        for number, line in enumerate(lines, 1):
            cells = line.decode().split()
            if not cells:
                continue
            if len(cells) != 4 or not cells[3].isdigit():
                raise InputError(
                    f"Line {number} of '{path}' is not a judgement.", hint="write query, 0, passage and grade"
                )
            qrels.setdefault(cells[0], {})[cells[2]] = int(cells[3])
    return qrels


def _found(folder: Path, *names: str) -> Path:
    for name in names:
        for ending in ("", ".gz", ".xz"):
            if (folder / f"{name}{ending}").is_file():
                return folder / f"{name}{ending}"
    raise NotFoundError(
        f"'{folder}' holds no {names[0]}.", hint="it is part of MS MARCO's passage ranking download"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m numcolbert.reproduce.msmarco",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("source", type=Path, help="folder of the official files")
    parser.add_argument("benchmarks", type=Path, help="folder to write the benchmark to")
    parser.add_argument("--model", help="checkpoint to rank the candidates with")
    parser.add_argument("-o", "--out", type=Path, help="folder for its run file and results.json")
    parser.add_argument("--device", default="auto")
    chosen = parser.parse_args(arguments)
    if (chosen.model is None) != (chosen.out is None):
        parser.error("--model and --out belong together")
    folder = chosen.benchmarks / NAME
    try:
        import_msmarco(chosen.source, folder)
    except NumColBERTError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    if chosen.model is None:
        return 0
    from numcolbert.train import evaluate

    wanted = ["--candidates", str(folder / CANDIDATES), "--depth", "1000", "--device", chosen.device]
    return evaluate.main([chosen.model, str(folder), "-o", str(chosen.out), *wanted])


if __name__ == "__main__":
    sys.exit(main())
