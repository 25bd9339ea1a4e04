"""The measured tables as grids and as one page, the paper's numbers beside ours."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from numcolbert import __version__
from numcolbert.evaluate.compare import Comparison
from numcolbert.report.grid import Entry, Grid
from numcolbert.report.html import Page, Picture, Section
from numcolbert.report.tables import table_grid, tukey_grid
from numcolbert.reproduce.engines import EngineRow, engine_grid
from numcolbert.reproduce.spec import TableSpec
from numcolbert.reproduce.standing import overview, standings
from numcolbert.reproduce.summary import losses, opening, told_of
from numcolbert.reproduce.table import BenchmarkTable


def table_grids(table: BenchmarkTable) -> list[Grid]:
    """Ours and the paper's side by side, then a table a slice and Tukey's tests where there are some."""
    grids = [main_grid(table)]
    if table.comparison is None:
        return grids
    for part in table.comparison.tables[1:]:
        grid = table_grid(part, table.comparison)
        grids.append(Grid(f"{table.benchmark}: operator {grid.title}", grid.columns, grid.rows, grid.notes))
    for measure, pairs in table.comparison.overall.tukey.items():
        title = f"{table.benchmark}, {measure}: all pairs (Tukey HSD)"
        grids.append(tukey_grid(title, pairs, table.comparison.alpha))
    return grids


def main_grid(table: BenchmarkTable) -> Grid:
    spec, comparison = table.spec, table.comparison
    measured: dict[str, Sequence[Entry]] = {}
    notes: list[str] = []
    if comparison is not None:
        grid = table_grid(comparison.overall, comparison)
        measured = {row[0].text: row[1:] for row in grid.rows}
        notes = list(grid.notes)
    data = spec.paper_data.get(table.benchmark)
    columns = ["system", *spec.measures, *spec.facts]
    if data is not None:
        columns += [f"paper {measure}" for measure in spec.paper_measures]
    rows = []
    for row, state in zip(spec.rows, table.states, strict=True):
        if table.is_suite and row.name not in table.measured:
            continue  # the table of the whole benchmark says what it needs
        ours = [*(measured.get(row.name) or [Entry("–", detail=state.how)] * len(spec.measures))]
        if comparison is not None and row.name in measured:
            best = row.competes
            ours = [
                replace(entry, best=best and cell_is_best(comparison, spec, row.name, measure))
                for entry, measure in zip(ours, comparison.measures, strict=True)
            ]
        ours += [_fact(state.facts.get(name)) for name in spec.facts]
        name = f"{row.name} *" if row.upper_bound else row.name
        entries = [Entry(name, detail=row.note), *ours]
        if data is not None:
            values = row.paper.get(data, [])
            entries += [Entry(_short(value)) for value in values] or [Entry("")] * len(spec.paper_measures)
        rows.append(entries)
    if any(row.upper_bound for row in spec.rows):
        notes.append("* An upper bound: it is given the query's condition.")
    notes += _kept(table)
    notes += _from_earlier(table)
    notes += [f"{s.name} {s.warning}." for s in table.states if s.warning]
    if table.is_suite and (missing := _missing(table)):
        notes.append("Not measured: " + ", ".join(missing) + ".")
    about = [f"{comparison.overall.queries:,} queries"] if comparison else []
    about += [f"the paper's columns: {data}"] if data is not None else []
    title = f"{table.benchmark} ({'; '.join(about)})" if about else table.benchmark
    return Grid(title, columns, rows, notes)


def cell_is_best(comparison: Comparison, spec: TableSpec, system: str, measure: str) -> bool:
    """Whether no other system that competes is better."""
    names = {row.name for row in spec.rows if row.competes}
    rows = comparison.overall.rows
    means = {row.system: row.cells[measure].mean for row in rows if measure in row.cells}
    rivals = [mean for name, mean in means.items() if name in names]
    return len(rivals) > 1 and means.get(system) == max(rivals)


def _fact(value: float | None) -> Entry:
    return Entry("–" if value is None else f"{value:,.3g}" if value < 100 else f"{value:,.0f}")


def _kept(table: BenchmarkTable) -> list[str]:
    """How much of another system's quality the subject keeps."""
    spec, comparison = table.spec, table.comparison
    reference = spec.kept.get(table.benchmark)
    if comparison is None or reference is None:
        return []
    rows = {row.system: row for row in comparison.overall.rows}
    if spec.subject not in rows or reference not in rows:
        return []
    shares = [
        f"{rows[spec.subject].cells[m].mean / rows[reference].cells[m].mean:.1%} of its {m}"
        for m in comparison.measures
        if m in rows[spec.subject].cells and m in rows[reference].cells and rows[reference].cells[m].mean
    ]
    return [f"{spec.subject} against {reference}: " + ", ".join(shares) + "."] if shares else []


