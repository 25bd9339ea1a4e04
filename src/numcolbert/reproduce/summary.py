"""The first paragraph of the report: where the subject wins, and where it loses."""

from __future__ import annotations

from collections.abc import Sequence

from numcolbert.evaluate.compare import Row
from numcolbert.reproduce.table import BenchmarkTable


def summary(table: BenchmarkTable) -> str:
    """One or two sentences, defeats first."""
    spec, comparison = table.spec, table.comparison
    if comparison is None:
        return f"{table.benchmark}: no system has been measured yet."
    measure = comparison.measures[0]
    bounds = {row.name for row in spec.rows if row.upper_bound}
    rows = {row.system: row for row in comparison.overall.rows}
    subject = rows.get(spec.subject)
    if subject is None:
        best = max((r for name, r in rows.items() if name not in bounds), key=lambda r: r.cells[measure].mean)
        return (
            f"{table.benchmark}: {spec.subject} has not been measured yet; the best of {len(rows)} systems "
            f"is {best.system} with {measure} {best.cells[measure].mean:.3f}."
        )
    ours = subject.cells[measure].mean
    others = {name: row for name, row in rows.items() if name != spec.subject and name not in bounds}
    ahead = sorted(
        (row for row in others.values() if row.cells[measure].mean > ours),
        key=lambda r: -r.cells[measure].mean,
    )
    text = f"{table.benchmark}: {spec.subject} reaches {measure} {ours:.3f}"
    if ahead:
        names = ", ".join(f"{row.system} ({row.cells[measure].mean:.3f})" for row in ahead)
        text += f" and loses to {names}"
    elif others:
        text += f", the best of {len(others) + 1} systems"
    return f"{text}.{_against_baseline(subject, rows.get(spec.baseline), measure, spec.baseline)}"


def _against_baseline(subject: Row, baseline: Row | None, measure: str, name: str) -> str:
    versus = subject.cells[measure].versus
    if baseline is None or versus is None:
        return ""
    verdict = "significant" if versus.significant else "not significant"
    verb = "loses" if versus.test.difference < 0 else "gains"
    return (
        f" Against {name} it {verb} {abs(versus.test.difference):.3f} "
        f"({verdict}: p = {versus.p_holm:.2g} after Holm's correction)."
    )


def suites_summary(suites: Sequence[BenchmarkTable]) -> str:
    """One sentence on the suites where the subject is not the best; empty where it is measured on none."""
    behind, measured = [], 0
    for table in suites:
        spec, comparison = table.spec, table.comparison
        rows = {row.system: row for row in comparison.overall.rows} if comparison else {}
        if comparison is None or spec.subject not in rows:
            continue
        measured += 1
        measure = comparison.measures[0]
        bounds = {row.name for row in spec.rows if row.upper_bound}
        best = max((r for n, r in rows.items() if n not in bounds), key=lambda r: r.cells[measure].mean)
        ours = rows[spec.subject].cells[measure].mean
        if best.cells[measure].mean > ours:
            behind.append(f"{table.benchmark} ({ours:.3f}, {best.system} {best.cells[measure].mean:.3f})")
    if not measured:
        return ""
    subject = suites[0].spec.subject
    if not behind:
        return f"{subject} is the best on all {measured} suites."
    return f"{subject} is behind on {len(behind)} of {measured} suites: " + ", ".join(behind) + "."
