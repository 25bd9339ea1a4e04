"""The engines' runs: exact and compressed, encoded once, with what they cost beside them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.standin import StandIn

from numcolbert.errors import UsageError
from numcolbert.evaluate.trec import read_run
from numcolbert.model.encoder import Encoder
from numcolbert.reproduce import disturbance, efficiency
from numcolbert.reproduce.page import main_grid
from numcolbert.reproduce.pictures import nbits_pictures
from numcolbert.reproduce.runs import Workshop
from numcolbert.reproduce.spec import load_table
from numcolbert.reproduce.table import make_tables
from numcolbert.train.benchmarks import Corpus, read_benchmark, read_corpus
from numcolbert.train.fingerprint import fingerprint, made_on

DIM = 16


class Words:
    """A word is a vector of its own: MaxSim counts the query's words in a passage."""

    def __init__(self) -> None:
        self.encoded = 0

    def encode_documents(self, texts: Sequence[str]) -> list[Any]:
        self.encoded += len(texts)
        return [SimpleNamespace(vectors=self.vectors(text)) for text in texts]

    def vectors(self, text: str) -> Any:
        rows = [np.random.default_rng(sum(word.encode())).normal(size=DIM) for word in text.split()]
        return np.array([row / np.linalg.norm(row) for row in rows], np.float32)


def test_runs_and_costs(benchmarks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(efficiency, "PART", 3)
    benchmark = read_benchmark(benchmarks / "openfinquant")
    corpus = read_corpus(benchmark.corpus_path)
    words = Words()
    encoded = efficiency.encode(words, corpus.ids, corpus.texts, tmp_path / "parts")  # type: ignore[arg-type]
    assert words.encoded == 4 and len(encoded.parts) == 2
    encoded.parts[0].unlink()
    encoded = efficiency.encode(words, corpus.ids, corpus.texts, tmp_path / "parts")  # type: ignore[arg-type]
    assert words.encoded == 7, "only the part that was missing"
    queries = [words.vectors(text) for text in benchmark.query_texts]
    asked = {"numcolbert": queries, "halved": [vectors / 2 for vectors in queries]}
    facts = efficiency.measure_engines(asked, benchmark, encoded, tmp_path / "runs", [8, 1])
    assert [fact["system"] for fact in facts] == [
        f"{system}-{engine}" for engine in ("exact", "plaid8", "plaid1") for system in asked
    ]
    assert all(fact["others"] >= 0 for fact in facts), "what else ran is told beside every time"
    path = tmp_path / "runs" / "numcolbert-exact" / "openfinquant.trec"
    assert made_on(path) == fingerprint(benchmark), "another edition of the benchmark is told from this one"
    exact = read_run(path)
    # "revenue above 40 dollars" has two words in common with both passages about revenue.
    assert set(list(exact["q1"])[:2]) == {"d1", "d2"}
    assert exact["q3"]["d3"] == pytest.approx(4, abs=1e-2)
    halved = read_run(tmp_path / "runs" / "halved-exact" / "openfinquant.trec")
    assert halved["q3"]["d3"] == pytest.approx(2, abs=1e-2), "the same index, asked by other queries"

    (table,) = make_tables(load_table("efficiency"), [benchmark], tmp_path / "runs", Workshop())
    grid = main_grid(table)
    rows = {row[0].text: [entry.text for entry in row[1:]] for row in grid.rows}
    assert grid.columns[3:7] == ["ms/query", "GB", "passages", "others"]
    assert rows["NumColBERT, 8 bits"][4] == "4" and rows["NumColBERT, 4 bits"][:2] == ["–", "–"]
    (picture,) = nbits_pictures(table, tmp_path / "figures")
    assert picture.path.name == "efficiency-openfinquant.png" and "4 passages" in picture.caption
    points = json.loads(picture.path.with_suffix(".json").read_text())
    assert [point["bits per value"] for point in points] == [1, 8, 16]


def test_the_same_queries_without_the_gate(
    benchmarks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMCOLBERT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(Encoder, "load", lambda model: StandIn())
    measured: dict[str, list[Any]] = {}

    def measure(asked: dict[str, list[Any]], *_: Any) -> list[Any]:
        measured.update(asked)
        return []

    monkeypatch.setattr(efficiency, "measure_engines", measure)
    arguments = ["gated", "MODEL", str(benchmarks / "openfinquant"), "-o", str(tmp_path / "runs")]
    assert efficiency.main([*arguments, "--ungated", "plain"]) == 0
    lengths = {system: np.linalg.norm(np.concatenate(rows), axis=1) for system, rows in measured.items()}
    assert lengths["gated"].max() > 1.5
    np.testing.assert_allclose(lengths["plain"], 1, atol=1e-5)
    assert efficiency.main([*arguments, "--rounds", "0"]) == UsageError.exit_code


def test_a_cut_keeps_what_is_judged() -> None:
    corpus = Corpus(Path("c"), [f"d{i}" for i in range(10)], [f"t{i}" for i in range(10)])
    ids, texts = efficiency.cut(corpus, {"d3", "d7"}, 4)
    assert {"d3", "d7"} <= set(ids) and len(ids) == 4 and texts == [f"t{i[1:]}" for i in ids]
    assert efficiency.cut(corpus, {"d3"}, None)[0] == corpus.ids
    with pytest.raises(UsageError, match="2 passages are judged"):
        efficiency.cut(corpus, {"d3", "d7"}, 1)


def test_what_others_do_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stat = tmp_path / "stat"
    monkeypatch.setattr(disturbance, "_STAT", stat)
    monkeypatch.setattr(disturbance.os, "sysconf", lambda _: 100)
    clock = iter([0.0, 10.0, 20.0])
    monkeypatch.setattr(disturbance.time, "perf_counter", lambda: next(clock))
    own = iter([1.0, 4.0, 4.0])
    monkeypatch.setattr(disturbance, "_own_seconds", lambda: next(own))
    stat.write_text("cpu  100 0 100 9000 50 0 0 0 0 0\ncpu0 1\n")
    others = disturbance.Disturbance()
    stat.write_text("cpu  500 100 300 9900 90 0 0 0 0 0\ncpu0 1\n")
    assert others.share() == pytest.approx((7 - 3) / 10), "7 s busy, 3 of them our own, in 10 s"
    monkeypatch.setattr(disturbance, "_STAT", tmp_path / "none")
    assert disturbance.Disturbance().share() is None
