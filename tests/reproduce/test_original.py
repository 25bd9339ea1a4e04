"""A folder in the authors' layout is measured like any other benchmark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from numcolbert.baselines.collection import read_queries
from numcolbert.cli.app import app
from numcolbert.errors import InputError, MissingDependencyError, UsageError
from numcolbert.reproduce.original import import_original
from numcolbert.reproduce.training import held_out_of, train_systems
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


def written_folder(folder: Path) -> Path:
    """The authors' layout with enough sentences to draw triples from."""
    (folder / "qrels").mkdir(parents=True)
    sentences, qrels = [], {"0": {}, "1": {}}
    for number in range(60):
        value = 10 * (number % 30) + 10
        kind = ("Total revenue", "Net income")[number % 2]
        sentences.append(f"s{number},{kind} was ${value} million in quarter number {number} of the year.")
        if kind == "Total revenue":
            qrels["0" if value > 200 else "1"][f"s{number}"] = 1
    (folder / "collection.csv").write_text("id,sentence\n" + "\n".join(sentences) + "\n")
    (folder / "queries.tsv").write_text(
        "query_text\tkeywords\tunit\tvalue\tcondition\n"
        "total revenue above $200 million\ttotal revenue\tdollar\t200000000\tgreater\n"
        "total revenue below $201 million\ttotal revenue\tdollar\t201000000\tless\n"
    )
    (folder / "qrels" / "complete.json").write_text(json.dumps(qrels))
    return folder


@pytest.mark.train
def test_one_command_trains_and_measures_on_them(
    tmp_path: Path, backbone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("spacy")
    from numcolbert.data.pipeline import load_pipeline

    try:
        load_pipeline()
    except MissingDependencyError as error:
        pytest.skip(error.message)
    monkeypatch.setenv("NUMCOLBERT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("numcolbert.baselines.splade.FIRST_BIAS", 0.0)  # the toy's embeddings are too short
    runs = tmp_path / "r"
    small = {
        "model.backbone": backbone, "run.steps": 2, "optimiser.batch": 4, "data.workers": 0,
        "model.encoder.dim": 16, "run.log_every": 1,
    }  # fmt: skip
    changes = [word for key, value in small.items() for word in ("--set", f"{key}={value}")]
    folder = written_folder(tmp_path / "download")
    command = ["reproduce", "main", "--finquant", str(folder), "--train", "tiny-cpu", *changes, "--json"]
    command += ["--benchmarks", str(tmp_path / "b"), "--runs", str(runs)]
    result = CliRunner().invoke(app, command)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    (table,) = json.loads(result.stdout)
    how = {row["name"]: row["how"] for row in table["rows"]}
    for name in ("NumColBERT", "ColBERT_ft", "SPLADE_ft", "DeepQuant"):
        assert how[name] == "found", name
    assert how["QColBERT"].startswith("made in"), "it stands on the thousand hits of ColBERT_ft"
    assert len(table["comparison"]["tables"][0]["rows"]) >= 12
    recipe = json.loads(next((runs / "colbert-ft").rglob("recipe.json")).read_text())
    assert recipe["model"]["gated"] is False and recipe["loss"]["detection"] == 0
    held_out = json.loads((tmp_path / "b" / "finquant" / "held_out.json").read_text())
    assert {(q["operator"], q["base_value"]) for q in held_out["queries"]} == {(">", 2e8), ("<", 2.01e8)}
    assert train_systems(tmp_path / "b" / "finquant", runs, "tiny-cpu") == [], (
        "what is there is not trained again"
    )


def test_what_the_authors_mark_as_unseen_is_held_out(tmp_path: Path) -> None:
    folder = written_folder(tmp_path / "download")
    (folder / "qrels" / "not_training.json").write_text(json.dumps({"0": {"s41": 1}}))
    import_original(folder, tmp_path / "finquant")
    content = held_out_of(read_benchmark(tmp_path / "finquant"))
    assert content["pairs"] == [("total revenue", "currency:USD")]


def test_training_needs_the_authors_files(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["reproduce", "main", "--train", "tiny-cpu"])
    assert isinstance(result.exception, UsageError) and "nothing to train on" in str(result.exception)


def test_changes_belong_to_a_recipe() -> None:
    result = CliRunner().invoke(app, ["reproduce", "main", "--set", "run.steps=3"])
    assert isinstance(result.exception, UsageError) and "none is trained" in str(result.exception)
