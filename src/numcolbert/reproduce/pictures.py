"""Figures of a measured table."""

from __future__ import annotations

from pathlib import Path

from numcolbert.report.figures import operator_bars
from numcolbert.report.html import Picture
from numcolbert.reproduce.table import BenchmarkTable


def operator_pictures(table: BenchmarkTable, folder: Path) -> list[Picture]:
    """Bars by operator, one figure a measure; none for tables without operators."""
    comparison = table.comparison
    if comparison is None or not table.spec.operators:
        return []
    parts = comparison.tables[1:]
    pictures = []
    for measure in comparison.measures:
        values = {
            row.system: {part.name: part.rows[i].cells[measure].mean for part in parts}
            for i, row in enumerate(comparison.overall.rows)
        }
        name = f"operators-{table.benchmark.replace('/', '-')}-{measure.replace('@', '')}"
        path = operator_bars(values, measure, folder / f"{name}.png")
        pictures.append(Picture(path, f"{table.benchmark}: {measure} by operator"))
    return pictures
