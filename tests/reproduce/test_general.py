"""The general sets become benchmark folders."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from numcolbert.errors import InputError, NotFoundError
from numcolbert.reproduce.general import import_general
from numcolbert.train.benchmarks import read_benchmark, read_corpus


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "general"
    folder.mkdir()

    def write(name: str, rows: list[dict[str, str]]) -> None:
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.xz").write_bytes(lzma.compress(text.encode()))

    write("msmarco_mini_corpus.jsonl", [{"_id": "1", "text": "a passage"}])
    write("msmarco_mini_queries.jsonl", [{"_id": "7", "text": "a query"}, {"_id": "8", "text": "not judged"}])
    (folder / "msmarco_mini_qrels.tsv").write_text("7\t1\t3\n9\t1\t1\n")
    write("wikipedia_passages_45k.jsonl", [{"id": "/wiki/Two words", "text": "a distractor"}])
    pairs = [
        {"q": "who?", "sent": "someone"},
        {"q": "what?", "sent": "someone"},
        {"q": "who?", "sent": "else"},
    ]
    write("squad_question_sentence_eval.jsonl", pairs)
    return folder


def test_both_sets(source: Path, tmp_path: Path) -> None:
    import_general(source, tmp_path)
    mini = read_benchmark(tmp_path / "msmarco-mini")
    assert mini.qrels == {"7": {"1": 3}} and mini.query_texts == ["a query"], "judged queries only"
    assert read_corpus(mini.corpus_path).ids == ["/wiki/Two_words", "1"]
    squad = read_benchmark(tmp_path / "squad-sentences")
    assert squad.query_texts == ["who?", "what?"]
    assert squad.qrels == {"q00000": {"s00000": 1, "s00001": 1}, "q00001": {"s00000": 1}}


def test_bad_files(source: Path, tmp_path: Path) -> None:
    (source / "msmarco_mini_qrels.tsv").write_text("7\t1\n")
    with pytest.raises(InputError, match=r"Line 1 of .*qrels.tsv"):
        import_general(source, tmp_path)
    (source / "wikipedia_passages_45k.jsonl.xz").unlink()
    (source / "msmarco_mini_qrels.tsv").write_text("7\t1\t1\n")
    with pytest.raises(NotFoundError, match="holds no wikipedia_passages"):
        import_general(source, tmp_path)
