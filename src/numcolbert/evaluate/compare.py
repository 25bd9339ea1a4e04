"""Several runs on one benchmark, with statistics: one call, one report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from numcolbert.baselines.ranker import Run
from numcolbert.errors import UsageError
from numcolbert.evaluate.measures import DEFAULT_MEASURES, Scores, canonical_measures, measure_all
from numcolbert.evaluate.significance import (
    PairedTest,
    TukeyPair,
    bootstrap_intervals,
    holm,
    paired_test,
    tukey,
)
from numcolbert.evaluate.slices import Slice
from numcolbert.evaluate.trec import Qrels


@dataclass(frozen=True, slots=True)
class Versus:
    """A cell against the baseline's."""

    test: PairedTest
    p_holm: float
    """Corrected within this dataset and measure."""
    significant: bool

    @property
    def mark(self) -> str:
        """'+' where significantly better than the baseline, '-' where worse, else ''."""
        if not self.significant:
            return ""
        return "+" if self.test.difference > 0 else "-"


@dataclass(frozen=True, slots=True)
class Cell:
    mean: float
    low: float
    high: float
    versus: Versus | None = None


@dataclass(frozen=True, slots=True)
class Row:
    system: str
    missing: int
    """Queries without any hit; they count as zero."""
    cells: dict[str, Cell]
    """By measure; one the system was not measured by has none."""


@dataclass(frozen=True, slots=True)
class Table:
    """All systems on one set of queries."""

    name: str
    queries: int
    rows: list[Row]
    tukey: dict[str, list[TukeyPair]] = field(default_factory=dict)
    """Per measure; filled on request."""

    def best(self, measure: str) -> float:
        return max(row.cells[measure].mean for row in self.rows if measure in row.cells)


@dataclass(frozen=True, slots=True)
class Comparison:
    dataset: str
    measures: tuple[str, ...]
    baseline: str | None
    alpha: float = 0.05
    level: float = 0.95
    resamples: int = 2000
    seed: int = 0
    tables: list[Table] = field(default_factory=list)
    """The whole query set first, then one table a slice."""

    @property
    def overall(self) -> Table:
        return self.tables[0]


def compare(
    runs: Mapping[str, Run],
    qrels: Qrels,
    baseline: str | None = None,
    *,
    dataset: str = "all",
    measures: Sequence[str] = DEFAULT_MEASURES,
    slices: Sequence[Slice] = (),
    with_tukey: bool = False,
    alpha: float = 0.05,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Comparison:
    """Measure `runs` on `qrels` and on each slice, and test each system against `baseline`.

    Paired t-tests are Holm-corrected within each family: one dataset (or slice) and one measure.
    """
    if not runs:
        raise UsageError("There is no run to evaluate.", hint="name at least one run")
    if baseline is not None and baseline not in runs:
        raise UsageError(
            f"The baseline '{baseline}' is not among the runs.", hint="choose one of " + ", ".join(runs)
        )
    names = canonical_measures(measures)
    parts = [(part.name, measure_all(runs, part.qrels, names)) for part in (Slice(dataset, qrels), *slices)]
    settings = Comparison(dataset, names, baseline, alpha, level, resamples, seed)
    return compare_scores(parts, settings, with_tukey=with_tukey)


def compare_scores(
    parts: Sequence[tuple[str, Mapping[str, Scores]]], settings: Comparison, *, with_tukey: bool = False
) -> Comparison:
    """The same from what was measured before: for each part, the whole first, the scores of every system.

    `settings` says how; its tables are filled. A system may lack some of the measures.
    """
    tables = []
    for part, scores in parts:
        table = Table(part, len(next(iter(scores.values())).queries), _rows(scores, settings))
        if with_tukey:
            for name in settings.measures:
                groups = {system: of.of(name) for system, of in scores.items() if name in of.measures}
                # Without any spread, or where others lack the measure, there is nothing to test: no pairs
                # rather than a failure.
                testable = any(map(np.ptp, groups.values())) and (len(groups) > 1 or len(scores) == 1)
                table.tukey[name] = tukey(groups, settings.level) if testable else []
        tables.append(table)
    return replace(settings, tables=tables)


def _rows(scores: Mapping[str, Scores], settings: Comparison) -> list[Row]:
    tests = {measure: _tests(scores, measure, settings) for measure in settings.measures}
    columns = [
        (name, measure)
        for name, system in scores.items()
        for measure in settings.measures
        if measure in system.measures
    ]
    rows = {name: Row(name, system.missing, {}) for name, system in scores.items()}
    if not columns:
        return [*rows.values()]
    together = np.column_stack([scores[name].of(measure) for name, measure in columns])
    lows, highs = bootstrap_intervals(
        together, level=settings.level, resamples=settings.resamples, seed=settings.seed
    )
    means = together.mean(axis=0)
    for (name, measure), mean, low, high in zip(columns, means, lows, highs, strict=True):
        rows[name].cells[measure] = Cell(float(mean), float(low), float(high), tests[measure].get(name))
    return [*rows.values()]


def _tests(scores: Mapping[str, Scores], measure: str, settings: Comparison) -> dict[str, Versus]:
    """One Holm family: every system but the baseline, on one measure."""
    values = {name: system.of(measure) for name, system in scores.items() if measure in system.measures}
    if settings.baseline not in values:
        return {}
    reference = values.pop(settings.baseline)
    tests = [paired_test(ours, reference) for ours in values.values()]
    corrected = holm([test.p for test in tests])
    return {
        name: Versus(test, p, p < settings.alpha)
        for name, test, p in zip(values, tests, corrected, strict=True)
    }
