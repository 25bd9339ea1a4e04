"""Measures of a run, query by query, computed by ir-measures on top of trec_eval's code."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numcolbert.baselines.ranker import Run
from numcolbert.errors import UsageError
from numcolbert.evaluate.trec import Qrels

DEFAULT_MEASURES = ("nDCG@10", "RR@10", "P@10", "R@100")


@dataclass(frozen=True, slots=True)
class Scores:
    """One run, measured. A query the run does not answer scores zero."""

    measures: tuple[str, ...]
    queries: tuple[str, ...]
    values: NDArray[np.float64]  # [queries, measures]
    unanswered: frozenset[str] = frozenset()
    """Judged queries for which the run holds nothing."""

    @property
    def missing(self) -> int:
        return len(self.unanswered)

    def of(self, measure: str) -> NDArray[np.float64]:
        return self.values[:, self.measures.index(measure)]  # [queries]

    def on(self, queries: Collection[str]) -> Scores:
        """The same of some of the queries."""
        wanted = frozenset(queries)
        rows = [row for row, query in enumerate(self.queries) if query in wanted]
        some = tuple(self.queries[row] for row in rows)
        return Scores(self.measures, some, self.values[rows], self.unanswered & wanted)

    def means(self) -> dict[str, float]:
        return dict(zip(self.measures, self.values.mean(axis=0).tolist(), strict=True))


def canonical_measures(names: Sequence[str]) -> tuple[str, ...]:
    """Check measure names and spell them as ir-measures does ('MRR@10' is 'RR@10')."""
    return tuple(dict.fromkeys(str(_parse(name)) for name in names))


def measure(run: Run, qrels: Qrels, measures: Sequence[str] = DEFAULT_MEASURES) -> Scores:
    """Measure `run` on every query of `qrels`."""
    import ir_measures

    names = canonical_measures(measures)
    queries = tuple(sorted(qrels))
    row = {query: i for i, query in enumerate(queries)}
    column = {name: i for i, name in enumerate(names)}
    values = np.zeros((len(queries), len(names)))

    # trec_eval knows the reciprocal rank only without a cutoff. Cutting afterwards keeps its treatment of
    # ties, which differs from that of the other library ir-measures would take for RR@k.
    cuts = {name: _parse(name) for name in names}
    asked = {name: _without_cutoff(m) if m.NAME == "RR" else m for name, m in cuts.items()}
    columns: dict[str, list[str]] = {}
    for name, m in asked.items():
        columns.setdefault(str(m), []).append(name)

    judged = {query: ranking for query, ranking in run.items() if query in row and ranking}
    if judged:
        for metric in ir_measures.iter_calc(list(asked.values()), qrels, judged):
            for name in columns[str(metric.measure)]:
                values[row[metric.query_id], column[name]] = metric.value
    for name, m in cuts.items():
        cutoff = m.params.get("cutoff")
        if m.NAME == "RR" and cutoff is not None:
            reciprocal = values[:, column[name]]
            reciprocal[reciprocal < 1 / cutoff - 1e-12] = 0.0
    return Scores(names, queries, values, unanswered=frozenset(row.keys() - judged.keys()))


def measure_all(
    runs: Mapping[str, Run], qrels: Qrels, measures: Sequence[str] = DEFAULT_MEASURES
) -> dict[str, Scores]:
    return {name: measure(run, qrels, measures) for name, run in runs.items()}


def _parse(name: str) -> Any:
    import ir_measures

    try:
        return ir_measures.parse_measure(name)
    except (NameError, ValueError, KeyError, SyntaxError) as error:
        raise UsageError(
            f"'{name}' is not a measure.", hint="names are those of ir-measures, as in nDCG@10 or R@100"
        ) from error


def _without_cutoff(measure: Any) -> Any:
    import ir_measures

    rest = {key: value for key, value in measure.params.items() if key != "cutoff"}
    return ir_measures.RR(**rest) if rest else ir_measures.RR
