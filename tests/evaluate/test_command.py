"""`numcolbert evaluate` as a person types it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from numcolbert.cli.app import app
from numcolbert.cli.evaluate import named_files
from numcolbert.errors import ConflictError, InputError, NumColBERTError, UsageError
from numcolbert.evaluate.trec import write_qrels, write_run

QRELS = {f"q{i}": {"a": 1} for i in range(6)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_qrels(tmp_path / "qrels.trec", QRELS)
    write_qrels(tmp_path / "subsets" / "less.trec", {"q0": {"a": 1}})
    write_run(tmp_path / "good.run", {q: {"a": 2.0, "b": 1.0} for q in QRELS}, "good")
    write_run(tmp_path / "bad.run", {q: {"b": 2.0, "a": 1.0} for q in QRELS}, "bad")
    attributes = {q: {"operator": "<" if q == "q0" else ">", "seen": q < "q3"} for q in QRELS}
    (tmp_path / "attributes.json").write_text(json.dumps(attributes))
    return tmp_path


def invoke(folder: Path, *options: str, runs: tuple[str, ...] = ("good.run", "bad.run")) -> str:
    arguments = ["evaluate", *(str(folder / run) for run in runs), "--qrels", str(folder / "qrels.trec")]
    result = CliRunner().invoke(app, [*arguments, *options])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_columns_when_piped(folder: Path) -> None:
    lines = invoke(folder, "--baseline", "good").splitlines()
    assert lines[0].split("\t") == ["system", "nDCG@10", "RR@10", "P@10", "R@100"]
    assert lines[2].split("\t") == ["bad", "0.631▼", "0.500▼", "0.100", "1.000"]


def test_json(folder: Path) -> None:
    report = json.loads(invoke(folder, "--json", "-m", "RR@10,R@5", "--baseline", str(folder / "bad.run")))
    assert report["measures"] == ["RR@10", "R@5"] and report["baseline"] == "bad"
    assert report["tables"][0]["rows"][0]["cells"]["RR@10"]["mean"] == 1.0


def test_subsets_and_operators(folder: Path) -> None:
    options = ("--subsets", str(folder / "subsets"), "--attributes", str(folder / "attributes.json"))
    report = json.loads(invoke(folder, "--json", *options))
    assert [(t["name"], t["queries"]) for t in report["tables"][1:]] == [("<", 1), (">", 5), ("less", 1)]


def test_any_attribute(folder: Path) -> None:
    options = ("--attributes", str(folder / "attributes.json"), "--by", "seen", "--by", "seen, operator")
    report = json.loads(invoke(folder, "--json", *options))
    assert [(t["name"], t["queries"]) for t in report["tables"][1:]] == [
        ("seen", 3), ("not seen", 3), ("seen, <", 1), ("seen, >", 2), ("not seen, >", 3),
    ]  # fmt: skip
    with pytest.raises(UsageError, match="--by needs"):
        invoke(folder, "--by", "seen")


def test_suites(folder: Path) -> None:
    write_qrels(folder / "suites" / "hard" / "qrels.trec", {"h1": {"a": 1}})
    write_run(folder / "both.run", {**{q: {"b": 1.0} for q in QRELS}, "h1": {"a": 1.0}}, "both")
    options = ("--suites", str(folder / "suites"), "--json", "-m", "RR@10")
    tables = json.loads(invoke(folder, *options, runs=("both.run",)))["tables"]
    assert [(t["name"], t["rows"][0]["cells"]["RR@10"]["mean"]) for t in tables] == [
        (folder.name, 0.0), ("hard", 1.0),
    ]  # fmt: skip


def test_a_count_of_missing_queries_names_its_tables(folder: Path) -> None:
    write_run(folder / "half.run", {q: {"a": 1.0} for q in QRELS if q < "q3"}, "half")
    arguments = ["evaluate", str(folder / "half.run"), "--qrels", str(folder / "qrels.trec")]
    told = CliRunner().invoke(app, [*arguments, "--attributes", str(folder / "attributes.json")]).stderr
    where = f"{folder.name} (6 queries), > (5 queries)"
    assert told == f"{where}: queries without any hit count as zero: half 3.\n"


def test_markdown_and_latex(folder: Path) -> None:
    assert "| good | **1.000** |" in invoke(folder, "--markdown")
    assert r"\toprule" in invoke(folder, "--latex", "--tukey", "-m", "P@1")


def test_page(folder: Path) -> None:
    page = folder / "report.html"
    invoke(folder, "--html", str(page), "--dataset", "tiny")
    assert "<title>Evaluation: tiny</title>" in page.read_text()
    with pytest.raises(ConflictError):
        invoke(folder, "--html", str(page))
    invoke(folder, "--html", str(page), "--overwrite")


@pytest.mark.parametrize(
    "read",
    ["good.run", "qrels.trec", "about.trec", "attributes.json", "queries.jsonl", "corpus.jsonl",
     "subsets/less.trec", "suites/hard/qrels.trec"],
)  # fmt: skip
def test_what_is_read_is_not_replaced(folder: Path, read: str) -> None:
    (folder / "corpus.jsonl").write_text('{"_id": "a", "text": "x"}\n{"_id": "b", "text": "y"}\n')
    (folder / "queries.jsonl").write_text("")
    write_qrels(folder / "about.trec", QRELS)
    write_qrels(folder / "suites" / "hard" / "qrels.trec", {"h1": {"a": 1}})
    options = [f"--{name}={folder / name}" for name in ("subsets", "suites")]
    options += [f"--attributes={folder / 'attributes.json'}", f"--corpus={folder / 'corpus.jsonl'}"]
    before = (folder / read).read_bytes()
    same = folder / "subsets" / ".." / read
    with pytest.raises(ConflictError, match=r"is an input of this command"):
        invoke(folder, *options, "--html", str(same), "--overwrite")
    assert (folder / read).read_bytes() == before


def test_names_that_are_not_utf8_get_a_page(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"set \xff")
    write_qrels(folder / "qrels.trec", QRELS)
    for part in ("subsets", "suites"):
        place = folder / part / os.fsdecode(b"\xfe")
        write_qrels(
            place / "qrels.trec" if part == "suites" else place.with_suffix(".trec"), {"q0": {"a": 1}}
        )
    run = os.fsdecode(b"a\xff.run")
    write_run(folder / run, {q: {"a": 2.0} for q in QRELS}, "t")
    for place in (folder, *(folder / "suites").iterdir()):
        write_qrels(place / "about.trec", {q: {"a": 1} for q in QRELS})
    options = ("--errors", "--subsets", str(folder / "subsets"), "--suites", str(folder / "suites"))
    report = json.loads(invoke(folder, "--html", str(folder / "p.html"), "--json", *options, runs=(run,)))
    assert [table["name"] for table in report["tables"]] == ["set ?", "?", "?"]
    assert report["tables"][0]["rows"][0]["system"] == "a?"
    assert "Evaluation: set ?" in (folder / "p.html").read_text()


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (("--json", "--latex"), UsageError, "exclude each other"),
        (("--alpha", "2"), UsageError, "--alpha is 2"),
        (("--baseline", "other"), UsageError, "'other' is not among"),
        (("-m", "nonsense"), UsageError, "'nonsense' is not a measure"),
        (("-m", "nDCG@99999999999999999999"), UsageError, "'nDCG@9+' is not a measure"),
        (("-m", ""), UsageError, "no measure to compute"),
        (("-m", ","), UsageError, "no measure to compute"),
    ],
)
def test_wrong_use(folder: Path, options: tuple[str, ...], kind: type[NumColBERTError], message: str) -> None:
    with pytest.raises(kind, match=message):
        invoke(folder, *options)


def test_a_seed_below_zero_is_refused(folder: Path) -> None:
    arguments = ["evaluate", str(folder / "good.run"), "--qrels", str(folder / "qrels.trec"), "--seed", "-1"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == UsageError.exit_code and isinstance(result.exception, SystemExit)


def test_measures_may_have_spaces_between_them(folder: Path) -> None:
    assert json.loads(invoke(folder, "--json", "-m", "RR@10, R@5"))["measures"] == ["RR@10", "R@5"]
    named = json.loads(invoke(folder, "--json", "-m", "nDCG(gains={0:0,1:1,2:3})@10,R@5"))["measures"]
    assert named == ["nDCG(gains={2:3})@10", "R@5"]


def test_a_run_of_another_benchmark(folder: Path) -> None:
    write_run(folder / "other.run", {"zz": {"a": 1.0}}, "t")
    with pytest.raises(InputError, match=r"Line 1 of .*other.run' names the query 'zz'") as caught:
        invoke(folder, runs=("other.run",))
    assert "--ignore-unknown" in (caught.value.hint or "")
    assert "0.000" in invoke(folder, "--ignore-unknown", runs=("other.run",))


def test_documents_outside_the_collection(folder: Path) -> None:
    (folder / "corpus.jsonl").write_text('{"_id": "a", "text": "x"}\n')
    with pytest.raises(InputError, match=r"Line 2 of .*good.run' names the document 'b'"):
        invoke(folder, "--corpus", str(folder / "corpus.jsonl"))


def test_names() -> None:
    assert named_files(["a/x.run", "ours=b/x.run"]) == {"x": Path("a/x.run"), "ours": Path("b/x.run")}
    assert named_files(["a/x.run.gz"]) == {"x": Path("a/x.run.gz")}
    with pytest.raises(UsageError, match="Two runs are named 'x'"):
        named_files(["a/x.run", "b/x.run"])
    for text in ("=b/x.run", "ours="):
        with pytest.raises(UsageError, match=f"'{text}' does not name a run"):
            named_files([text])
