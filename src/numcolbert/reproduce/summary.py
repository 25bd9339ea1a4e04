"""The first paragraph of the report: where the subject wins, and where it loses."""

from __future__ import annotations

from collections.abc import Sequence

from numcolbert.evaluate.compare import Comparison, Row, Table
from numcolbert.evaluate.significance import paired_test
from numcolbert.reproduce.spec import TableSpec
from numcolbert.reproduce.table import BenchmarkTable

MEASURE = "nDCG@10"
"""By which rivals, suites and operators are told of, where a table has it."""


def summary(table: BenchmarkTable) -> str:
    """A few sentences, defeats first."""
    spec, comparison = table.spec, table.comparison
    if comparison is None:
        return f"{table.benchmark}: no system has been measured yet."
    measure = comparison.measures[0]
    rows = _competing(comparison.overall, spec, measure)
    if not rows:
        return f"{table.benchmark}: no system has been measured by {measure} yet."
    subject = rows.get(spec.subject)
    if subject is None:
        best = _best(rows, measure)
        return (
            f"{table.benchmark}: {spec.subject} has not been measured yet; the best of "
            f"{len(comparison.overall.rows)} systems is {best.system} with {measure} "
            f"{best.cells[measure].mean:.3f}."
        )
    ours = subject.cells[measure].mean
    ahead = sorted(
        (row for row in rows.values() if _is_more(row.cells[measure].mean, ours)),
        key=lambda r: -r.cells[measure].mean,
    )
    text = f"{table.benchmark}{spec.among_them}: {spec.subject} reaches {measure} {ours:.3f}"
    if ahead:
        names = ", ".join(f"{row.system} ({row.cells[measure].mean:.3f})" for row in ahead)
        text += f" and loses to {names}"
    elif len(rows) > 1:
        text += f", the best of {len(rows)}{'' if spec.among else ' systems'}"
    return f"{text}.{_other_measures(comparison, spec)}{_against_baseline(subject, spec, measure)}" + (
        "".join(_against_rival(table, rival) for rival in spec.rivals)
    )


def _other_measures(comparison: Comparison, spec: TableSpec) -> str:
    """By which of the other measures somebody is better."""
    behind = []
    for measure in comparison.measures[1:]:
        rows = _competing(comparison.overall, spec, measure)
        if spec.subject not in rows:
            continue
        ours, best = rows[spec.subject].cells[measure].mean, _best(rows, measure)
        if _is_more(best.cells[measure].mean, ours):
            behind.append(f"{measure} ({ours:.3f}, {best.system} {best.cells[measure].mean:.3f})")
    return f" It is behind in {', '.join(behind)}." if behind else ""


def _against_baseline(subject: Row, spec: TableSpec, measure: str) -> str:
    versus = subject.cells[measure].versus
    if versus is None:
        return ""
    correction = " after Holm's correction"
    return _against(spec.baseline, versus.test.difference, versus.p_holm, versus.significant, correction)


def _against_rival(table: BenchmarkTable, rival: str) -> str:
    values = {
        name: one.scores.of(MEASURE) for name, one in table.measured.items() if MEASURE in one.scores.measures
    }
    if table.spec.subject not in values or rival not in values or table.comparison is None:
        return ""
    test = paired_test(values[table.spec.subject], values[rival])
    return _against(rival, test.difference, test.p, test.p < table.comparison.alpha, "")


def _against(name: str, difference: float, p: float, significant: bool, correction: str) -> str:
    verdict = "significant" if significant else "not significant"
    verb = "loses" if difference < 0 else "gains"
    return f" Against {name} it {verb} {abs(difference):.3f} ({verdict}: p = {p:.2g}{correction})."


def suites_summary(suites: Sequence[BenchmarkTable]) -> str:
    """One sentence on the suites where the subject is not the best; empty where it is measured on none."""
    parts = [(t.benchmark, t.comparison.overall, t) for t in suites if t.comparison is not None]
    return _behind(parts, "suites")


def operators_summary(tables: Sequence[BenchmarkTable]) -> str:
    """The same on the operators."""
    parts = [
        (f"{table.benchmark} {part.name}", part, table)
        for table in tables
        if table.comparison is not None and table.spec.operators
        for part in table.comparison.tables[1:]
    ]
    benchmarks = dict.fromkeys(table.benchmark for _, _, table in parts)
    return _behind(parts, f"sets of queries with one operator ({', '.join(benchmarks)})")


def _behind(parts: Sequence[tuple[str, Table, BenchmarkTable]], what: str) -> str:
    behind, measured, subject, among = [], 0, "", ""
    for name, part, table in parts:
        measure = MEASURE if MEASURE in table.spec.measures else table.spec.measures[0]
        rows = _competing(part, table.spec, measure)
        if table.spec.subject not in rows:
            continue
        subject = table.spec.subject
        among = table.spec.among_them
        measured += 1
        best, ours = _best(rows, measure), rows[subject].cells[measure].mean
        if _is_more(best.cells[measure].mean, ours):
            behind.append(f"{name} ({ours:.3f}, {best.system} {best.cells[measure].mean:.3f})")
    if not measured:
        return ""
    if not behind:
        return f"{subject} is the best{among} on all {measured} {what}."
    return f"{subject} is behind{among} on {len(behind)} of {measured} {what}: " + ", ".join(behind) + "."


def shipped_summary(tables: Sequence[BenchmarkTable]) -> str:
    """Where the model people get loses to the baseline of a table about something else; empty if nowhere."""
    told = []
    for table in tables:
        rows = {row.system: row for row in table.comparison.overall.rows} if table.comparison else {}
        if table.spec.shipped in rows and table.spec.baseline in rows and MEASURE in table.spec.measures:
            cell, other = rows[table.spec.shipped].cells[MEASURE], rows[table.spec.baseline].cells[MEASURE]
            if cell.versus is not None and cell.versus.test.difference < 0:
                verdict = "significant" if cell.versus.significant else "not significant"
                told.append(f"{table.benchmark} ({MEASURE} {cell.mean:.3f} to {other.mean:.3f}, {verdict})")
    if not told:
        return ""
    return f"{tables[0].spec.shipped} loses to {tables[0].spec.baseline} on {', '.join(told)}."


def _is_more(theirs: float, ours: float) -> bool:
    """Whether it is more in the digits that are told."""
    return round(theirs, 3) > round(ours, 3)


def _competing(part: Table, spec: TableSpec, measure: str) -> dict[str, Row]:
    """The rows by name that have the measure and take part in the ranking of systems."""
    names = {row.name for row in spec.rows if row.competes}
    return {row.system: row for row in part.rows if row.system in names and measure in row.cells}


def _best(rows: dict[str, Row], measure: str) -> Row:
    return max(rows.values(), key=lambda row: row.cells[measure].mean)
