"""A report keeps what its tables are made of: they can be made again without runs and benchmarks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from numcolbert.baselines.ranker import Run
from numcolbert.cli.app import app
from numcolbert.errors import InputError, NotFoundError, UsageError
from numcolbert.evaluate.trec import write_run
from numcolbert.reproduce.kept_file import FILE, kept_json, read_kept
from numcolbert.reproduce.measured import Kept

RIGHT: Run = {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d2": 2.0, "d1": 1.0}, "q3": {"d3": 1.0}}
WORSE: Run = RIGHT | {"q1": {"d2": 2.0, "d1": 1.0}}
SILENT: Run = {"q1": {"d4": 1.0}}
RUNS = {"numcolbert": RIGHT, "colbert-ft": WORSE, "deepquant": SILENT, "bm25": WORSE, "colbert-zero": WORSE}


@pytest.fixture
def runs(tmp_path: Path, benchmarks: Path) -> Path:
    """Run files of some systems on the benchmark and on a suite, with facts beside one."""
    suite = benchmarks / "openfinquant" / "suites" / "bounds"
    suite.mkdir(parents=True)
    (suite / "queries.jsonl").write_text('{"_id": "s1", "text": "weight"}\n{"_id": "s2", "text": "fine"}\n')
    (suite / "qrels.trec").write_text("s1 0 d3 1\ns2 0 d4 1\n")
    folder = tmp_path / "runs"
    for system, run in RUNS.items():
        write_run(folder / system / "openfinquant.trec", run, "x")
        write_run(folder / system / "openfinquant-bounds.trec", {"s1": {"d3": 1.0}}, "x")
    for engine in ("exact", "plaid4"):
        write_run(folder / f"numcolbert-{engine}" / "openfinquant.trec", RIGHT, "x")
    facts = folder / "numcolbert-plaid4" / "openfinquant.facts.json"
    facts.write_text('{"ms/query": 12.5, "GB": 0.25}')
    return folder


def reproduce(table: str, *options: str | Path) -> list[dict[str, Any]]:
    result = CliRunner().invoke(app, ["reproduce", table, "--saved-only", "--json", *map(str, options)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    values: list[dict[str, Any]] = json.loads(result.stdout)
    return values


def rows(values: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in values[0]["rows"]}


def test_a_fresh_clone_makes_the_same_report(benchmarks: Path, runs: Path, tmp_path: Path) -> None:
    first, again, nowhere = tmp_path / "first", tmp_path / "again", tmp_path / "nowhere"
    before = reproduce("all", "--benchmarks", benchmarks, "--runs", runs, "-o", first)
    here = ["--benchmarks", nowhere, "--runs", nowhere]
    after = reproduce("all", *here, "--kept", first, "-o", again)
    assert {value["benchmark"] for value in after} == {"openfinquant", "openfinquant/bounds"}
    for ours, theirs in zip(before, after, strict=True):
        for row in (*ours["rows"], *theirs["rows"]):
            del row["how"]
        assert ours == theirs, "comparisons, tests, operators, facts and hashes"
    assert (first / FILE).read_text() == (again / FILE).read_text(), "what is kept is kept in turn"
    figures = {path.name: path.read_bytes() for path in (first / "figures").glob("*.csv")}
    assert figures and figures == {path.name: path.read_bytes() for path in (again / "figures").glob("*.csv")}
    tables = (again / "tables.md").read_text()
    assert "From kept measures, without run files: all rows.\n" in tables and "(–)" not in tables
    assert "without any hit count as zero: DeepQuant 2" in tables
    assert "From kept" not in (first / "tables.md").read_text()


def test_runs_win_and_the_rest_is_kept(benchmarks: Path, runs: Path, tmp_path: Path) -> None:
    report = tmp_path / "report"
    here = ["--benchmarks", benchmarks, "--runs", runs]
    reproduce("all", *here, "-o", report)
    shutil.rmtree(runs)
    write_run(runs / "numcolbert" / "openfinquant.trec", WORSE, "x")
    reproduce("operators", *here, "--kept", report, "-o", report, "--overwrite")
    kept = read_kept(report)
    values = reproduce("operators", *here, "--kept", report)
    assert rows(values)["NumColBERT"]["how"] == "found" and rows(values)["ColBERT_ft"]["how"] == "kept"
    assert kept.systems["openfinquant"]["numcolbert"].scores.means()["RR@10"] == pytest.approx(
        5 / 6, abs=1e-4
    )
    assert {"deepquant", "numcolbert-plaid4"} <= set(kept.systems["openfinquant"]), "no row of this table"
    assert set(kept.systems["openfinquant/bounds"]) == set(RUNS)
    note = "From kept measures, without run files: BM25 (whole query); ColBERT_ft; DeepQuant."
    assert note in (report / "tables.md").read_text()


def test_what_is_kept_is_not_run_again(benchmarks: Path, runs: Path, tmp_path: Path) -> None:
    here = ["--benchmarks", str(benchmarks), "--runs", str(runs)]
    reproduce("main", *here, "-o", tmp_path / "report")
    shutil.rmtree(runs)
    wanted = ["reproduce", "ablation", *here, "--kept", str(tmp_path / "report"), "--json"]
    assert CliRunner().invoke(app, wanted).exit_code == 0
    assert not runs.exists()


@pytest.mark.parametrize("changed", ["corpus.jsonl", "qrels.trec"])
def test_another_edition_is_not_mixed_in(changed: str, benchmarks: Path, runs: Path, tmp_path: Path) -> None:
    report = tmp_path / "report"
    here = ["--benchmarks", benchmarks, "--runs", runs]
    reproduce("main", *here, "-o", report)
    file = benchmarks / "openfinquant" / changed
    more = {"corpus.jsonl": '{"_id": "d5", "text": "revenue"}\n', "qrels.trec": "q1 0 d2 1\n"}
    file.write_text(file.read_text() + more[changed])
    shutil.rmtree(runs / "colbert-ft")
    values = reproduce("main", *here, "--kept", report, "-o", tmp_path / "new")
    assert not rows(values)["ColBERT_ft"]["measured"]
    tables = (tmp_path / "new" / "tables.md").read_text()
    assert (
        "The kept measures of 'openfinquant' were made on another edition of the benchmark. (name" in tables
    )
    kept = read_kept(tmp_path / "new").systems["openfinquant"]
    assert "numcolbert" in kept and "colbert-ft" not in kept, "a file holds one edition"


OLD = {
    "numcolbert": {"openfinquant": {"q1": 1, "q2": 1, "q3": 1}},
    "colbert-ft": {"openfinquant": {"q1": 0.6309, "q2": 1, "q3": 1}},
}


def test_the_old_file_gives_what_it_has(benchmarks: Path, runs: Path, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    (old / "per-query.json").write_text(json.dumps(OLD))
    shutil.rmtree(runs / "colbert-ft")
    values = reproduce("main", "--benchmarks", benchmarks, "--runs", runs, "--kept", old, "-o", new)
    cells = {row["system"]: row["cells"] for row in values[0]["comparison"]["tables"][0]["rows"]}
    assert set(cells["ColBERT_ft"]) == {"nDCG@10"} and len(cells["NumColBERT"]) == 4
    assert cells["NumColBERT"]["nDCG@10"]["versus"]["test"]["wins"] == 1
    assert cells["NumColBERT"]["RR@10"]["versus"] is None, "there is nothing to test against"
    tables = (new / "tables.md").read_text()
    assert "| ColBERT_ft | 0.877 | – | – | – |" in tables
    assert (
        "From kept measures, without run files: ColBERT_ft. Not all measures were kept of each (–)." in tables
    )
    assert read_kept(new).systems["openfinquant"]["colbert-ft"].scores.measures == ("nDCG@10",)
    assert read_kept(new).query_sets["openfinquant"].fingerprint == values[0]["fingerprint"]


def test_the_old_file_must_have_the_benchmarks_queries(benchmarks: Path, tmp_path: Path) -> None:
    old = tmp_path / "per-query.json"
    old.write_text(json.dumps({"colbert-ft": {"openfinquant": {"q1": 1, "q2": 1}}}))
    values = reproduce("main", "--benchmarks", benchmarks, "--runs", tmp_path / "none", "--kept", old)
    assert values[0]["comparison"] is None


@pytest.mark.parametrize("table", ["operators", "general", "positives", "efficiency"])
def test_tables_of_other_measures_do_with_the_old_file(table: str, tmp_path: Path) -> None:
    old = tmp_path / "per-query.json"
    systems = ("joint", "numcolbert", "positives-none", "positives-unit", "numcolbert-exact")
    old.write_text(json.dumps(dict.fromkeys(systems, OLD["colbert-ft"])))
    here = ["--benchmarks", tmp_path / "none", "--runs", tmp_path / "none"]
    values = reproduce(table, *here, "--kept", old, "-o", tmp_path / "report")
    assert values[0]["comparison"]["tables"][0]["queries"] == 3 and values[0]["fingerprint"] == ""
    assert "of an unknown edition" in (tmp_path / "report" / "report.html").read_text()


def kept_with(**changes: Any) -> str:
    part = {"queries": ["q1", "q2"], "systems": {"bm25": {"measures": {"nDCG@10": [1, 0.5]}}}} | changes
    return json.dumps({"format": 1, "benchmarks": {"openfinquant": part}})


def measures(**values: Any) -> dict[str, Any]:
    return {"bm25": {"measures": values}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not valid JSON"),
        ("[1]", "must hold one JSON object"),
        ('{"bm25": {"openfinquant": [1]}}', "is damaged or holds no measures"),
        ('{"a": {"b": {"q1": 1}}, "c": {"b": {"q2": 1}}}', "'c' has other queries of 'b'"),
        ('{"format": 2}', "has format 2, this version reads 1"),
        ('{"format": 1}', "KeyError"),
        (kept_with(queries=["q1", "q1"]), "one twice"),
        (kept_with(operators={">": [7]}), "is damaged"),
        (kept_with(operators={">": [0], "<": []}), "an operator of 'openfinquant' without queries"),
        (kept_with(fingerprint=5), "a hash of 'openfinquant' is no text"),
        (kept_with(judgements=None), "a hash of 'openfinquant' is no text"),
        (kept_with(systems=measures(**{"nDCG@10": [1]})), "one value from 0 to 1 for each of 2 queries"),
        (kept_with(systems=measures(**{"nDCG@10": [1, 7]})), "one value from 0 to 1"),
        (kept_with(systems=measures(**{"nDCG@10": [1, None]})), "one value from 0 to 1"),
        (kept_with(systems=measures(**{"nDCG@10": [1, 0], "P@10": [1]})), "is damaged"),
        (kept_with(systems=measures(luck=[1, 1])), "'luck' is not a measure"),
    ],
)
def test_bad_files_are_named(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / FILE
    file.write_text(text)
    with pytest.raises(InputError, match=message) as raised:
        read_kept(tmp_path)
    assert str(file) in raised.value.message and raised.value.hint


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(kept_with(), encoding="utf-8-sig")
    assert read_kept(tmp_path).query_sets["openfinquant"].queries == ("q1", "q2")


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"file of kept measures .*measures\.json' does not exist"):
        read_kept(tmp_path)
    (tmp_path / FILE).write_text(kept_json(Kept()))
    with pytest.raises(UsageError, match="holds none of the benchmarks"):
        reproduce("main", "--benchmarks", tmp_path / "none", "--kept", tmp_path)


def test_many_queries_take_little_room(tmp_path: Path) -> None:
    """Thirty systems on a thousand queries each are as much as the committed report holds."""
    queries = [f"q{i:04}" for i in range(1000)]
    values = {"nDCG@10": 0.6309, "RR@10": 0.3333, "P@10": 0.2, "R@100": 1}
    systems = {
        f"system-{i}": {"measures": {m: [v] * len(queries) for m, v in values.items()}} for i in range(30)
    }
    (tmp_path / FILE).write_text(kept_with(queries=queries, systems=systems))
    text = kept_json(read_kept(tmp_path))
    assert len(text) < 1_000_000
    (tmp_path / FILE).write_text(text)
    assert kept_json(read_kept(tmp_path)) == text
