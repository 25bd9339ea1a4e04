"""Make one table: find or make the run of each row, or its kept measures, and compare them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from numcolbert.errors import InputError, NumColBERTError
from numcolbert.evaluate.compare import Comparison, compare_scores
from numcolbert.evaluate.measures import DEFAULT_MEASURES, Scores, canonical_measures
from numcolbert.evaluate.trec import read_run
from numcolbert.files import sha256
from numcolbert.reproduce.measured import Kept, Measured, QuerySet, measured_run
from numcolbert.reproduce.rows import RowState, how_to_make, kept_state, row_state
from numcolbert.reproduce.runs import Workshop
from numcolbert.reproduce.spec import TableSpec
from numcolbert.train.benchmarks import Benchmark

_OPERATORS = ("=", ">", "<")


@dataclass(frozen=True)
class BenchmarkTable:
    benchmark: str
    spec: TableSpec
    states: list[RowState]
    comparison: Comparison | None
    """None where no row could be measured."""
    asked: QuerySet
    """Which edition of the benchmark was measured."""
    measured: Mapping[str, Measured] = field(default_factory=dict)
    """By the row's name."""
    refused: str = ""
    """Why no kept measures are used, where there are some."""

    @property
    def is_suite(self) -> bool:
        return "/" in self.benchmark

    @cached_property
    def against_subject(self) -> Comparison | None:
        """The systems that compete, each tested against the subject; None where that was not measured."""
        scores = {
            row.name: self.measured[row.name].scores
            for row in self.spec.rows
            if row.competes and row.name in self.measured
        }
        if self.spec.subject not in scores:
            return None
        return _compared_parts(self.spec, self.asked, scores, self.spec.subject)


def make_tables(
    spec: TableSpec,
    benchmarks: Sequence[Benchmark],
    runs: Path,
    workshop: Workshop,
    *,
    run_missing: bool = True,
    kept: Kept | None = None,
) -> list[BenchmarkTable]:
    """One table a benchmark. A run that is there comes first, then what is kept, then running the system.

    Row by row, so that a system indexes a corpus once for all who share it.
    """
    sets = [QuerySet.of(benchmark) for benchmark in benchmarks]
    known = [_kept_on(asked, kept or Kept()) for asked in sets]
    states: list[list[RowState]] = [[] for _ in benchmarks]
    for row in spec.rows:
        for benchmark, (systems, _), so_far in zip(benchmarks, known, states, strict=True):
            found = systems.get(row.system)
            run = run_missing and found is None
            state = row_state(row, spec, benchmark, runs, workshop, run_missing=run)
            so_far.append(state if state.path is not None else kept_state(row, found) or state)
    tables = []
    for benchmark, asked, (systems, refused), so_far in zip(benchmarks, sets, known, states, strict=True):
        measured = _measured(spec, benchmark, so_far, systems)
        tables.append(_compared(spec, asked, so_far, measured, refused))
    return tables


def kept_tables(spec: TableSpec, sets: Sequence[QuerySet], kept: Kept) -> list[BenchmarkTable]:
    """The same of benchmarks that are not here: nothing can be run or read, what is kept is all there is."""
    tables = []
    for asked in sets:
        systems = kept.on(asked)
        states = [
            kept_state(row, systems.get(row.system)) or RowState(row.name, None, how_to_make(row))
            for row in spec.rows
        ]
        measured = {row.name: systems[row.system] for row in spec.rows if row.system in systems}
        tables.append(_compared(spec, asked, states, measured))
    return tables


def _kept_on(asked: QuerySet, kept: Kept) -> tuple[Mapping[str, Measured], str]:
    """What may be used, and why nothing."""
    try:
        return kept.on(asked), ""
    except InputError as error:  # the runs of this edition can be measured all the same; the table says why
        return {}, f"{error.message} ({error.hint})"


def _measured(
    spec: TableSpec, benchmark: Benchmark, states: list[RowState], kept: Mapping[str, Measured]
) -> dict[str, Measured]:
    """By the row's name. All measures of all tables, also those not shown here: the report keeps them."""
    measures = canonical_measures((*spec.measures, *DEFAULT_MEASURES))
    found: dict[str, Measured] = {}
    asked = set(benchmark.query_ids)
    for position, (row, state) in enumerate(zip(spec.rows, states, strict=True)):
        if state.kept:
            found[row.name] = kept[row.system]
        elif state.path is not None:
            try:
                scores = measured_run(read_run(state.path, queries=asked), benchmark.qrels, measures)
            except NumColBERTError as error:  # one bad file must not cost the others; the table says why
                states[position] = RowState(row.name, None, f"{error.message} ({error.hint})")
            else:
                found[row.name] = Measured(scores, state.facts, state.warning, sha256(state.path))
    return found


def _compared(
    spec: TableSpec,
    asked: QuerySet,
    states: list[RowState],
    measured: Mapping[str, Measured],
    refused: str = "",
) -> BenchmarkTable:
    scores = {name: one.scores for name, one in measured.items()}
    comparison = (
        _compared_parts(spec, asked, scores, spec.baseline, with_tukey=spec.tukey) if scores else None
    )
    return BenchmarkTable(asked.name, spec, states, comparison, asked, measured, refused)


def _compared_parts(
    spec: TableSpec,
    asked: QuerySet,
    scores: Mapping[str, Scores],
    baseline: str,
    *,
    with_tukey: bool = False,
) -> Comparison:
    """Systems by name, on all queries and, where the table wants it, on those of each operator."""
    parts = sorted(asked.operators.items(), key=lambda part: _in_order(part[0])) if spec.operators else []
    return compare_scores(
        [
            (asked.name, scores),
            *((part, {name: s.on(some) for name, s in scores.items()}) for part, some in parts),
        ],
        Comparison(asked.name, canonical_measures(spec.measures), baseline if baseline in scores else None),
        with_tukey=with_tukey and len(scores) > 1,
    )


def _in_order(operator: str) -> int:
    """The same in every table, whatever a benchmark begins with."""
    return _OPERATORS.index(operator) if operator in _OPERATORS else len(_OPERATORS)