def _from_earlier(table: BenchmarkTable) -> list[str]:
    """Which rows were not measured from run files."""
    if table.refused:
        return [table.refused]
    kept = [state.name for state in table.states if state.kept]
    if not kept:
        return []
    everything = len(kept) == len(table.measured)
    # Names of rows hold commas.
    note = f"From kept measures, without run files: {'all rows' if everything else '; '.join(kept)}."
    lacking = any(not set(table.spec.measures) <= set(table.measured[name].scores.measures) for name in kept)
    return [note + (" Not all measures were kept of each (–)." if lacking else "")]


def table_section(spec: TableSpec, tables: Sequence[BenchmarkTable]) -> Section:
    """Benchmarks, then their suites, and what is to know about the rows of all of them."""
    whole = [table for table in tables if not table.is_suite]
    suites = [table for table in tables if table.is_suite]
    grids = [grid for table in (*whole, *suites) for grid in table_grids(table)]
    text = [spec.note]
    if spec.among:
        text.append(losses(spec, [standing for table in tables for standing in standings(table)]))
    return Section(spec.title, grids, text=[*filter(None, text)], notes=row_notes(spec, whole))


def row_notes(spec: TableSpec, tables: Sequence[BenchmarkTable]) -> list[str]:
    """How rows were made, and what those need that were not, once for all benchmarks."""
    measured = {name for table in tables for name in table.measured}
    made = [f"{row.name}: {row.note}" for row in spec.rows if row.note and row.name in measured]
    needs = [
        f"{name}{f' on {table.benchmark}' if name in measured else ''}: {how.rstrip('.')}."
        for table in tables
        for name, how in _missing(table).items()
    ]
    if needs:
        made.append("Rows marked – are to be measured. What each needs:")
    return [*made, *dict.fromkeys(needs)]


def _missing(table: BenchmarkTable) -> dict[str, str]:
    """The rows that were not measured, and what they need."""
    return {state.name: state.how for state in table.states if state.name not in table.measured}


def report_page(
    tables: Sequence[tuple[TableSpec, Sequence[BenchmarkTable]]],
    pictures: Sequence[Picture] = (),
    engines: Sequence[EngineRow] = (),
    note: str = "",
) -> Page:
    first = overview(told_of(tables))
    sections = [first] if first else []
    sections += [table_section(spec, made) for spec, made in tables]
    if engines:
        sections.append(Section("Engines", [engine_grid(engines)]))
    if pictures:
        sections.append(Section("Figures", pictures=pictures))
    editions = {
        t.benchmark: t.asked.fingerprint[:12] or "of an unknown edition"
        for _, made in tables
        for t in made
        if not t.is_suite
    }
    facts = {
        "benchmarks": ", ".join(f"{name} {edition}" for name, edition in editions.items())
        + " (hash of passages and queries)",
        "software": f"numcolbert {__version__}, Python {platform.python_version()}",
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "statistics": "means over queries; paired t-tests with Holm's correction within each table and "
        "measure; 95% bootstrap intervals (point at a number)",
    }
    return Page(
        "NumColBERT, measured",
        "Every system on the same queries, passages and labels.",
        opening(tables, note),
        sections,
        facts,
    )


def run_lines(table: BenchmarkTable, runs: Path) -> list[str]:
    """What became of each row, for the log."""
    lines = []
    for state in table.states:
        place = f" ({state.path.relative_to(runs)})" if state.path and state.path.is_relative_to(runs) else ""
        lines.append(f"{table.benchmark}: {state.name}: {state.how}{place}")
    return [*lines, f"{table.benchmark}: {table.refused}"] if table.refused else lines


def _short(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") if value >= 1 else f"{value:.3f}".rstrip("0").ljust(4, "0")
