"""The general sets become benchmark folders."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from numcolbert.errors import InputError, NotFoundError, UsageError
from numcolbert.evaluate.trec import write_run
from numcolbert.reproduce.general import import_general, main
from numcolbert.reproduce.page import main_grid
from numcolbert.reproduce.runs import Workshop, find_run
from numcolbert.reproduce.spec import load_table
from numcolbert.reproduce.table import make_tables
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


@pytest.mark.train
def test_one_command_measures_a_checkpoint(source: Path, tmp_path: Path, checkpoint: Path) -> None:
    out = tmp_path / "runs" / "joint"
    common = [str(source), str(tmp_path / "b"), "--device", "cpu", "--distractors", "0"]
    assert main([*common, "--model", str(checkpoint), "-o", str(out)]) == 0
    assert {r["name"] for r in json.loads((out / "results.json").read_text())} == {
        "msmarco-mini",
        "squad-sentences",
    }
    mini = read_benchmark(tmp_path / "b" / "msmarco-mini")
    assert read_corpus(mini.corpus_path).ids == ["1"], "no distractor"
    assert find_run(tmp_path / "runs", "joint", mini) == out / "msmarco-mini.gated.trec"
    import_general(source, tmp_path / "b")
    other = read_benchmark(tmp_path / "b" / "msmarco-mini")
    assert find_run(tmp_path / "runs", "joint", other) is None, "made on another collection"
    (table,) = make_tables(load_table("general"), [other], tmp_path / "runs", Workshop())
    how = {state.name: state.how for state in table.states}
    assert how["NumColBERT (joint)"].startswith("to be measured: its run was made on another edition")


def test_what_joint_training_keeps(tmp_path: Path, source: Path) -> None:
    import_general(source, tmp_path / "b")
    squad = read_benchmark(tmp_path / "b" / "squad-sentences")
    right = {"q00000": {"s00000": 2.0}, "q00001": {"s00000": 2.0}}
    write_run(tmp_path / "r" / "colbert-general" / "squad-sentences.trec", right, "x")
    write_run(tmp_path / "r" / "joint" / "squad-sentences.trec", {"q00000": {"s00000": 2.0}}, "x")
    (table,) = make_tables(load_table("general"), [squad], tmp_path / "r", Workshop())
    notes = main_grid(table).notes
    assert any(
        n.startswith("NumColBERT (joint) against ColBERT (general pairs): 50.0% of its RR@10") for n in notes
    )


def test_bad_files(source: Path, tmp_path: Path) -> None:
    (source / "msmarco_mini_qrels.tsv").write_text("7\t1\n")
    with pytest.raises(InputError, match=r"Line 1 of .*qrels.tsv"):
        import_general(source, tmp_path)
    (source / "wikipedia_passages_45k.jsonl.xz").unlink()
    (source / "msmarco_mini_qrels.tsv").write_text("7\t1\t1\n")
    with pytest.raises(NotFoundError, match="holds no wikipedia_passages"):
        import_general(source, tmp_path)


def test_lines_that_lack_something_are_named(source: Path, tmp_path: Path) -> None:
    (source / "msmarco_mini_corpus.jsonl.xz").unlink()
    for line in ('{"id": "1", "text": "a passage"}', "[]", "{"):
        (source / "msmarco_mini_corpus.jsonl").write_text(line + "\n")
        with pytest.raises(InputError, match=r"Line 1 of .*corpus.jsonl' is no JSON with '_id' and 'text'"):
            import_general(source, tmp_path / "b")
    with pytest.raises(UsageError, match="-1 distractors"):
        import_general(source, tmp_path / "b", distractors=-1)
