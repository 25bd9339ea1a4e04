"""A folder in the authors' layout is measured like any other benchmark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from numcolbert.baselines.collection import read_queries
from numcolbert.cli.app import app
from numcolbert.errors import InputError
from numcolbert.reproduce.original import import_original
from numcolbert.train.benchmarks import read_benchmark

pytest.importorskip("bm25s")
pytest.importorskip("quantulum3")


@pytest.fixture
def authors_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "download"
    (folder / "qrels").mkdir(parents=True)
    (folder / "queries.tsv").write_text(
        "qid\tquery_text\tkeywords\tunit\tvalue\tcondition\n"
        "1\trevenue above 40 dollars\trevenue\tdollar\t40\tgreater\n"
        "2\trevenue below 40 dollars\trevenue\tdollar\t40\tless\n"
    )
    (folder / "collection.csv").write_text(
        'id,sentence\na,"revenue, all of it, of 50 dollars"\nb,revenue of 20 dollars\n'
    )
    (folder / "qrels" / "complete.json").write_text(json.dumps({"1": {"a": 1}, "2": {"b": 1}}))
    (folder / "qrels" / "greater.json").write_text(json.dumps({"1": {"a": 1}}))
    return folder


def test_the_authors_files_become_a_benchmark(authors_folder: Path, tmp_path: Path) -> None:
    import_original(authors_folder, tmp_path / "finquant")
    benchmark = read_benchmark(tmp_path / "finquant")
    assert benchmark.qrels == {"1": {"a": 1}, "2": {"b": 1}} and list(benchmark.subsets) == ["greater"]
    first = read_queries(benchmark)[0]
    assert first.concept == "revenue" and first.condition is not None
    assert (first.condition.operator, first.condition.quantity.value) == (">", 40.0)


def test_one_command_measures_them(
    authors_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMCOLBERT_CACHE", str(tmp_path / "cache"))
    places = ["--benchmarks", str(tmp_path / "b"), "--runs", str(tmp_path / "r")]
    result = CliRunner().invoke(
        app, ["reproduce", "main", "--finquant", str(authors_folder), *places, "--json"]
    )
    assert result.exit_code == 0, result.output
    (table,) = json.loads(result.stdout)
    means = {r["system"]: r["cells"]["nDCG@10"]["mean"] for r in table["comparison"]["tables"][0]["rows"]}
    assert means["QBM25"] == means["QBM25 (gold conditions)"] == 1.0
    assert table["paper_data"] == "FinQuant" and table["paper"]["NumColBERT"] == [0.59, 0.71, 0.31, 0.87]


def test_judgements_of_another_download(authors_folder: Path, tmp_path: Path) -> None:
    (authors_folder / "qrels" / "complete.json").write_text(json.dumps({"9": {"a": 1}}))
    with pytest.raises(InputError, match="name query '9'"):
        import_original(authors_folder, tmp_path / "finquant")
    assert not (tmp_path / "finquant").exists()
