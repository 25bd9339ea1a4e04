"""What each part of the subject adds, in words: from the rows that are trained without it."""

from __future__ import annotations

from collections.abc import Sequence

from numcolbert.evaluate.compare import Versus
from numcolbert.reproduce.table import BenchmarkTable

_HEADINGS = {
    frozenset[bool](): "No significant gain or loss",
    frozenset({False}): "A significant loss",
    frozenset({True, False}): "A significant gain here, a significant loss there",
    frozenset({True}): "A significant gain",
}
"""By the signs of the significant differences: True where the model with the part is better."""


def parts_summary(tables: Sequence[BenchmarkTable]) -> str:
    """Parts without a significant gain first; empty where no such row was measured.

    `tables` are those of one specification. A row is tested against the baseline, the whole model, so what
    the part adds is the difference with its sign turned.
    """
    if not tables:
        return ""
    spec = tables[0].spec
    found = {row.leaves_out: _versus(tables, row.name) for row in spec.rows if row.leaves_out}
    measured = {part: tests for part, tests in found.items() if tests}
    if not measured:
        return ""
    groups: dict[str, list[str]] = {heading: [] for heading in _HEADINGS.values()}
    for part, tests in measured.items():
        signs = frozenset(test.test.difference < 0 for test in tests.values() if test.significant)
        groups[_HEADINGS[signs]].append(f"{part}{_told(tests)}")
    text = f"Each part of {spec.baseline} against the same training without it."
    text += "".join(f" {heading}: {'; '.join(parts)}." for heading, parts in groups.items() if parts)
    missing = [part for part, tests in found.items() if not tests]
    return text + (f" Not measured yet: {', '.join(missing)}." if missing else "")


def _versus(tables: Sequence[BenchmarkTable], row: str) -> dict[str, Versus]:
    """Benchmark -> the row's test against the whole model, by the table's first measure."""
    tests = {}
    for table in tables:
        for measured in table.comparison.overall.rows if table.comparison else ():
            cell = measured.cells.get(table.spec.measures[0])
            if measured.system == row and cell is not None and cell.versus is not None:
                tests[table.benchmark] = cell.versus
    return tests


def _told(tests: dict[str, Versus]) -> str:
    """Where the difference is significant, and what it is; empty where it is nowhere."""
    clear = [f"{benchmark} {-t.test.difference:+.3f}" for benchmark, t in tests.items() if t.significant]
    return f" ({', '.join(clear)})" if clear else ""
