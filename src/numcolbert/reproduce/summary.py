"""The opening of the report: where the subject loses, then how it stands on each benchmark."""

from __future__ import annotations

from collections.abc import Sequence

from numcolbert.evaluate.compare import Versus
from numcolbert.report.html import Point
from numcolbert.reproduce.parts import parts_summary
from numcolbert.reproduce.spec import TableSpec
from numcolbert.reproduce.standing import MEASURE, Kind, Standing, main_measure, standings
from numcolbert.reproduce.table import BenchmarkTable

Made = Sequence[tuple[TableSpec, Sequence[BenchmarkTable]]]


def opening(made: Made, note: str = "") -> list[Point]:
    """What a reader must know before any table, defeats first."""
    told = told_of(made)
    if not told:
        return [Point(note)] if note else []
    subject = told[0].spec.subject
    found = [standing for table in told for standing in standings(table)]
    for spec, tables in made:
        if spec.operators and spec.subject == subject:
            more = [standing for table in tables if table not in told for standing in standings(table)]
            found += [standing for standing in more if standing.kind == "operator"]
    defeats = [losses(told[0].spec, found), *(shipped_summary(tables) for _, tables in made)]
    points = [
        Point(note),
        Point(" ".join(filter(None, defeats)), f"Where {subject} loses."),
        *(Point(_stand(table), f"{table.benchmark}.") for table in told if not table.is_suite),
        *(Point(parts_summary(tables), "What the parts add.") for _, tables in made),
    ]
    if any(standing.others for standing in found):
        points.append(
            Point(
                f"Each p is of a paired t-test against {subject}, Holm-corrected over all systems on that "
                "benchmark."
            )
        )
    return [point for point in points if point.text]


def told_of(made: Made) -> list[BenchmarkTable]:
    """The tables whose systems the opening speaks of: those of the first, and those that ask for it."""
    told = [some for number, (spec, some) in enumerate(made) if number == 0 or spec.in_summary]
    return [table for some in told for table in some]


def summary(table: BenchmarkTable) -> str:
    """How the subject stands on one benchmark, as a sentence of its own."""
    return f"{table.benchmark}{table.spec.among_them}: {_stand(table)}"


def _stand(table: BenchmarkTable) -> str:
    spec, measure = table.spec, main_measure(table.spec)
    standing = next((s for s in standings(table) if s.kind != "operator" and s.measure == measure), None)
    if standing is None:
        return _without_subject(table)
    text = f"{spec.subject} has {measure} {standing.ours:.3f}"
    if ahead := standing.ahead:
        text += f", behind {ahead[0]} ({standing.others[ahead[0]].mean:.3f})"
        text += f" and {len(ahead) - 1} more" if len(ahead) > 1 else ""
    elif standing.others:
        text += f", the best of {len(standing.others) + 1}{'' if spec.among else ' systems'}"
    gains = [
        f"{-versus.test.difference:+.3f} against {name} ({_p(versus)})"
        for name in (spec.baseline, *spec.rivals)
        if name in standing.others and (versus := standing.others[name].versus) is not None
    ]
    return f"{'; '.join([text, *gains])}."


def _without_subject(table: BenchmarkTable) -> str:
    spec, measure = table.spec, main_measure(table.spec)
    competing = {row.name for row in spec.rows if row.competes}
    rows = table.comparison.overall.rows if table.comparison else []
    rows = [row for row in rows if row.system in competing and measure in row.cells]
    if not rows:
        return f"no system has been measured by {measure} yet."
    best = max(rows, key=lambda row: row.cells[measure].mean)
    return (
        f"{spec.subject} has not been measured yet; the best of {len(rows)} systems is {best.system} with "
        f"{measure} {best.cells[measure].mean:.3f}."
    )


_KINDS: dict[Kind, str] = {
    "benchmark": "benchmarks",
    "suite": "suites",
    "operator": "sets of queries with one operator",
}


def losses(spec: TableSpec, found: Sequence[Standing]) -> str:
    """Where somebody is ahead of the subject: by the main measure everywhere, by others on whole benchmarks.

    Empty where there is nobody to compare it with.
    """
    measure = main_measure(spec)
    told, shown = [], []
    for kind, plural in _KINDS.items():
        some = [s for s in found if s.kind == kind and s.measure == measure and s.others]
        behind = [s for s in some if s.ahead]
        names = ", ".join(_told(s) for s in behind if _is_worth_naming(s, spec))
        if some:
            where = f"on {len(behind) or 'none'} of {len(some)} {plural}"
            told.append(where + (f"{', among them' if spec.among else ':'} {names}" if names else ""))
            shown += behind
    if not told:
        return ""
    another = f"another of {spec.among}" if spec.among else "another system"
    text = f"By {measure} {spec.subject} is behind {another} {'; '.join(told)}."
    whole = [s for s in found if s.kind == "benchmark" and s.measure != measure]
    otherwise = [s for s in whole if _is_worth_naming(s, spec)]
    if otherwise:
        text += f" By other measures: {', '.join(f'{s.measure} on {_told(s)}' for s in otherwise)}."
    shown += otherwise
    if shown and not any(s.clearly_ahead for s in shown):
        text += " None of these differences is significant."
    return text


def _is_worth_naming(standing: Standing, spec: TableSpec) -> bool:
    """Of many variants one is nearly always ahead by chance."""
    return bool(standing.clearly_ahead if spec.among else standing.ahead)


def _told(standing: Standing) -> str:
    """One that is significantly ahead, if there is one, else the best: 'facts (0.732, QColBERT 0.739)'."""
    name = next(iter((*standing.clearly_ahead, *standing.ahead)))
    clear = ", significant" if standing.clearly_ahead else ""
    return f"{standing.where} ({standing.ours:.3f}, {name} {standing.others[name].mean:.3f}{clear})"


def _p(versus: Versus) -> str:
    return "p < 0.001" if versus.p_holm < 0.001 else f"p = {versus.p_holm:.2g}"


def shipped_summary(tables: Sequence[BenchmarkTable]) -> str:
    """Where the model people get, which is not the subject, is behind the baseline of a table as far as the
    table shows; empty if nowhere.
    """
    told = []
    for table in tables:
        rows = {row.system: row for row in table.comparison.overall.rows} if table.comparison else {}
        if table.spec.shipped in rows and table.spec.baseline in rows and MEASURE in table.spec.measures:
            cell, other = rows[table.spec.shipped].cells[MEASURE], rows[table.spec.baseline].cells[MEASURE]
            if cell.versus is not None and round(cell.mean, 3) < round(other.mean, 3):
                clear = "significant" if cell.versus.significant else "not significant"
                told.append(f"{table.benchmark} ({cell.mean:.3f} to {other.mean:.3f}, {clear})")
    if not told:
        return ""
    return f"{tables[0].spec.shipped} loses to {tables[0].spec.baseline} on {', '.join(told)}."
