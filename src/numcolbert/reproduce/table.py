"""Make one table: find or make the run of each row, compare them, set the paper's numbers beside ours."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numcolbert.baselines.ranker import Run
from numcolbert.errors import NumColBERTError
from numcolbert.evaluate.compare import Comparison, compare
from numcolbert.evaluate.slices import Slice, operator_slices
from numcolbert.evaluate.trec import read_run
from numcolbert.progress import clock
from numcolbert.reproduce.per_query import QueryScores, query_scores
from numcolbert.reproduce.runs import (
    Workshop,
    file_name,
    find_run,
    found_runs,
    made_run,
    saved_run,
    was_made_here,
)
from numcolbert.reproduce.spec import RowSpec, TableSpec
from numcolbert.reproduce.systems import find_system
from numcolbert.train.benchmarks import Benchmark
from numcolbert.train.fingerprint import fingerprint


@dataclass(frozen=True, slots=True)
class RowState:
    """What became of a row on one benchmark."""

    name: str
    path: Path | None
    how: str
    """'made in 0:12', 'reused', 'found', or why there is none."""
    facts: dict[str, float] = field(default_factory=dict)
    """What else was measured when the run was made: milliseconds, bytes."""
    warning: str = ""
    """What a reader of its numbers must know."""


@dataclass(frozen=True, slots=True)
class BenchmarkTable:
    benchmark: str
    spec: TableSpec
    states: list[RowState]
    comparison: Comparison | None
    """None where no row could be measured."""
    fingerprint: str = ""
    """Of the benchmark's collection and queries: which edition was measured."""
    scores: dict[str, QueryScores] = field(default_factory=dict)
    """Row -> query -> nDCG@10."""

    @property
    def is_suite(self) -> bool:
        return "/" in self.benchmark


def make_tables(
    spec: TableSpec,
    benchmarks: Sequence[Benchmark],
    runs: Path,
    workshop: Workshop,
    *,
    run_missing: bool = True,
) -> list[BenchmarkTable]:
    """One table a benchmark. Row by row, so that a system indexes a corpus once for all who share it."""
    states: list[list[RowState]] = [[] for _ in benchmarks]
    for row in spec.rows:
        for benchmark, so_far in zip(benchmarks, states, strict=True):
            so_far.append(row_state(row, spec, benchmark, runs, workshop, run_missing=run_missing))
    return [_compared(spec, b, found) for b, found in zip(benchmarks, states, strict=True)]


def _compared(spec: TableSpec, benchmark: Benchmark, states: list[RowState]) -> BenchmarkTable:
    there: dict[str, Run] = {}
    asked = set(benchmark.query_ids)
    for position, state in enumerate(states):
        if state.path is not None:
            try:
                there[state.name] = read_run(state.path, queries=asked)
            except NumColBERTError as error:  # one bad file must not cost the others; the table says why
                states[position] = RowState(state.name, None, f"{error.message} ({error.hint})")
    if not there:
        return BenchmarkTable(benchmark.name, spec, states, None, fingerprint(benchmark))
    comparison = compare(
        there,
        benchmark.qrels,
        spec.baseline if spec.baseline in there else None,
        dataset=benchmark.name,
        measures=spec.measures,
        slices=_slices(spec, benchmark),
        with_tukey=spec.tukey and len(there) > 1,
    )
    scores = query_scores(there, benchmark.qrels)
    return BenchmarkTable(benchmark.name, spec, states, comparison, fingerprint(benchmark), scores)


def row_state(
    row: RowSpec, spec: TableSpec, benchmark: Benchmark, runs: Path, workshop: Workshop, *, run_missing: bool
) -> RowState:
    if not row.measured or not row.made_here:
        found = find_run(runs, row.system, benchmark)
        if found is not None:
            return RowState(row.name, found, "found", _facts(found, benchmark))
        why = row.note if not row.measured else _how_to_make(row)
        if found_runs(runs, row.system, benchmark):
            why = f"to be measured: its run was made on another edition of the benchmark; {why}"
        return RowState(row.name, None, why)
    first: Path | None = None
    if row.first:
        before = next((r for r in spec.rows if r.system == row.first), RowSpec(row.first, row.first))
        state = row_state(before, spec, benchmark, runs, workshop, run_missing=run_missing)
        if state.path is None:
            return RowState(row.name, None, f"needs the run of {before.name}")
        first = state.path
    if not run_missing:
        return _saved_state(row, benchmark, runs, first)
    try:
        made = made_run(runs, row.system, benchmark, workshop, first)
    except NumColBERTError as error:
        # One row that cannot be made must not cost the others; the table says why.
        return RowState(row.name, None, f"{error.message} ({error.hint})")
    how = "reused" if made.reused else f"made in {clock(made.seconds)}"
    return RowState(row.name, made.path, how, warning=_too_shallow(row, first))


def _saved_state(row: RowSpec, benchmark: Benchmark, runs: Path, first: Path | None) -> RowState:
    saved = saved_run(runs, row.system, benchmark, first)
    found = saved.path if saved else find_run(runs, row.system, benchmark)
    if found is None:
        return RowState(row.name, None, "not run: asked for saved runs only")
    if saved is None and was_made_here(found):
        # Its note is there and does not fit: numbers of another edition must not stand in this table.
        return RowState(row.name, None, "not run: the saved run was made on something else")
    return RowState(row.name, found, "found", warning=_too_shallow(row, first))


def _too_shallow(row: RowSpec, first: Path | None) -> str:
    """A reranker over fewer hits than published is another system; trained systems may write 100 alone."""
    wanted = find_system(row.system).first_depth
    if first is None or not wanted:
        return ""
    deepest = max(map(len, read_run(first).values()))
    return f"stands on {deepest:,} hits a query, not {wanted:,}" if deepest < wanted else ""


def _facts(run: Path, benchmark: Benchmark) -> dict[str, float]:
    path = run.with_name(f"{file_name(benchmark)}.facts.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return {name: float(value) for name, value in found.items()}


def _how_to_make(row: RowSpec) -> str:
    if not row.command:
        return row.note or "no run found"
    gpu = f"needs a GPU for about {row.gpu_minutes:.0f} minutes: " if row.gpu_minutes else ""
    return f"{gpu}{row.command}"


def _slices(spec: TableSpec, benchmark: Benchmark) -> Sequence[Slice]:
    if not spec.operators or not benchmark.attributes:
        return ()
    return operator_slices(benchmark.qrels, benchmark.attributes)
