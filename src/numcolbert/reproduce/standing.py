"""How the subject of a table stands among the systems that compete: each of them is tested against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from numcolbert.evaluate.compare import Cell
from numcolbert.evaluate.measures import canonical_measures
from numcolbert.report.grid import Entry, Grid
from numcolbert.report.html import Section
from numcolbert.report.tables import table_grid
from numcolbert.reproduce.spec import TableSpec
from numcolbert.reproduce.table import BenchmarkTable

MEASURE = "nDCG@10"
"""By which systems are told apart, where a table has it."""


Kind = Literal["benchmark", "suite", "operator"]


@dataclass(frozen=True, slots=True)
class Standing:
    """On one set of queries, by one measure."""

    where: str
    kind: Kind
    measure: str
    ours: float
    others: Mapping[str, Cell]
    """By system, each tested against the subject."""

    @property
    def ahead(self) -> list[str]:
        """Those that are better in the digits that are told, the best first."""
        names = [name for name, cell in self.others.items() if round(cell.mean, 3) > round(self.ours, 3)]
        return sorted(names, key=lambda name: -self.others[name].mean)

    @property
    def clearly_ahead(self) -> list[str]:
        """Those of them that are significantly better."""
        return [name for name in self.ahead if (v := self.others[name].versus) is not None and v.significant]


def main_measure(spec: TableSpec) -> str:
    return MEASURE if MEASURE in spec.measures else canonical_measures(spec.measures)[0]


def standings(table: BenchmarkTable) -> list[Standing]:
    """By each measure the subject has: on the whole benchmark, then on each operator the table has."""
    comparison = table.against_subject
    found = []
    for number, part in enumerate(comparison.tables if comparison else []):
        where = f"{table.benchmark} with {part.name}" if number else table.benchmark
        kind: Kind = "operator" if number else "suite" if table.is_suite else "benchmark"
        rows = {row.system: row.cells for row in part.rows}
        for measure, cell in rows.pop(table.spec.subject).items():
            others = {name: cells[measure] for name, cells in rows.items() if measure in cells}
            found.append(Standing(where, kind, measure, cell.mean, others))
    return found


def overview(tables: Sequence[BenchmarkTable]) -> Section | None:
    """Every system against the subject, a column a benchmark, and a grid of the suites of each; None where
    there is no more to see than in the table of a benchmark."""
    whole = [table for table in tables if not table.is_suite]
    groups = {"Benchmarks": whole}
    for table in whole:
        suites = [other for other in tables if other.benchmark.startswith(f"{table.benchmark}/")]
        groups[f"Suites of {table.benchmark}"] = suites
    grids = [_side_by_side(title, some) for title, some in groups.items()]
    found = [grid for grid in grids if grid is not None]
    if not found:
        return None
    subject = tables[0].spec.subject
    text = (
        f"Mean {main_measure(tables[0].spec)}. ▼ stands where {subject} is significantly better, ▲ where it "
        "is significantly worse (paired t-tests against it, Holm-corrected within a column, p < 0.05). The "
        "tables below have the other measures, and test against the baseline they name."
    )
    return Section(f"Overview: every system against {subject}", found, text=[text])


def _side_by_side(title: str, tables: Sequence[BenchmarkTable]) -> Grid | None:
    columns: dict[str, dict[str, Entry]] = {}
    for table in tables:
        comparison, measure = table.against_subject, main_measure(table.spec)
        if comparison is None:
            continue
        grid = table_grid(comparison.overall, replace(comparison, measures=(measure,)))
        columns[table.benchmark.rpartition("/")[2]] = {name.text: entry for name, entry in grid.rows}
    if len(columns) < 2:
        return None
    systems = dict.fromkeys(row.name for table in tables for row in table.spec.rows if row.competes)
    absent = Entry("–", detail="not measured")
    rows = [[Entry(name), *(column.get(name, absent) for column in columns.values())] for name in systems]
    notes = ["–: not measured there."] if any(absent in row for row in rows) else []
    return Grid(title, ["system", *columns], rows, notes)
