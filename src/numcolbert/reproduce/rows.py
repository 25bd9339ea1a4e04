"""One row on one benchmark: its run is found or made, its measures are kept, or something is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from numcolbert.config import read_json
from numcolbert.errors import InputError, NumColBERTError
from numcolbert.evaluate.trec import read_run
from numcolbert.progress import clock
from numcolbert.reproduce.elsewhere import command_for
from numcolbert.reproduce.measured import Measured
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


@dataclass(frozen=True, slots=True)
class RowState:
    """What became of a row on one benchmark."""

    name: str
    path: Path | None
    how: str
    """'made in 0:12', 'reused', 'found', 'kept', or why there is none."""
    facts: Mapping[str, float] = field(default_factory=dict)
    """What else was measured when the run was made: milliseconds, bytes."""
    warning: str = ""
    """What a reader of its numbers must know."""
    kept: bool = False
    """Whether its numbers are those of an earlier report."""


def row_state(
    row: RowSpec, spec: TableSpec, benchmark: Benchmark, runs: Path, workshop: Workshop, *, run_missing: bool
) -> RowState:
    try:
        return _found_or_made(row, spec, benchmark, runs, workshop, run_missing=run_missing)
    except NumColBERTError as error:
        # One row that cannot be made, or has a damaged file, must not cost the others; the table says why.
        return RowState(row.name, None, f"{error.message} ({error.hint})")


def _found_or_made(
    row: RowSpec, spec: TableSpec, benchmark: Benchmark, runs: Path, workshop: Workshop, *, run_missing: bool
) -> RowState:
    if not row.measured or not row.made_here:
        found = find_run(runs, row.system, benchmark)
        if found is not None:
            return RowState(row.name, found, "found", _facts(found, benchmark))
        why = how_to_make(row)
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
    made = made_run(runs, row.system, benchmark, workshop, first)
    how = "reused" if made.reused else f"made in {clock(made.seconds)}"
    return RowState(row.name, made.path, how, warning=_too_shallow(row, first))


def kept_state(row: RowSpec, found: Measured | None) -> RowState | None:
    if found is None:
        return None
    return RowState(row.name, None, "kept", found.facts, found.warning, kept=True)


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
    if not path.is_file():
        return {}
    hint = "copy it again from where the run was made, or remove it"
    found = read_json(path, "file of facts", hint=hint)
    try:
        return {name: float(value) for name, value in found.items()}
    except (TypeError, ValueError) as error:
        raise InputError(f"'{path}' holds a fact that is no number: {error}.", hint=hint) from error


def how_to_make(row: RowSpec) -> str:
    command = command_for(row.system)
    if not row.measured or command is None:
        return row.note or "no run found"
    gpu = f"needs a GPU for about {command.gpu_minutes:.0f} minutes: " if command.gpu_minutes else ""
    return f"{gpu}{command.line}"
