"""The first paragraph: computed from the results, defeats named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from numcolbert.baselines.ranker import Run
from numcolbert.errors import UsageError
from numcolbert.evaluate.trec import write_run
from numcolbert.reproduce import spec as spec_module
from numcolbert.reproduce.page import first_paragraph
from numcolbert.reproduce.parts import parts_summary
from numcolbert.reproduce.runs import Workshop
from numcolbert.reproduce.spec import RowSpec, TableSpec, load_table
from numcolbert.reproduce.summary import operators_summary, shipped_summary, suites_summary, summary
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
    assert text.startswith("What the parts of whole add, each against the same training without it. ")
    assert "No significant gain or loss: part a (openfinquant +0.123, p = 0.42)." in text
    assert "A significant gain: part b (openfinquant +1.000, p = 0)." in text
    assert text.endswith("Not measured yet: part c.")
    assert text in first_paragraph([(spec, [table])])
    other = replace(made(spec, benchmarks, tmp_path / "other", whole=RIGHT, b=WORSE), benchmark="other")
    told = "part b (openfinquant +1.000, p = 0; not significant: other +0.123)."
    assert told in parts_summary([other, table]), "what is clear comes first"
    table = made(spec, benchmarks, tmp_path, whole=WRONG, a=RIGHT)
    assert "A significant loss: part a (openfinquant -1.000" in parts_summary([table])


def test_nothing_is_said_of_parts_without_runs(benchmarks: Path, tmp_path: Path) -> None:
    table = made(load_table("ablation"), benchmarks, tmp_path, **{"colbert-zero": RIGHT})
    assert parts_summary([table]) == "" and parts_summary([]) == ""


def test_rivals_and_other_measures(benchmarks: Path, tmp_path: Path) -> None:
    rows = (RowSpec("us", "us"), RowSpec("them", "them"), RowSpec("base", "base"))
    spec = TableSpec("t", rows, measures=("nDCG@10", "P@1"), subject="us", baseline="base", rivals=("them",))
    table = made(spec, benchmarks, tmp_path, us=WORSE, them=RIGHT, base=WRONG)
    text = summary(table)
    assert "reaches nDCG@10 0.877 and loses to them (1.000). It is behind in P@1 (0.667, them 1.000)." in text
    assert "Against base it gains 0.877 (significant" in text
    assert text.endswith("Against them it loses 0.123 (not significant: p = 0.42).")
    assert summary(made(spec, benchmarks, tmp_path / "other", us=WORSE)).endswith("0.877.")


def test_tables_that_the_first_paragraph_tells_of(benchmarks: Path, tmp_path: Path) -> None:
    rows = (RowSpec("us", "us"), RowSpec("base", "base"))
    first = TableSpec("first", rows, subject="us", baseline="base")
    table = made(first, benchmarks, tmp_path, us=RIGHT, base=WRONG)
    told, untold = replace(first, title="told", in_summary=True), replace(first, title="untold")
    sentence = summary(table)
    assert first_paragraph([(first, [table]), (untold, [table])]).count(sentence) == 1
    assert first_paragraph([(first, [table]), (told, [table])]).count(sentence) == 2
    assert first_paragraph([(told, [table])]).count(sentence) == 1, "once, whatever it says"


def test_rows_that_do_not_compete_are_called_what_they_are(benchmarks: Path, tmp_path: Path) -> None:
    rows = (RowSpec("us", "us"), RowSpec("earlier", "earlier"))
    spec = TableSpec("t", rows, subject="us", baseline="us", among="its variants", operators=True)
    best = made(spec, benchmarks, tmp_path, us=RIGHT, earlier=WORSE)
    assert summary(best) == "openfinquant among its variants: us reaches nDCG@10 1.000, the best of 2."
    worse = made(spec, benchmarks, tmp_path / "other", us=WORSE, earlier=RIGHT)
    assert summary(worse).startswith("openfinquant among its variants: us reaches nDCG@10 0.877 and loses to")
    assert suites_summary([best]) == "us is the best among its variants on all 1 suites."
    assert "us is behind among its variants on 1 of 1 suites" in suites_summary([worse])


def test_suites_have_one_sentence_in_whichever_table(benchmarks: Path, tmp_path: Path) -> None:
    rows = (RowSpec("us", "us"), RowSpec("base", "base"))
    first = TableSpec("first", rows, subject="us", baseline="base")
    table = made(first, benchmarks, tmp_path, us=RIGHT, base=WRONG)
    suite = replace(table, benchmark="openfinquant/formats")
    told = replace(first, in_summary=True)
    text = first_paragraph([(first, [table]), (told, [table, suite])])
    assert text.count(summary(table)) == 2 and text.count(suites_summary([suite])) == 1


@pytest.mark.parametrize("why", ["upper_bound", "more_than_ranking"])
def test_rows_that_do_not_compete(benchmarks: Path, tmp_path: Path, why: str) -> None:
    rows = (RowSpec("us", "us"), RowSpec("base", "base"), replace(RowSpec("other", "other"), **{why: True}))
    spec = TableSpec("t", rows, subject="us", baseline="base")
    table = made(spec, benchmarks, tmp_path, us=WORSE, base=WRONG, other=RIGHT)
    assert "other" not in summary(table) and "the best of 2 systems" in summary(table)


def test_operators(benchmarks: Path, tmp_path: Path) -> None:
    table = made(load_table("operators"), benchmarks, tmp_path, numcolbert=WORSE, deepquant=RIGHT)
    assert operators_summary([table]) == (
        "NumColBERT is behind on 1 of 3 sets of queries with one operator (openfinquant): openfinquant > "
        "(0.631, DeepQuant 1.000)."
    )
    table = made(load_table("operators"), benchmarks, tmp_path, numcolbert=RIGHT)
    assert operators_summary([table, replace(table, benchmark="facts")]) == (
        "NumColBERT is the best on all 6 sets of queries with one operator (openfinquant, facts)."
    )


def test_a_lead_that_the_digits_do_not_show_is_none(benchmarks: Path, tmp_path: Path) -> None:
    rows = (RowSpec("us", "us"), RowSpec("them", "them"))
    spec = TableSpec("t", rows, measures=("nDCG@10", "P@1"), subject="us", baseline="them")
    table = made(spec, benchmarks, tmp_path, us=WORSE, them=WORSE)
    assert table.comparison is not None
    _, them = table.comparison.overall.rows
    for lead, told in ((0.0002, False), (0.002, True)):
        for measure, mean in (("nDCG@10", 0.8770), ("P@1", 0.6667)):
            them.cells[measure] = replace(them.cells[measure], mean=mean + lead)
        assert ("loses to them (0.879). It is behind in P@1" in summary(table)) is told
        assert ("the best of 2" in summary(table)) is not told
        assert ("behind" in suites_summary([table])) is told


def test_where_the_shipped_model_loses(benchmarks: Path, tmp_path: Path) -> None:
    spec = load_table("general")
    table = made(spec, benchmarks, tmp_path, **{"colbert-general": RIGHT, "numcolbert": WRONG})
    assert shipped_summary([table]) == (
        "NumColBERT (as shipped) loses to ColBERT (general pairs) on openfinquant "
        "(nDCG@10 0.000 to 1.000, significant)."
    )
    assert shipped_summary([made(spec, benchmarks, tmp_path, numcolbert=RIGHT)]) == ""


def test_a_rival_must_be_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "main.toml").write_text('title = "t"\nrivals = ["x"]\n[[rows]]\nname = "a"\nsystem = "a"\n')
    monkeypatch.setattr(spec_module, "_FOLDER", tmp_path)
    with pytest.raises(UsageError, match="rival 'x' is no row"):
        load_table("main")
