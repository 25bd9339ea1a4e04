"""A folder with everything measured: the page, the tables, the figures and the numbers behind them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numcolbert.files import replacing_folder
from numcolbert.report.grid import to_latex
from numcolbert.report.html import write
from numcolbert.report.markdown import page_markdown
from numcolbert.reproduce.engines import ENGINES_FILE, EngineRow, engines_json
from numcolbert.reproduce.kept_file import FILE, kept_json
from numcolbert.reproduce.measured import Kept, Measured
from numcolbert.reproduce.page import report_page
from numcolbert.reproduce.pictures import FIGURES, Draw, nbits_pictures, operator_pictures
from numcolbert.reproduce.rows import RowState
from numcolbert.reproduce.spec import TableSpec
from numcolbert.reproduce.summary import summary
from numcolbert.reproduce.table import BenchmarkTable

PAGE = "report.html"
Made = Sequence[tuple[TableSpec, Sequence[BenchmarkTable]]]


def write_report(
    made: Made,
    folder: Path,
    *,
    drawings: Sequence[Draw] = (),
    engines: Sequence[EngineRow] = (),
    note: str = "",
    kept: Kept | None = None,
    overwrite: bool = False,
) -> None:
    """Write the folder; `drawings` are further figures, `engines` what the engine benchmark measured, `note`
    is put before the summary. What is `kept` of an earlier report stays, also what these tables do not show.
    """
    with replacing_folder(folder, overwrite=overwrite, mark=PAGE) as aside:
        figures = aside / FIGURES
        pictures = [
            picture
            for _, tables in made
            for table in tables
            for picture in (*operator_pictures(table, figures), *nbits_pictures(table, figures))
        ]
        pictures += [draw(figures) for draw in drawings]
        page = report_page(made, pictures, engines, note)
        write(page, aside / PAGE)
        (aside / "tables.md").write_text(page_markdown(page, aside), encoding="utf-8")
        latex = "\n".join(to_latex(grid) for section in page.sections for grid in section.grids)
        (aside / "tables.tex").write_text(latex, encoding="utf-8")
        (aside / FILE).write_text(kept_json(with_measures(kept or Kept(), made)), encoding="utf-8")
        if engines:
            (aside / ENGINES_FILE).write_text(engines_json(engines), encoding="utf-8")
        (aside / "results.json").write_text(json.dumps(as_values(made), indent=1), encoding="utf-8")


def with_measures(kept: Kept, made: Made) -> Kept:
    """What is kept, and what these tables measured."""
    for spec, tables in made:
        for table in tables:
            new = {row.system: table.measured[row.name] for row in spec.rows if row.name in table.measured}
            kept = kept.updated(table.asked, new)
    return kept


def as_values(made: Made) -> list[dict[str, Any]]:
    """Plain values: no path, no text of any passage."""
    return [
        {
            "table": spec.title,
            "benchmark": table.benchmark,
            "fingerprint": table.asked.fingerprint,
            "summary": summary(table),
            "rows": [_row(state, table.measured.get(state.name)) for state in table.states],
            "paper_data": spec.paper_data.get(table.benchmark),
            "paper": _paper(spec, table.benchmark),
            "paper_measures": list(spec.paper_measures),
            "comparison": dataclasses.asdict(table.comparison) if table.comparison else None,
        }
        for spec, tables in made
        for table in tables
    ]


def _row(state: RowState, measured: Measured | None) -> dict[str, Any]:
    return {
        "name": state.name,
        "how": state.how,
        "measured": measured is not None,
        "facts": dict(state.facts),
        "run_sha256": measured.run_sha256 if measured else None,
    }


def _paper(spec: TableSpec, benchmark: str) -> dict[str, list[float]]:
    data = spec.paper_data.get(benchmark, "")
    return {row.name: row.paper[data] for row in spec.rows if data in row.paper}
