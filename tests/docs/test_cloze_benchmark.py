"""A development set of ordinary search, made from plain passages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from numcolbert.train.benchmarks import read_benchmark, read_corpus

Script = Callable[[str], ModuleType]
PASSAGE = (
    "{name} is a harbour town in the north of the island. "
    "Its fishing boats leave {name} before dawn and come home after dark. "
    "The lighthouse was built in 1887 by a family of well known engineers. "
    "Short one here. "
    "Every summer a festival of old songs fills the narrow streets of {name}."
)
NAMES = ["Arden", "Belmar", "Corrin", "Dunvar", "Eastry", "Farlow"]


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    file = tmp_path / "passages.jsonl"
    texts = [PASSAGE.format(name=name) for name in NAMES]
    file.write_text("".join(json.dumps({"text": text}) + "\n" for text in [*texts, texts[0]]))
    return file


def test_a_sentence_asks_for_the_passage_it_was_taken_from(script: Script, collection: Path) -> None:
    folder = collection.with_name("cloze")
    command = [str(collection), "-o", str(folder), "--queries", "4", "--passages", "6"]
    making = script("cloze_benchmark")
    assert making.main(command) == 0
    made = read_benchmark(folder)
    corpus = read_corpus(made.corpus_path)
    texts = dict(zip(corpus.ids, corpus.texts, strict=True))
    assert len(texts) == len(NAMES), "a passage that is told twice counts once"
    assert len(made.query_ids) == 4
    for query, sentence in zip(made.query_ids, made.query_texts, strict=True):
        (answer,) = made.qrels[query]
        name = next(name for name in NAMES if name in sentence)
        assert name in texts[answer] and sentence not in texts[answer]
        assert not any(map(str.isdigit, sentence)), "numbers ask nothing here"
        assert texts[answer].startswith(f"{name} is a harbour town"), "the first sentence names the subject"
    before = {file: file.read_bytes() for file in folder.iterdir()}
    assert making.main(command) == 1, "no benchmark is replaced unasked"
    assert making.main([*command, "--overwrite"]) == 0
    assert before == {file: file.read_bytes() for file in folder.iterdir()}, "drawn with a seed"


def test_passages_are_cut_behind_the_sentence_that_is_taken_out(script: Script, collection: Path) -> None:
    folder = collection.with_name("cloze")
    command = [str(collection), "-o", str(folder), "--queries", "6", "--passages", "6", "--words", "9"]
    assert script("cloze_benchmark").main(command) == 0
    assert {len(text.split()) for text in read_corpus(folder / "corpus.jsonl").texts} == {9}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("-o {there}/cloze --queries 7 --passages 6", "6 passages cannot answer 7 queries"),
        ("-o {there}/cloze --queries 7 --passages 7", "sentences to ask with in 6 of 6 passages"),
        ("-o {there}", "lies in"),
        ("-o {there}/other/..", "lies in"),
    ],
)
def test_what_gives_no_set_is_said_in_a_sentence(
    script: Script, collection: Path, capsys: pytest.CaptureFixture[str], options: str, complaint: str
) -> None:
    before = {file: file.read_bytes() for file in collection.parent.iterdir()}
    command = [str(collection), *options.format(there=collection.parent).split()]
    assert script("cloze_benchmark").main(command) != 0
    said = capsys.readouterr().err
    assert complaint in said and "hint: " in said
    assert before == {file: file.read_bytes() for file in collection.parent.iterdir()}


@pytest.mark.parametrize("line", ["no json", '{"title": "x"}', '["x"]', '{"text": 1}', '{"text": "\\ud800"}'])
def test_a_line_that_is_no_passage_is_named(
    script: Script, collection: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    with collection.open("a") as file:
        file.write(line + "\n")
    assert script("cloze_benchmark").main([str(collection), "-o", str(collection.with_name("cloze"))]) == 1
    assert "Line 8 of" in capsys.readouterr().err
