"""Measures of a run, query by query, computed by ir-measures on top of trec_eval's code."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from subprocess import CalledProcessError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numcolbert.baselines.ranker import Run
from numcolbert.errors import UsageError
from numcolbert.evaluate.trec import Qrels
from numcolbert.train.trec import HIGHEST_GRADE

DEFAULT_MEASURES = ("nDCG@10", "RR@10", "P@10", "R@100")
_DEEPEST = 2**31 - 1
_BETWEEN = re.compile(r",(?![^(]*\))")
_STAND_IN = "no document"
"""An id with a space, which no TREC file can hold."""


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


def split_measures(text: str) -> list[str]:
    """Names with commas between them; those in brackets stand between the parameters of one measure."""
    return [name for part in _BETWEEN.split(text) if (name := part.strip())]


def canonical_measures(names: Sequence[str]) -> tuple[str, ...]:
    """Check measure names and spell them as ir-measures does ('MRR@10' is 'RR@10')."""
    if not names:
        raise UsageError("There is no measure to compute.", hint="name one, as in nDCG@10 or R@100")
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
        try:
            for metric in ir_measures.iter_calc(list(asked.values()), _countable(qrels), judged):
                for name in columns[str(metric.measure)]:
                    values[row[metric.query_id], column[name]] = metric.value
        except CalledProcessError as error:  # gdeval, which computes ERR, wants numbers for ids of queries
            raise UsageError(
                f"One of {', '.join(names)} cannot be computed with these ids of queries.",
                hint="name measures of trec_eval, as in nDCG@10 or R@100",
            ) from error
    for name, m in cuts.items():
        cutoff = m.params.get("cutoff")
        if m.NAME == "RR" and cutoff is not None:
            reciprocal = values[:, column[name]]
            reciprocal[reciprocal < 1 / cutoff - 1e-12] = 0.0
    return Scores(names, queries, values, unanswered=frozenset(row.keys() - judged.keys()))


def _countable(qrels: Qrels) -> Qrels:
    """trec_eval counts grades up to the highest, and may never end where that is below zero.

    Such a query gets a grade of zero on a document nobody can find.
    """
    return {
        query: judged if max(judged.values(), default=0) >= 0 else {**judged, _STAND_IN: 0}
        for query, judged in qrels.items()
    }


def measure_all(
    runs: Mapping[str, Run], qrels: Qrels, measures: Sequence[str] = DEFAULT_MEASURES
) -> dict[str, Scores]:
    return {name: measure(run, qrels, measures) for name, run in runs.items()}


def _parse(name: str) -> Any:
    import ir_measures

    try:
        parsed: Any = ir_measures.parse_measure(name)
        parsed.validate_params()
    except (NameError, ValueError, KeyError, SyntaxError, AssertionError) as error:
        raise _no_measure(name) from error
    if not _within_bounds(parsed.params):
        raise _no_measure(name)
    known: Any = ir_measures.DefaultPipeline
    if not known.supports(parsed):
        raise UsageError(
            f"'{name}' needs a package of ir-measures that is not installed.",
            hint="measures of trec_eval need none, as nDCG@10 or R@100",
        )
    return parsed


def _within_bounds(params: Mapping[str, Any]) -> bool:
    # At a cutoff of 0 trec_eval ends the whole process; one that no C integer holds it takes for another.
    if not 1 <= params.get("cutoff", 1) <= _DEEPEST or not 1 <= params.get("rel", 1) <= HIGHEST_GRADE:
        return False
    gains = params.get("gains", {}).values()  # they take the place of grades
    return all(isinstance(gain, int) and abs(gain) <= HIGHEST_GRADE for gain in gains)


def _no_measure(name: str) -> UsageError:
    return UsageError(
        f"'{name}' is not a measure.", hint="names are those of ir-measures, as in nDCG@10 or R@100"
    )


def _without_cutoff(measure: Any) -> Any:
    import ir_measures

    rest = {key: value for key, value in measure.params.items() if key != "cutoff"}
    return ir_measures.RR(**rest) if rest else ir_measures.RR
