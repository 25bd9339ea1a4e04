"""The opening: computed from the results, defeats named first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from numcolbert.baselines.ranker import Run
from numcolbert.errors import UsageError
from numcolbert.evaluate.trec import write_run
from numcolbert.reproduce import spec as spec_module
from numcolbert.reproduce.page import table_section
from numcolbert.reproduce.parts import parts_summary
from numcolbert.reproduce.runs import Workshop
from numcolbert.reproduce.spec import RowSpec, TableSpec, load_table
from numcolbert.reproduce.standing import overview, standings
from numcolbert.reproduce.summary import losses, opening, shipped_summary, summary
from numcolbert.reproduce.table import BenchmarkTable, make_tables
from numcolbert.train.benchmarks import read_benchmark

RIGHT: Run = {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d2": 2.0, "d1": 1.0}, "q3": {"d3": 1.0}}
WORSE: Run = RIGHT | {"q1": {"d2": 2.0, "d1": 1.0}}
WRONG: Run = {query: {"d4": 1.0} for query in RIGHT}


def made(spec: TableSpec, benchmarks: Path, runs: Path, **found: Run) -> BenchmarkTable:
    for system, run in found.items():
        write_run(runs / system / "openfinquant.trec", run, "x")
    benchmark = read_benchmark(benchmarks / "openfinquant")
    (table,) = make_tables(spec, [benchmark], runs, Workshop(), run_missing=False)
    return table


def text_of(*tables: BenchmarkTable) -> str:
    return losses(tables[0].spec, [standing for table in tables for standing in standings(table)])


def test_parts_are_grouped_by_what_they_add(benchmarks: Path, tmp_path: Path) -> None:
    rows = (
        RowSpec("whole", "whole"),
        RowSpec("without a", "a", leaves_out="part a"),
        RowSpec("without b", "b", leaves_out="part b"),
        RowSpec("without c", "c", leaves_out="part c"),
    )
    spec = TableSpec("t", rows, measures=("nDCG@10",), subject="whole", baseline="whole")
    table = made(spec, benchmarks, tmp_path, whole=RIGHT, a=WORSE, b=WRONG)
    text = parts_summary([table])
    assert text.startswith("Each part of whole against the same training without it. ")
    assert "No significant gain or loss: part a." in text
    assert "A significant gain: part b (openfinquant +1.000)." in text
    assert text.endswith("Not measured yet: part c.")
    assert text in [point.text for point in opening([(spec, [table])])]
    other = replace(made(spec, benchmarks, tmp_path / "other", whole=RIGHT, b=WORSE), benchmark="other")
    assert "part b (openfinquant +1.000)." in parts_summary([other, table]), "what is not clear is not told"
    table = made(spec, benchmarks, tmp_path, whole=WRONG, a=RIGHT)
    assert "A significant loss: part a (openfinquant -1.000" in parts_summary([table])


def test_nothing_is_said_of_parts_without_runs(benchmarks: Path, tmp_path: Path) -> None:
    table = made(load_table("ablation"), benchmarks, tmp_path, **{"colbert-zero": RIGHT})
    assert parts_summary([table]) == "" and parts_summary([]) == ""


def test_defeats_come_first(benchmarks: Path, tmp_path: Path) -> None:
    rows = (RowSpec("us", "us"), RowSpec("them", "them"), RowSpec("base", "base"))
    spec = TableSpec("t", rows, measures=("nDCG@10", "P@1"), subject="us", baseline="base", rivals=("them",))
    table = made(spec, benchmarks, tmp_path, us=WORSE, them=RIGHT, base=WRONG)
    note, first, second, last = opening([(spec, [table])], "One run each.")
    assert note.text == "One run each."
    assert first.about == "Where us loses." and first.text == (
        "By nDCG@10 us is behind another system on 1 of 1 benchmarks: openfinquant (0.877, them 1.000). "
        "By other measures: P@1 on openfinquant (0.667, them 1.000). "
        "None of these differences is significant."
    )
    assert second.about == "openfinquant." and second.text == (
        "us has nDCG@10 0.877, behind them (1.000); +0.877 against base (p = 0.038); "
        "-0.123 against them (p = 0.42)."
    )
    assert last.text.startswith("Each p is of a paired t-test against us")
    assert summary(table) == f"openfinquant: {second.text}"
    worst = made(spec, benchmarks, tmp_path / "worst", us=WRONG, them=WORSE, base=RIGHT)
    assert "openfinquant (0.000, base 1.000, significant)" in text_of(worst)
    assert "None of these" not in text_of(worst)
    assert "behind base (1.000) and 1 more; -1.000 against base (p < 0.001)" in summary(worst)
    alone = made(spec, benchmarks, tmp_path / "other", us=WORSE)
    assert summary(alone).endswith("0.877.") and text_of(alone) == ""


def test_tables_that_the_opening_tells_of(benchmarks: Path, tmp_path: Path) -> None:
    rows = (RowSpec("us", "us"), RowSpec("base", "base"))
    first = TableSpec("first", rows, subject="us", baseline="base")
    table = made(first, benchmarks, tmp_path, us=RIGHT, base=WRONG)
    told, untold = replace(first, title="told", in_summary=True), replace(first, title="untold")
    other = replace(table, benchmark="facts", spec=told)
    assert [p.about for p in opening([(first, [table]), (untold, [other])])][1:-1] == ["openfinquant."]
    points = opening([(first, [table]), (told, [other])])
    assert [p.about for p in points][1:-1] == ["openfinquant.", "facts."]
    assert points[0].text == "By nDCG@10 us is behind another system on none of 2 benchmarks."
    assert [p.about for p in opening([(told, [other])])][1:-1] == ["facts."], "the first, whatever it says"
    assert opening([]) == []


def test_variants_are_told_of_above_their_table_and_in_brief(benchmarks: Path, tmp_path: Path) -> None:
    rows = (RowSpec("us", "us"), RowSpec("earlier", "earlier"))
    spec = TableSpec("t", rows, subject="us", baseline="us", among="its variants")
    best = made(spec, benchmarks, tmp_path, us=RIGHT, earlier=WORSE)
    assert summary(best) == "openfinquant among its variants: us has nDCG@10 1.000, the best of 2."
    worse = made(spec, benchmarks, tmp_path / "other", us=WORSE, earlier=RIGHT)
    text = "By nDCG@10 us is behind another of its variants on 1 of 1 benchmarks. None of these differences"
    assert table_section(spec, [worse]).text == [f"{text} is significant."]
    worst = made(spec, benchmarks, tmp_path / "worst", us=WRONG, earlier=RIGHT)
    assert "on 1 of 1 benchmarks, among them openfinquant (0.000, earlier 1.000, significant)" in text_of(
        worst
    )


def test_suites_and_operators_have_counts_of_their_own(benchmarks: Path, tmp_path: Path) -> None:
    rows = (RowSpec("us", "us"), RowSpec("base", "base"))
    first = TableSpec("first", rows, subject="us", baseline="base")
    table = made(first, benchmarks, tmp_path, us=WORSE, base=RIGHT)
    suite = replace(table, benchmark="openfinquant/formats")
    split = replace(first, operators=True)
    operators = made(split, benchmarks, tmp_path, us=WORSE, base=RIGHT)
    assert operators.comparison is not None
    assert [part.name for part in operators.comparison.tables] == ["openfinquant", "=", ">", "<"]
    points = opening([(first, [table, suite]), (split, [operators])])
    assert [point.about for point in points] == ["Where us loses.", "openfinquant.", ""]
    assert points[0].text.startswith(
        "By nDCG@10 us is behind another system on 1 of 1 benchmarks: openfinquant (0.877, base 1.000); "
        "on 1 of 1 suites: openfinquant/formats (0.877, base 1.000); "
        "on 1 of 3 sets of queries with one operator: openfinquant with > (0.631, base 1.000). "
    )
    other = replace(split, subject="somebody else")
    assert "operator" not in opening([(first, [table]), (other, [replace(operators, spec=other)])])[0].text


@pytest.mark.parametrize("why", ["upper_bound", "more_than_ranking"])
def test_rows_that_do_not_compete(benchmarks: Path, tmp_path: Path, why: str) -> None:
    rows = (RowSpec("us", "us"), RowSpec("base", "base"), replace(RowSpec("other", "other"), **{why: True}))
    spec = TableSpec("t", rows, subject="us", baseline="base")
    table = made(spec, benchmarks, tmp_path, us=WORSE, base=WRONG, other=RIGHT)
    assert "other" not in summary(table) and "the best of 2 systems" in summary(table)
    assert "on none of 1 benchmarks" in text_of(table)
    without = made(spec, benchmarks, tmp_path / "without", base=WRONG, other=RIGHT)
    assert "us has not been measured yet; the best of 1 systems is base" in summary(without)


def test_a_lead_that_the_digits_do_not_show_is_none(benchmarks: Path, tmp_path: Path) -> None:
    rows = (RowSpec("us", "us"), RowSpec("them", "them"))
    spec = TableSpec("t", rows, measures=("nDCG@10",), subject="us", baseline="them")
    table = made(spec, benchmarks, tmp_path, us=WORSE, them=WORSE)
    us, them = table.measured["us"], table.measured["them"]
    for lead, told in ((0.0002, False), (0.002, True)):
        values = us.scores.values.copy()
        values[0] += 3 * lead
        better = replace(them, scores=replace(us.scores, values=values))
        ahead = replace(table, measured={"us": us, "them": better})
        assert ("behind them (0.879)" in summary(ahead)) is told
        assert ("the best of 2" in summary(ahead)) is not told
        assert ("on 1 of 1 benchmarks: openfinquant (0.877, them 0.879)" in text_of(ahead)) is told


def test_the_overview_sets_every_system_against_the_subject(benchmarks: Path, tmp_path: Path) -> None:
    bound = RowSpec("bound", "bound", upper_bound=True)
    rows = (RowSpec("them", "them"), RowSpec("absent", "absent"), bound, RowSpec("us", "us"))
    spec = TableSpec("t", rows, subject="us", baseline="them")
    table = made(spec, benchmarks, tmp_path, us=RIGHT, them=WRONG, bound=RIGHT)
    assert overview([table]) is None, "its own table says as much"
    other = made(replace(spec, rows=rows[2:]), benchmarks, tmp_path, us=WORSE)
    suites = [replace(table, benchmark=f"openfinquant/{name}") for name in ("bounds", "formats")]
    section = overview([table, replace(other, benchmark="facts"), *suites])
    assert section is not None and section.title == "Overview: every system against us"
    whole, of_suites = section.grids
    assert whole.columns == ["system", "openfinquant", "facts"]
    assert of_suites.title == "Suites of openfinquant" and of_suites.columns[1:] == ["bounds", "formats"]
    cells = {
        name.text: [(entry.text, entry.mark, entry.best) for entry in rest] for name, *rest in whole.rows
    }
    nothing = ("–", "", False)
    assert cells == {
        "them": [("0.000", "-", False), nothing],
        "absent": [nothing, nothing],
        "us": [("1.000", "", True), ("0.877", "", False)],
    }
    assert whole.notes == ["–: not measured there."]
    assert "against us, p = 0" in whole.rows[0][1].detail


def test_where_the_shipped_model_loses(benchmarks: Path, tmp_path: Path) -> None:
    spec = load_table("general")
    table = made(spec, benchmarks, tmp_path, **{"colbert-general": RIGHT, "numcolbert-shipped": WRONG})
    text = (
        "NumColBERT (as shipped) loses to ColBERT (general pairs) on openfinquant "
        "(0.000 to 1.000, significant)."
    )
    assert shipped_summary([table]) == text
    main = load_table("main")
    first = made(main, benchmarks, tmp_path, numcolbert=WRONG)
    assert opening([(main, [first]), (spec, [table])])[0].text.endswith(text)
    assert shipped_summary([made(spec, benchmarks, tmp_path, **{"numcolbert-shipped": RIGHT})]) == ""


def test_a_rival_must_be_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "main.toml").write_text('title = "t"\nrivals = ["x"]\n[[rows]]\nname = "a"\nsystem = "a"\n')
    monkeypatch.setattr(spec_module, "_FOLDER", tmp_path)
    with pytest.raises(UsageError, match="rival 'x' is no row"):
        load_table("main")
