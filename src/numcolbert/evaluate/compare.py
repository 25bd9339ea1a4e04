"""Several runs on one benchmark, with statistics: one call, one report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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


@dataclass(frozen=True, slots=True)
class Table:
    """All systems on one set of queries."""

    name: str
    queries: int
    rows: list[Row]
    tukey: dict[str, list[TukeyPair]] = field(default_factory=dict)
    """Per measure; filled on request."""

    def best(self, measure: str) -> float:
        return max(row.cells[measure].mean for row in self.rows)


@dataclass(frozen=True, slots=True)
class Comparison:
    dataset: str
    measures: tuple[str, ...]
    baseline: str | None
    alpha: float
    level: float
    resamples: int
    seed: int
    tables: list[Table]
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
    result = Comparison(dataset, names, baseline, alpha, level, resamples, seed, [])
    for part in (Slice(dataset, qrels), *slices):
        scores = measure_all(runs, part.qrels, names)
        table = Table(part.name, len(part.qrels), _rows(scores, result))
        if with_tukey:
            for name in names:
                groups = {system: values.of(name) for system, values in scores.items()}
                # Without any spread there is nothing to test: no pairs rather than a failure.
                table.tukey[name] = tukey(groups, level) if any(map(np.ptp, groups.values())) else []
        result.tables.append(table)
    return result


def _rows(scores: Mapping[str, Scores], settings: Comparison) -> list[Row]:
    tests = {measure: _tests(scores, measure, settings) for measure in settings.measures}
    together = np.hstack([system.values for system in scores.values()])  # [queries, systems * measures]
    lows, highs = bootstrap_intervals(
        together, level=settings.level, resamples=settings.resamples, seed=settings.seed
    )
    means = together.mean(axis=0)
    rows = []
    for position, (name, system) in enumerate(scores.items()):
        cells = {}
        for column, measure in enumerate(settings.measures, position * len(settings.measures)):
            versus = tests[measure].get(name)
            cells[measure] = Cell(float(means[column]), float(lows[column]), float(highs[column]), versus)
        rows.append(Row(name, system.missing, cells))
    return rows


def _tests(scores: Mapping[str, Scores], measure: str, settings: Comparison) -> dict[str, Versus]:
    """One Holm family: every system but the baseline, on one measure."""
    if settings.baseline is None:
        return {}
    reference = scores[settings.baseline].of(measure)
    others = [name for name in scores if name != settings.baseline]
    tests = [paired_test(scores[name].of(measure), reference) for name in others]
    corrected = holm([test.p for test in tests])
    return {
        name: Versus(test, p, p < settings.alpha)
        for name, test, p in zip(others, tests, corrected, strict=True)
    }
