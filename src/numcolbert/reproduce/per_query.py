"""nDCG@10 of every system on every query: enough for a paired test when the run files are gone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from numcolbert.baselines.ranker import Run
from numcolbert.evaluate.measures import measure_all
from numcolbert.evaluate.significance import PairedTest, paired_test
from numcolbert.evaluate.trec import Qrels

if TYPE_CHECKING:
    from numcolbert.reproduce.table import BenchmarkTable

MEASURE = "nDCG@10"
FILE = "per-query.json"
QueryScores = dict[str, float]


def query_scores(runs: Mapping[str, Run], qrels: Qrels) -> dict[str, QueryScores]:
    """System -> query -> nDCG@10; a query without hits scores zero."""
    return {
        name: dict(zip(scores.queries, scores.of(MEASURE).tolist(), strict=True))
        for name, scores in measure_all(runs, qrels, [MEASURE]).items()
    }


def compare_pair(table: BenchmarkTable, system: str, other: str) -> PairedTest | None:
    """One row against another, None where one of them was not measured."""
    import numpy as np

    if system not in table.scores or other not in table.scores:
        return None
    ours, theirs = table.scores[system], table.scores[other]
    return paired_test(np.array([*ours.values()]), np.array([theirs[query] for query in ours]))


def as_json(tables: Sequence[BenchmarkTable]) -> str:
    """System -> benchmark -> query -> four digits, a line a benchmark. Systems are named like their folders,
    since a row may have another name in another table."""
    found: dict[str, dict[str, str]] = {}
    for table in tables:
        for row in table.spec.rows:
            if row.name in table.scores:
                short = {query: _short(value) for query, value in table.scores[row.name].items()}
                line = json.dumps(short, separators=(",", ":"))
                found.setdefault(row.system, {})[table.benchmark] = line
    systems = []
    for system, lines in sorted(found.items()):
        inside = ",\n".join(f" {json.dumps(name)}:{line}" for name, line in sorted(lines.items()))
        systems.append(f"{json.dumps(system)}:{{\n{inside}}}")
    return "{" + ",\n".join(systems) + "}\n"


def _short(value: float) -> float | int:
    """Most queries score 0 or 1, which need no point."""
    rounded = round(value, 4)
    return int(rounded) if rounded.is_integer() else rounded
