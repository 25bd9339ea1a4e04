"""Several runs as one: how much would systems reach together that err in other places?

    python scripts/fused_runs.py RUN... -o FUSED
    numcolbert evaluate FUSED RUN... --qrels BENCHMARK/qrels.trec

Scores are brought to mean 0 and deviation 1 for each query and run, and added up. What a run does not hold
gets its lowest score. It tells what training one model from several could reach; no system of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from numcolbert.baselines.ranker import Run, best
from numcolbert.evaluate.trec import read_run, write_run
from numcolbert.files import refuse_existing
from numcolbert.program import parser_of, program

DEPTH = 100


def standard(hits: Mapping[str, float]) -> dict[str, float]:
    """Scores of one query with mean 0 and deviation 1."""
    scores = np.array(list(hits.values()))
    spread = float(scores.std()) or 1.0
    return {document: (score - float(scores.mean())) / spread for document, score in hits.items()}


def fused(runs: Sequence[Run]) -> Run:
    together: Run = {}
    for query in dict.fromkeys(query for run in runs for query in run):
        parts = [standard(run[query]) for run in runs if run.get(query)]
        lowest = [min(part.values()) for part in parts]
        documents = dict.fromkeys(document for part in parts for document in part)
        sums = {d: sum(part.get(d, low) for part, low in zip(parts, lowest, strict=True)) for d in documents}
        together[query] = best(sums, DEPTH)
    return together


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("runs", type=Path, nargs="+", help="TREC runs of the same queries")
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--overwrite", action="store_true")
    given = parser.parse_args(arguments)
    refuse_existing(given.out, "file", overwrite=given.overwrite)
    write_run(given.out, fused([read_run(path) for path in given.runs]), "fused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
