"""The reranking task of MS MARCO, on a tiny folder in its layout."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from numcolbert.errors import InputError, NotFoundError
from numcolbert.reproduce.msmarco import import_msmarco, main
from numcolbert.train.benchmarks import read_benchmark, read_corpus

ROWS = [
    ("7", "100", "what is revenue", "revenue is income"),
    ("8", "100", "what is a dose", "revenue is income"),
    ("7", "101", "what is revenue", "a dose is an amount"),
    ("8", "101", "what is a dose", "a dose is an amount"),
    ("9", "102", "not judged", "nothing"),
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "download"
    folder.mkdir()
    text = "".join("\t".join(row) + "\n" for row in ROWS)
    (folder / "top1000.dev.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "qrels.dev.small.tsv").write_text("7\t0\t100\t1\n8\t0\t101\t1\n6\t0\t5\t1\n")
    return folder


def test_the_files_become_a_benchmark_with_candidates(source: Path, tmp_path: Path) -> None:
    assert main([str(source), str(tmp_path)]) == 0
    benchmark = read_benchmark(tmp_path / "msmarco-dev")
    assert benchmark.query_texts == ["what is revenue", "what is a dose"]
    assert read_corpus(benchmark.corpus_path).ids == ["100", "101"], "each passage once"
    assert benchmark.qrels["6"] == {"5": 1}, "judged queries without candidates count too"
    lines = (tmp_path / "msmarco-dev" / "candidates.trec").read_text().splitlines()
    assert [line.split()[0:3:2] for line in lines] == [[q, p] for q, p, _, _ in ROWS[:4]]


def test_bad_files(source: Path, tmp_path: Path) -> None:
    (source / "top1000.dev").write_text("7\t100\tonly three\n")
    with pytest.raises(InputError, match=r"Line 1 of .*top1000.dev' has 3 columns"):
        import_msmarco(source, tmp_path / "b")
    (source / "top1000.dev").write_text("5\t100\tquery\tpassage\n")
    with pytest.raises(InputError, match="is judged"):
        import_msmarco(source, tmp_path / "b")
    (source / "qrels.dev.small.tsv").write_text("7\t0\t100\n")
    with pytest.raises(InputError, match=r"Line 1 of .* is not a judgement"):
        import_msmarco(source, tmp_path / "b")
    (source / "qrels.dev.small.tsv").unlink()
    with pytest.raises(NotFoundError, match="holds no qrels"):
        import_msmarco(source, tmp_path / "b")


@pytest.mark.train
def test_one_command_measures_a_checkpoint(source: Path, tmp_path: Path, checkpoint: Path) -> None:
    out = tmp_path / "runs" / "some-model"
    assert (
        main([str(source), str(tmp_path), "--model", str(checkpoint), "-o", str(out), "--device", "cpu"]) == 0
    )
    (result,) = json.loads((out / "results.json").read_text())
    assert result["queries"] == 2 and set(result["scores"]) == {"gated", "ungated"}
    lines = [line.split() for line in (out / "msmarco-dev.gated.trec").read_text().splitlines()]
    ranked = {query: [line[2] for line in lines if line[0] == query] for query in ("7", "8")}
    assert {query: set(found) for query, found in ranked.items()} == {
        "7": {"100", "101"},
        "8": {"100", "101"},
    }
    # One of the three judged queries has no candidates, so at most two thirds can be reached.
    hits = [1 / (1 + ranked[query].index(right)) for query, right in (("7", "100"), ("8", "101"))]
    assert result["scores"]["gated"]["RR@10"] == pytest.approx(sum(hits) / 3, abs=1e-4)
