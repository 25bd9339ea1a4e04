"""The benchmark measures what it says."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.standin import StandIn
from typer.testing import CliRunner

from numcolbert.cli.app import app
from numcolbert.cli.bench import engine_vectors
from numcolbert.errors import InputError, NumColBERTError, UsageError
from numcolbert.index import bench
from numcolbert.index.bench_vectors import VectorSet, gated, imitate, save

Make = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, clustered_passages: Make) -> Path:
    save(tmp_path / "set", clustered_passages(300), clustered_passages(12, seed=3))
    return tmp_path / "set"


def test_a_set_comes_back_as_it_was_saved(folder: Path, clustered_passages: Make) -> None:
    passages = clustered_passages(300)
    loaded = VectorSet.load(folder, 290)
    keys, rows = zip(*loaded.batches(64), strict=True)
    assert [key for some in keys for key in some] == list(range(290))
    for ours, theirs in zip((row for some in rows for row in some), passages, strict=False):
        np.testing.assert_allclose(ours, theirs, atol=1e-3)
    assert loaded.sample(50).shape == (50, 32)
    assert len(loaded.queries) == 12
    with pytest.raises(InputError, match="300 passages, 301"):
        VectorSet.load(folder, 301)


def test_imitations_have_the_shape_of_the_original(folder: Path) -> None:
    original = VectorSet.load(folder)
    made = list(imitate(original, 200))
    lengths = {int(n) for n in np.diff(original.ends, prepend=0)}
    assert {len(rows) for rows in made} <= lengths
    np.testing.assert_allclose(np.linalg.norm(np.concatenate(made), axis=1), 1, atol=1e-5)
    near = np.concatenate(made) @ original.vectors.astype(np.float32).T
    assert 0.8 < near.max(axis=1).mean() < 0.99


def test_gating_changes_two_tokens_and_no_direction() -> None:
    query = np.random.default_rng(0).standard_normal((9, 4)).astype(np.float32)
    weights = np.linalg.norm(gated(query, 1), axis=1) / np.linalg.norm(query, axis=1)
    assert sorted(weights[np.abs(weights - 1) > 1e-3].tolist()) == pytest.approx([0.3, 2.25])


def test_the_command_prints_a_row_an_engine(folder: Path, tmp_path: Path) -> None:
    arguments = ["bench", "engines", "--vectors", str(folder), "--passages", "300", "--nbits", "8"]
    done = CliRunner().invoke(
        app, [*arguments, "--queries", "6", "--rounds", "2", "--plot", str(tmp_path / "plot.svg"), "--json"]
    )
    assert done.exit_code == 0, done.output
    exact, plaid = json.loads(done.stdout)
    assert (exact["engine"], exact["recall"], plaid["engine"], plaid["nbits"]) == ("flat", 1.0, "plaid", 8)
    assert plaid["recall"] >= 0.9
    assert plaid["recall_gated"] >= 0.9
    assert exact["ratio"] > 0.5 > plaid["ratio"]
    for report in (exact, plaid):
        assert all(report[name] > 0 for name in ("build_s", "p50_ms", "cpu_ms"))
        assert 0 < report["gated"]["low"] <= report["gated"]["value"] <= report["gated"]["high"]
        assert report["gated_end_to_end"] is None  # only a benchmark brings texts to encode
    assert all(10**7 < report["search_peak"] < 10**10 for report in (exact, plaid))
    assert (tmp_path / "plot.svg").is_file()
    assert [path.name for path in folder.parent.iterdir() if path.name.startswith("numcolbert-bench")] == []


def test_vectors_or_a_corpus_are_needed() -> None:
    refused = CliRunner().invoke(app, ["bench", "engines"]).exception
    assert isinstance(refused, UsageError)
    assert "--corpus FILE" in refused.hint


def test_a_failed_measurement_names_its_engine(folder: Path) -> None:
    job = bench.Job(folder, 300, nbits=(), flat=False, fastplaid_python=Path(sys.executable), queries=2)
    with pytest.raises(NumColBERTError, match="fast-plaid"):
        list(bench.compare(job))  # this environment has no fast-plaid


def test_what_a_measurement_knows_of_its_failure_is_told(tmp_path: Path) -> None:
    job = bench.Job(vectors=tmp_path / "none", passages=5, nbits=(4,), queries=3, rounds=1)
    with pytest.raises(NumColBERTError, match=r"'.*lengths.i32' does not exist") as caught:
        list(bench.compare(job))
    assert caught.value.hint == "check the path"


def test_a_late_failure_takes_nothing_away(folder: Path) -> None:
    arguments = ["bench", "engines", "--vectors", str(folder), "--passages", "300", "--nbits", "4", "--json"]
    arguments += ["--queries", "2", "--rounds", "1", "--fastplaid-python", sys.executable]
    done = CliRunner().invoke(app, arguments)
    assert isinstance(done.exception, NumColBERTError)
    assert [report["engine"] for report in json.loads(done.stdout)] == ["flat", "plaid"]


def test_a_corpus_is_encoded_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = StandIn()
    monkeypatch.setattr("numcolbert.model.encoder.Encoder.load", lambda model: encoder)
    monkeypatch.setenv("NUMCOLBERT_CACHE", str(tmp_path / "cache"))
    corpus = tmp_path / "docs.jsonl"
    lines = [{"id": str(n), "text": f"The mine sold {n} tonnes of ore {n % 7}."} for n in range(400)]
    corpus.write_text("\n".join(map(json.dumps, lines)))
    folder = engine_vectors.from_corpus(corpus, None, 100)
    assert encoder.encoded == 100
    assert engine_vectors.from_corpus(corpus, None, 100) == folder
    assert encoder.encoded == 100
    loaded = VectorSet.load(folder)
    assert (loaded.count, len(loaded.queries)) == (100, 300)
    np.testing.assert_allclose(np.linalg.norm(np.concatenate(loaded.queries), axis=1), 1, atol=1e-5)
    imitated = VectorSet.load(engine_vectors.imitated(folder, 150))
    assert imitated.count == 150
    with pytest.raises(InputError, match=r"holds 400 documents; .* 300 more documents to cut queries from"):
        engine_vectors.from_corpus(corpus, None, 101)


@pytest.fixture
def benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("numcolbert.model.encoder.Encoder.load", lambda model: StandIn())
    monkeypatch.setenv("NUMCOLBERT_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "benchmark"
    folder.mkdir()
    documents = [{"_id": f"d{n}", "text": f"Mine {n} sold {n} tonnes of ore."} for n in range(300)]
    queries = [{"_id": f"q{n}", "text": f"mine that sold {n} tonnes"} for n in range(0, 300, 30)]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (folder / "qrels.trec").write_text("".join(f"q{n} 0 d{n} 1\n" for n in range(0, 300, 30)))
    return folder


def test_a_benchmark_adds_the_loss_of_quality(benchmark: Path, tmp_path: Path) -> None:
    arguments = ["bench", "engines", "--benchmark", str(benchmark), "--passages", "200", "--rounds", "1"]
    figure = tmp_path / "quality.svg"
    done = CliRunner().invoke(
        app, [*arguments, "--nbits", "8", "--nbits", "1", "--plot-quality", str(figure), "--json"]
    )
    assert done.exit_code == 0, done.output
    exact, fine, coarse = json.loads(done.stdout)
    assert exact["ndcg"] > 0.9  # the number of the query stands in one passage only
    assert exact["ndcg_gated"] == pytest.approx(1.0)
    assert exact["ndcg_gated"] >= fine["ndcg_gated"] > 0.95
    assert coarse["passages"] == 200
    assert 0 < coarse["gated_end_to_end"]["low"] <= coarse["gated_end_to_end"]["high"]
    assert figure.is_file()


def test_fewer_queries_of_a_benchmark_can_be_asked(benchmark: Path) -> None:
    arguments = ["bench", "engines", "--benchmark", str(benchmark), "--passages", "200", "--rounds", "1"]
    done = CliRunner().invoke(app, [*arguments, "--nbits", "8", "--queries", "3", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)[0]["ndcg_gated"] == pytest.approx(1.0)
    assert engine_vectors.from_benchmark(benchmark, None, 200)[1].first(3).queries == ("q0", "q30", "q60")


def test_a_ratio_has_an_interval_that_shrinks_with_agreement() -> None:
    below = np.linspace(1, 2, 50)
    same = bench.Ratio.of(1.02 * below, below)
    assert (same.low, same.value, same.high) == pytest.approx((1.02, 1.02, 1.02))
    noisy = bench.Ratio.of(below * np.where(np.arange(50) % 2, 1.3, 0.8), below)
    assert noisy.low < 1 < noisy.value < noisy.high


def test_all_judged_passages_are_in_the_cut(benchmark: Path) -> None:
    folder, judged = engine_vectors.from_benchmark(benchmark, None, 50)
    loaded = VectorSet.load(folder)
    assert (loaded.count, len(loaded.queries)) == (50, 10)
    assert judged.ndcg([[place] for place in range(10)]) == 1.0  # judged ones come first, query by query
    assert judged.ndcg([[20]] * 10) == 0.0
    assert max(float(np.linalg.norm(query, axis=1).max()) for query in loaded.gated_queries()) > 2.9
    with pytest.raises(UsageError, match="10 judged documents, 9 passages"):
        engine_vectors.from_benchmark(benchmark, None, 9)
    with pytest.raises(InputError, match="holds 300 documents"):
        engine_vectors.from_benchmark(benchmark, None, 301)


def test_quality_needs_judgements(folder: Path) -> None:
    arguments = ["bench", "engines", "--vectors", str(folder), "--plot-quality", "a.svg"]
    refused = CliRunner().invoke(app, arguments).exception
    assert isinstance(refused, UsageError)
    assert "--benchmark" in refused.hint
