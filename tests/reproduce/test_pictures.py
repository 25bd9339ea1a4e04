"""Figures that need more than runs: number tokens, training logs, engines."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from numcolbert.cli.app import app
from numcolbert.errors import InputError
from numcolbert.reproduce.engines import engine_grid, engines_json, read_engines
from numcolbert.reproduce.pictures import earlier_tsne, number_tokens, tsne
from numcolbert.train.benchmarks import read_benchmark
from numcolbert.types import QueryEncoding


def encoding(probabilities: list[float]) -> QueryEncoding:
    count = len(probabilities)
    gates = np.array([5.0 if p > 0.5 else 1.0 for p in probabilities], np.float32)
    vectors = np.eye(count, 4, dtype=np.float32) * gates[:, None]
    return QueryEncoding(
        "t", vectors, ("w",) * count, (None,) * count, np.array(probabilities, np.float32), gates
    )


def test_number_tokens_are_the_detected_ones_ungated() -> None:
    vectors, labels = number_tokens([encoding([0.1, 0.9, 0.8]), encoding([0.2, 0.7])], [">", "<"])
    assert labels == [">", ">", "<"]
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1])
    with pytest.raises(InputError, match="detects no number"):
        number_tokens([encoding([0.1])], [">"])


def test_tsne_of_a_benchmark(benchmarks: Path, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    draw = np.random.default_rng(0)

    def encode(texts):
        found = []
        for _ in texts:
            vectors = draw.normal(size=(12, 4)).astype(np.float32)
            ones = np.ones(12, np.float32)
            found.append(QueryEncoding("t", vectors, ("w",) * 12, (None,) * 12, ones, ones))
        return found

    picture = tsne(read_benchmark(benchmarks / "openfinquant"), encode)(tmp_path / "old" / "figures")
    assert picture.path.is_file() and len(json.loads(picture.path.with_suffix(".json").read_text())) == 36
    [stays] = earlier_tsne(tmp_path / "old")
    again = stays(tmp_path / "new")
    assert again.caption == picture.caption and again.path.read_bytes() == picture.path.read_bytes()
    assert {path.suffix for path in again.path.parent.iterdir()} == {".png", ".csv", ".json"}


ENGINES = [
    {"engine": "flat", "nbits": None, "passages": 1000, "bytes": 5_000_000, "p50_ms": 9.0, "p95_ms": 9.9,
     "recall": None, "gated": None},
    {"engine": "plaid", "nbits": 4, "passages": 1000, "bytes": 700_000, "p50_ms": 1.5, "p95_ms": 2.0,
     "recall": 0.987, "gated": {"value": 1.02, "low": 0.99, "high": 1.05}},
]  # fmt: skip


def test_engines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "engines.json"
    path.write_text(json.dumps(ENGINES))
    rows = [[entry.text for entry in row] for row in engine_grid(read_engines(path)).rows]
    assert rows[0] == ["flat", "1,000", "5.0", "9.0", "9.9", "", ""]
    assert rows[1] == ["plaid 4 bits", "1,000", "0.7", "1.5", "2.0", "0.987", "1.020"]
    real = read_engines(Path(__file__).parents[2] / "docs" / "results" / "engines-growth.json")
    assert [row.gated is not None for row in real] == [True] * len(real), "as the benchmark writes it today"
    path.write_text("[{}]")
    with pytest.raises(InputError, match="is not the output of the engine benchmark"):
        read_engines(path)


def test_they_enter_the_report(benchmarks: Path, tmp_path: Path) -> None:
    pytest.importorskip("bm25s")
    pytest.importorskip("quantulum3")
    (tmp_path / "engines.json").write_text(json.dumps(ENGINES))
    (tmp_path / "log.jsonl").write_text('{"step": 0, "retrieval": 2.5}\n{"step": 1, "retrieval": 1.5}\n')
    options = [
        "--benchmarks",
        str(benchmarks),
        "--runs",
        str(tmp_path / "runs"),
        "-o",
        str(tmp_path / "report"),
    ]
    options += ["--engines", str(tmp_path / "engines.json"), "--training-log", str(tmp_path / "log.jsonl")]
    result = CliRunner().invoke(app, ["reproduce", "ablation", *options])
    assert result.exit_code == 0, result.output
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "plaid 4 bits" in page and page.count("data:image/png") == 2
    assert {p.name for p in (tmp_path / "report" / "figures").glob("*.csv")} == {
        "latency.csv",
        "training.csv",
    }

    options[options.index("--engines") :] = ["--kept", str(tmp_path / "report"), "--overwrite"]
    result = CliRunner().invoke(app, ["reproduce", "ablation", *options])
    assert result.exit_code == 0, result.output
    again = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "plaid 4 bits" in again and again.count("data:image/png") == 2, "nothing of them is lost"
    assert (tmp_path / "report" / "figures" / "training.json").is_file()


def test_engines_are_written_as_they_are_read(tmp_path: Path) -> None:
    (tmp_path / "engines.json").write_text(json.dumps(ENGINES))
    rows = read_engines(tmp_path / "engines.json")
    (tmp_path / "again.json").write_text(engines_json(rows))
    assert read_engines(tmp_path / "again.json") == rows
