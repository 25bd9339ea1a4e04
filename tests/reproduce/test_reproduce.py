"""The paper's tables on a tiny benchmark: what is missing is run, what is there is reused, gaps are named."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from numcolbert.baselines.ranker import Query
from numcolbert.cli.app import app
from numcolbert.config import settings_from
from numcolbert.errors import ConflictError, ModelError, NotFoundError, NumColBERTError, UsageError
from numcolbert.evaluate.trec import read_run, write_run
from numcolbert.reproduce.elsewhere import command_for, commands
from numcolbert.reproduce.kept_file import read_kept
from numcolbert.reproduce.page import main_grid, row_notes, table_grids, table_section
from numcolbert.reproduce.rows import RowState
from numcolbert.reproduce.runs import Workshop, find_run, made_run
from numcolbert.reproduce.spec import TABLES, RowSpec, TableSpec, load_table
from numcolbert.reproduce.summary import summary
from numcolbert.reproduce.systems import SYSTEMS, find_system
from numcolbert.reproduce.table import make_tables
from numcolbert.train.benchmarks import read_benchmark
from numcolbert.train.fingerprint import fingerprint
from numcolbert.train.recipe import load_recipe
from numcolbert.types import Document

pytest.importorskip("bm25s")
pytest.importorskip("quantulum3")

PERFECT = {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d2": 2.0, "d1": 1.0}, "q3": {"d3": 1.0}}


@pytest.mark.parametrize("name", TABLES)
def test_every_table_can_be_read(name: str) -> None:
    spec = load_table(name)
    assert len({row.name for row in spec.rows}) == len(spec.rows)
    assert {spec.subject, spec.baseline} <= {row.name for row in spec.rows}
    for row in spec.rows:
        explained = row.note and not row.measured
        assert row.made_here or command_for(row.system) or explained, f"nobody knows how {row.name} is made"
        assert set(row.paper) <= set(spec.paper_data.values())


def test_the_main_table_holds_the_papers_systems() -> None:
    names = {row.name for row in load_table("main").rows}
    assert {"SPLADE_ft", "ColBERT_ft", "QBM25", "QSPLADE", "QColBERT", "DeepQuant", "NumColBERT"} <= names


def test_bad_tables() -> None:
    with pytest.raises(UsageError, match="no table 'other'"):
        load_table("other")
    with pytest.raises(UsageError):
        settings_from(TableSpec, {"title": "t", "rows": [{"nam": "x"}]}, "a table")
    with pytest.raises(UsageError, match="no system 'bm52'"):
        find_system("bm52")


def test_every_command_makes_rows_of_the_tables() -> None:
    systems = [system for command in commands() for system in command.systems]
    assert len(set(systems)) == len(systems), "a system has one command"
    assert set(systems) <= {row.system for name in TABLES for row in load_table(name).rows}
    assert not set(systems) & set(SYSTEMS), "what is run here needs no command"


def test_training_commands_fit_the_recipes() -> None:
    for command in commands():
        words = shlex.split(command.line)
        if words[:3] == ["python", "-m", "numcolbert.train"]:
            changes = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
            recipe = load_recipe(words[3], changes)
            (system,) = command.systems
            assert recipe.run.output == Path("RUNS") / system


@pytest.mark.parametrize("name", [name for name in SYSTEMS if name != "cross-encoder"])
def test_every_system_ranks(name: str, benchmarks: Path) -> None:
    texts = {"d1": "revenue of 50 dollars", "d2": "revenue of 20 dollars", "d3": "revenue"}
    ranker = find_system(name).build({"q1": {"d2": 2.0, "d1": 1.9, "d3": 0.0}})
    ranker.index([Document(i, text) for i, text in texts.items()])
    run = ranker.search([Query("q1", "revenue above 40 dollars", concept="revenue")], 5)
    assert set(run["q1"]) == set(texts)
    if name.startswith("q"):
        assert next(iter(run["q1"])) == "d1", "50 is above 40"


def test_runs_are_reused_until_something_changes(benchmarks: Path, tmp_path: Path) -> None:
    benchmark = read_benchmark(benchmarks / "openfinquant")
    runs = tmp_path / "runs"
    first = made_run(runs, "bm25", benchmark, Workshop())
    assert not first.reused and made_run(runs, "bm25", benchmark, Workshop()).reused
    first.path.write_text(first.path.read_text() + "q1 Q0 d9 9 0.1 x\n")
    assert not made_run(runs, "bm25", benchmark, Workshop()).reused, "a run someone edited is made again"
    corpus = benchmarks / "openfinquant" / "corpus.jsonl"
    corpus.write_text(corpus.read_text() + '{"_id": "d5", "text": "revenue"}\n')
    again = made_run(runs, "bm25", benchmark, Workshop())
    assert not again.reused and "d5" in read_run(again.path)["q1"]


def test_runs_made_elsewhere_are_found(benchmarks: Path, tmp_path: Path) -> None:
    benchmark = read_benchmark(benchmarks / "openfinquant")
    assert find_run(tmp_path, "numcolbert", benchmark) is None
    write_run(tmp_path / "numcolbert" / "deep" / "openfinquant.gated.trec", PERFECT, "x")
    found = find_run(tmp_path, "numcolbert", benchmark)
    assert found is not None and found.name == "openfinquant.gated.trec"


def test_a_table_with_gaps(benchmarks: Path, tmp_path: Path) -> None:
    benchmark = read_benchmark(benchmarks / "openfinquant")
    (table,) = make_tables(load_table("main"), [benchmark], tmp_path / "runs", Workshop())
    how = {state.name: state.how for state in table.states}
    assert how["BM25 (whole query)"].startswith("made in")
    assert how["ColBERT_ft"].startswith("needs a GPU for about 7 minutes: python -m numcolbert.train")
    assert how["QColBERT"] == "needs the run of ColBERT_ft"
    assert how["GPT-4o-mini reranker"].startswith("Not measured here")
    assert summary(table).startswith("openfinquant: NumColBERT has not been measured yet")
    grid = main_grid(table)
    rows = {row[0].text: [entry.text for entry in row[1:]] for row in grid.rows}
    assert rows["ColBERT_ft"] == ["–"] * 4 + ["0.50", "0.62", "0.26", "0.81"]
    assert rows["BM25 (whole query)"][4:] == [""] * 4
    best = {row[0].text for row in grid.rows if row[1].best}
    assert best and not any(name.endswith("*") for name in best), "an upper bound is never the best"
    assert "QBM25 (gold conditions) *" in rows
    assert grid.columns[5] == "paper nDCG@10"
    assert grid.title == "openfinquant (3 queries; the paper's columns: FinQuant)"
    notes = table_section(table.spec, [table]).notes
    assert not any(note.endswith("..") for note in notes)
    assert "BM25 (concept words): Sees only the concept, as the paper's BM25 did." in notes
    assert "QColBERT: needs the run of ColBERT_ft." in notes
    assert row_notes(table.spec, [table, replace(table, benchmark="openmedquant")]) == notes, "said once"
    without = replace(table, benchmark="openmedquant", measured={})
    assert any(note.startswith("QBM25 on openmedquant: ") for note in row_notes(table.spec, [table, without]))
    suite = main_grid(replace(table, benchmark="openfinquant/bounds"))
    assert {row[0].text for row in suite.rows} < set(rows), "a suite shows what was measured"
    assert suite.notes[-1].startswith("Not measured: ") and "ColBERT_ft" in suite.notes[-1]


def test_a_run_from_elsewhere_completes_the_rows_that_stand_on_it(benchmarks: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    wrong = {"q1": {"d2": 2.0, "d1": 1.0}, "q2": {"d1": 2.0, "d2": 1.0}, "q3": {"d3": 1.0}}
    write_run(runs / "colbert-ft" / "openfinquant.plain.trec", wrong, "x")
    write_run(runs / "numcolbert" / "openfinquant.gated.trec", PERFECT, "x")
    (table,) = make_tables(
        load_table("main"), [read_benchmark(benchmarks / "openfinquant")], runs, Workshop()
    )
    assert table.comparison is not None and table.comparison.baseline == "ColBERT_ft"
    means = {row.system: row.cells["nDCG@10"].mean for row in table.comparison.overall.rows}
    assert any("QColBERT stands on 2 hits a query, not 1,000." in note for note in main_grid(table).notes)
    assert means["NumColBERT"] == 1.0 and means["QColBERT"] == 1.0 and means["ColBERT_ft"] < 1
    assert summary(table).startswith("openfinquant: NumColBERT has nDCG@10 1.000, the best of")
    assert "; +0.246 against ColBERT_ft (p = " in summary(table)


def test_suites_have_tables_of_their_own(benchmarks: Path, tmp_path: Path) -> None:
    suite = benchmarks / "openfinquant" / "suites" / "bounds"
    suite.mkdir(parents=True)
    (suite / "queries.jsonl").write_text('{"_id": "s1", "text": "weight"}\n')
    (suite / "qrels.trec").write_text("s1 0 d3 1\n")
    places = ["--benchmarks", str(benchmarks), "--runs", str(tmp_path / "runs")]
    values = json.loads(invoke("reproduce", "main", *places, "--json"))
    assert [value["benchmark"] for value in values] == ["openfinquant", "openfinquant/bounds"]
    assert (tmp_path / "runs" / "bm25" / "openfinquant-bounds.trec").is_file()


def test_a_bad_run_file_costs_its_own_row_only(benchmarks: Path, tmp_path: Path) -> None:
    bad = tmp_path / "runs" / "numcolbert" / "openfinquant.trec"
    bad.parent.mkdir(parents=True)
    bad.write_text("q1 Q0 d1 1 high x\n")
    (table,) = make_tables(
        load_table("main"), [read_benchmark(benchmarks / "openfinquant")], tmp_path / "runs", Workshop()
    )
    how = {state.name: state.how for state in table.states}
    assert "line 1" in how["NumColBERT"].lower() and "'high', which is not a number" in how["NumColBERT"]
    assert table.comparison is not None


@pytest.mark.parametrize("content", ["{", "[1]", '{"fingerprint_": 1}'])
@pytest.mark.parametrize("kind", ["made-on", "facts"])
def test_a_damaged_note_costs_its_own_row_only(
    benchmarks: Path, tmp_path: Path, kind: str, content: str
) -> None:
    runs = tmp_path / "runs"
    write_run(runs / "numcolbert" / "openfinquant.trec", PERFECT, "x")
    note = runs / "numcolbert" / f"openfinquant.{kind}.json"
    note.write_text(content.replace("1}", '"a"}') if kind == "facts" else content)
    benchmark = read_benchmark(benchmarks / "openfinquant")
    (table,) = make_tables(load_table("main"), [benchmark], runs, Workshop())
    states = {state.name: state for state in table.states}
    assert str(note) in states["NumColBERT"].how and set(table.measured) >= {"BM25 (whole query)"}


@pytest.mark.parametrize("content", ["{", "[1]", "{}"])
def test_a_run_with_a_damaged_note_is_made_again(benchmarks: Path, tmp_path: Path, content: str) -> None:
    benchmark = read_benchmark(benchmarks / "openfinquant")
    made = made_run(tmp_path, "bm25", benchmark, Workshop())
    made.path.with_suffix(".json").write_text(content)
    assert not made_run(tmp_path, "bm25", benchmark, Workshop()).reused
    assert made_run(tmp_path, "bm25", benchmark, Workshop()).reused


def test_a_bad_first_run_costs_the_rows_that_stand_on_it_only(benchmarks: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    (runs / "colbert-ft").mkdir(parents=True)
    (runs / "colbert-ft" / "openfinquant.plain.trec").write_text("q1 Q0 d1\n")
    write_run(runs / "qcolbert" / "openfinquant.trec", PERFECT, "x")
    write_run(runs / "numcolbert" / "openfinquant.gated.trec", PERFECT, "x")
    benchmark = read_benchmark(benchmarks / "openfinquant")
    (table,) = make_tables(load_table("main"), [benchmark], runs, Workshop(), run_missing=False)
    states = {state.name: state for state in table.states}
    assert "has 3 columns" in states["QColBERT"].how
    assert set(table.measured) == {"NumColBERT"}


def test_positives_are_tested_with_tukey(benchmarks: Path, tmp_path: Path) -> None:
    other = {**PERFECT, "q1": {"d2": 2.0, "d1": 1.0}}
    for system, run in (("positives-none", other), ("positives-unit", PERFECT)):
        write_run(tmp_path / system / "openfinquant.trec", run, "x")
    (table,) = make_tables(
        load_table("positives"), [read_benchmark(benchmarks / "openfinquant")], tmp_path, Workshop()
    )
    titles = [grid.title for grid in table_grids(table)]
    assert "openfinquant, nDCG@10: all pairs (Tukey HSD)" in titles


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_command_writes_a_report(benchmarks: Path, tmp_path: Path) -> None:
    common = [
        "--benchmarks",
        str(benchmarks),
        "--runs",
        str(tmp_path / "runs"),
        "-o",
        str(tmp_path / "report"),
    ]
    shown = invoke("reproduce", "operators", *common)
    assert "BM25 (whole query)" in shown and "# openfinquant: operator >" in shown
    report = tmp_path / "report"
    page = (report / "report.html").read_text(encoding="utf-8")
    assert "data:image/png" in page and "http" not in page.replace("http-equiv", "")
    assert (report / "figures" / "operators-openfinquant-RR10.csv").is_file()
    assert (report / "tables.md").is_file() and (report / "tables.tex").is_file()
    values = json.loads((report / "results.json").read_text())
    assert values[0]["benchmark"] == "openfinquant" and str(tmp_path) not in json.dumps(values)
    edition = values[0]["fingerprint"]
    assert edition == fingerprint(read_benchmark(benchmarks / "openfinquant")) and edition[:12] in page
    made = {row["name"]: row["run_sha256"] for row in values[0]["rows"]}
    assert len(made["QBM25"]) == 64 and made["ColBERT_ft"] is None
    each = read_kept(report).systems["openfinquant"]
    assert set(each) == {"bm25", "qbm25"} and each["bm25"].scores.queries == ("q1", "q2", "q3")
    rows = {row["system"]: row for row in values[0]["comparison"]["tables"][0]["rows"]}
    mean = each["qbm25"].scores.means()["nDCG@10"]
    assert mean == pytest.approx(rows["QBM25"]["cells"]["nDCG@10"]["mean"])
    with pytest.raises(ConflictError):
        invoke("reproduce", "operators", *common)
    again = json.loads(invoke("reproduce", "operators", *common, "--overwrite", "--note", "First.", "--json"))
    text = (report / "tables.md").read_text()
    assert text.startswith("# NumColBERT, measured\n\nFirst.\n") and "## By operator\n" in text
    pictures = re.findall(r"\]\((.*?)\)", text)
    assert pictures and all((report / picture).is_file() for picture in pictures)
    how = {row["name"]: row["how"] for row in again[0]["rows"]}
    assert how["BM25 (whole query)"] == "reused"


def test_saved_only_runs_nothing(benchmarks: Path, tmp_path: Path) -> None:
    values = json.loads(
        invoke(
            "reproduce",
            "main",
            "--benchmarks",
            str(benchmarks),
            "--runs",
            str(tmp_path / "r"),
            "--saved-only",
            "--json",
        )
    )
    assert values[0]["comparison"] is None and not (tmp_path / "r").exists()


def test_saved_runs_of_something_else_are_left_out(benchmarks: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    first = {"q1": {"d2": 2.0, "d1": 1.0}, "q2": {"d1": 2.0}, "q3": {"d3": 1.0}}
    write_run(runs / "colbert-ft" / "openfinquant.plain.trec", first, "x")

    def made(*, run_missing: bool) -> dict[str, RowState]:
        benchmark = read_benchmark(benchmarks / "openfinquant")
        (table,) = make_tables(
            load_table("operators"), [benchmark], runs, Workshop(), run_missing=run_missing
        )
        return {state.name: state for state in table.states}

    made(run_missing=True)
    saved = made(run_missing=False)
    assert saved["QBM25"].how == "found"
    assert saved["QColBERT"].warning == "stands on 2 hits a query, not 1,000", "said of saved runs too"
    corpus = benchmarks / "openfinquant" / "corpus.jsonl"
    corpus.write_text(corpus.read_text() + '{"_id": "d5", "text": "revenue"}\n')
    stale = made(run_missing=False)["QBM25"]
    assert stale.path is None and stale.how == "not run: the saved run was made on something else"


@pytest.mark.parametrize(
    ("table", "options", "kind"),
    [
        ("main", ("-o", "{there}"), ConflictError),
        ("mian", (), UsageError),
        ("main", ("--training-log", "{there}/none.jsonl"), NotFoundError),
        ("main", ("--model", "{there}/none"), ModelError),
    ],
)
def test_what_can_be_refused_costs_no_runs(
    benchmarks: Path, tmp_path: Path, table: str, options: tuple[str, ...], kind: type[NumColBERTError]
) -> None:
    runs = tmp_path / "runs"
    places = ("--benchmarks", str(benchmarks), "--runs", str(runs))
    original = ("--finquant", str(benchmarks / "openfinquant"))
    with pytest.raises(kind):
        invoke("reproduce", table, *places, *original, *(o.format(there=tmp_path) for o in options))
    assert not runs.exists() and not (benchmarks / "finquant").exists()


def test_no_benchmark(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds none of the benchmarks of the table: openfinquant, openmedq"):
        invoke("reproduce", "main", "--benchmarks", str(tmp_path))


def test_row_defaults() -> None:
    assert RowSpec("x", "bm25").made_here and not RowSpec("x", "colbert-ft").made_here


def test_baseline_command(benchmarks: Path, tmp_path: Path) -> None:
    folder, out = str(benchmarks / "openfinquant"), tmp_path / "a.run"
    invoke("baseline", "rank", "bm25", folder, "-o", str(out), "-k", "2")
    assert max(map(len, read_run(out).values())) == 2
    with pytest.raises(ConflictError):
        invoke("baseline", "rank", "bm25", folder, "-o", str(out))
    with pytest.raises(UsageError, match="stands on another system's run"):
        invoke("baseline", "rank", "qcolbert", folder, "-o", str(tmp_path / "b.run"))
    with pytest.raises(UsageError, match="stands on no other system's run"):
        invoke("baseline", "rank", "bm25", folder, "-o", str(tmp_path / "b.run"), "--first", str(out))
    with pytest.raises(ConflictError, match="is a folder"):
        invoke("baseline", "rank", "bm25", folder, "-o", str(tmp_path), "--overwrite")
    graded = ("llm", folder, "--first", str(out))
    for nothing in (("rank", "bm25", folder, "-k", "0"), (*graded, "--depth", "0")):
        refused = CliRunner().invoke(app, ["baseline", *nothing, "-o", str(tmp_path / "n.run")])
        assert refused.exit_code == UsageError.exit_code and not (tmp_path / "n.run").exists()
    invoke("baseline", "rank", "qcolbert", folder, "-o", str(tmp_path / "b.run"), "--first", str(out))
    estimate = json.loads(
        invoke(
            "baseline",
            "llm",
            folder,
            "--first",
            str(out),
            "-o",
            str(tmp_path / "l.run"),
            "--dry-run",
            "--json",
        )
    )
    assert estimate["calls"] == sum(map(len, read_run(out).values())) and estimate["dollars"] > 0
