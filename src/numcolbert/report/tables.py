"""A comparison of runs as tables, and as JSON."""

from __future__ import annotations

import dataclasses
from typing import Any

from numcolbert.evaluate.compare import Cell, Comparison, Table
from numcolbert.evaluate.significance import TukeyPair
from numcolbert.report.grid import Entry, Grid

SILENT = "Queries without any hit count as zero"
"""How the note begins that counts them for each system."""


def comparison_grids(comparison: Comparison) -> list[Grid]:
    """The whole query set, each slice, then Tukey's tests where they were asked for."""
    grids = [table_grid(table, comparison) for table in comparison.tables]
    for table in comparison.tables:
        grids += [
            tukey_grid(f"{table.name}, {measure}: all pairs (Tukey HSD)", pairs, comparison.alpha)
            for measure, pairs in table.tukey.items()
        ]
    return grids


def table_grid(table: Table, comparison: Comparison) -> Grid:
    rows = [
        [
            Entry(row.system),
            *(_entry(row.cells.get(measure), measure, table, comparison) for measure in comparison.measures),
        ]
        for row in table.rows
    ]
    return Grid(
        f"{table.name} ({table.queries:,} queries)",
        ["system", *comparison.measures],
        rows,
        _notes(table, comparison),
    )


def _entry(cell: Cell | None, measure: str, table: Table, comparison: Comparison) -> Entry:
    if cell is None:
        return Entry("–", detail=f"not measured by {measure}")
    return Entry(
        f"{cell.mean:.3f}",
        best=len(table.rows) > 1 and cell.mean == table.best(measure),
        mark=_mark(cell),
        detail=_detail(cell, comparison),
    )


def tukey_grid(title: str, pairs: list[TukeyPair], alpha: float) -> Grid:
    rows = [
        [
            Entry(f"{pair.first} - {pair.second}"),
            Entry(f"{pair.difference:+.4f}", mark=_sign(pair.difference) if pair.p < alpha else ""),
            Entry(f"[{pair.low:+.4f}, {pair.high:+.4f}]"),
            Entry(f"{pair.p:.4f}"),
        ]
        for pair in pairs
    ]
    return Grid(title, ["pair", "difference", "interval", "p"], rows)


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    return dataclasses.asdict(comparison)


def _mark(cell: Cell) -> str:
    return cell.versus.mark if cell.versus else ""


def _sign(difference: float) -> str:
    return "+" if difference > 0 else "-"


def _detail(cell: Cell, comparison: Comparison) -> str:
    text = f"{comparison.level:.0%} interval {cell.low:.3f} to {cell.high:.3f}"
    if cell.versus:
        test = cell.versus.test
        effect = "" if test.effect is None else f", d = {test.effect:+.2f}"
        text += (
            f"; {test.difference:+.3f} against {comparison.baseline}, p = {cell.versus.p_holm:.3g}{effect}"
        )
        text += f", {test.wins} queries better, {test.losses} worse"
    return text


def _notes(table: Table, comparison: Comparison) -> list[str]:
    notes = []
    if comparison.baseline is not None:
        notes.append(
            f"▲ ▼ significantly better or worse than {comparison.baseline} "
            f"(paired t-test, Holm-corrected, p < {comparison.alpha:g})."
        )
    silent = [f"{row.system} {row.missing}" for row in table.rows if row.missing]
    if silent:
        notes.append(f"{SILENT}: {', '.join(silent)}.")
    return notes
