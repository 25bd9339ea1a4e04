"""Exports that other tools, and we ourselves, can read again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.standin import StandIn

from numcolbert.api import Index, NumColBERT
from numcolbert.data import corpora
from numcolbert.errors import ConflictError, InputError, UsageError

DOCUMENTS = [
    {"id": "a", "text": "Profit < 5 % & falling,\nover two lines", "year": 2020},
    {"id": "b", "text": "Überschuss von 7 Mio. €", "tags": ["x"]},
]


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return NumColBERT(StandIn()).index(DOCUMENTS, tmp_path / "idx")


def test_jsonl_is_what_build_reads(index: Index, tmp_path: Path) -> None:
    assert index.export(tmp_path / "out.jsonl") == 2
    assert list(corpora.read(tmp_path / "out.jsonl")) == list(index.documents())


def test_trec_escapes_what_would_end_a_record(index: Index, tmp_path: Path) -> None:
    index.export(tmp_path / "out.trec")
    text = (tmp_path / "out.trec").read_text(encoding="utf-8")
    assert text.count("<DOC>") == 2
    assert "<DOCNO>a</DOCNO>\n<TEXT>\nProfit &lt; 5 % &amp; falling," in text
    index.add([{"id": "with space", "text": "x"}])
    with pytest.raises(InputError, match="with space"):
        index.export(tmp_path / "out2.trec")
    assert not (tmp_path / "out2.trec").exists()


def test_parquet_holds_the_vectors(index: Index, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    index.export(tmp_path / "out.parquet")
    rows = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["id"] for row in rows] == ["a", "b"]
    assert json.loads(rows[0]["metadata"]) == {"year": 2020}
    expected = StandIn().encode_documents([DOCUMENTS[0]["text"]])[0].vectors  # type: ignore[list-item]
    np.testing.assert_allclose(np.array(rows[0]["vectors"]), expected, atol=1e-3)
    index.export(tmp_path / "plain.parquet", vectors=False)
    assert parquet.read_table(tmp_path / "plain.parquet").column_names == ["id", "text", "metadata"]


@pytest.mark.parametrize("vectors", [True, False])
def test_build_reads_parquet_back(index: Index, tmp_path: Path, vectors: bool) -> None:
    pytest.importorskip("pyarrow.parquet")
    index.export(tmp_path / "out.parquet", vectors=vectors)
    assert list(corpora.read(tmp_path / "out.parquet")) == list(index.documents())


def test_formats_and_targets_are_checked(index: Index, tmp_path: Path) -> None:
    for target, format in (("out.xlsx", None), ("out", None), ("out.jsonl", "yaml")):
        with pytest.raises(UsageError, match=r"format|ending"):
            index.export(tmp_path / target, format=format)
    (tmp_path / "there.jsonl").write_text("precious")
    with pytest.raises(ConflictError, match="already exists"):
        index.export(tmp_path / "there.jsonl")
    assert index.export(tmp_path / "there.jsonl", overwrite=True) == 2
    with pytest.raises(ConflictError, match="folder"):
        index.export(tmp_path, format="jsonl")
    assert index.export(tmp_path / "anything", format="jsonl") == 2
