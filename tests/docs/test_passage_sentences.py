"""scripts/passage_sentences.py: passages as the sentences that are mined."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from numcolbert.data.corpora import read

Script = Callable[[str], ModuleType]


def test_each_passage_is_a_document_of_its_sentences(script: Script, tmp_path: Path) -> None:
    source, out = tmp_path / "squad.jsonl.xz", tmp_path / "prose.jsonl.xz"
    river = "The river is 1,200 km long. It rises in the northern hills, at 2.5 km. No."
    rows = [
        {"text": river, "questions": ["How long is it?", "Where does it rise?"]},
        {"q": "What?", "a": "Heading. " + "word " * 61 + "end. The dose is 5 mg a day."},
        {"q": "Nothing?", "a": "Too short."},
    ]
    source.write_bytes(lzma.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    command = [str(source), "-o", str(out)]
    assert script("passage_sentences").main(command) == 0
    assert {document.id: document.text for document in read(out)} == {
        "squad-0#0": "The river is 1,200 km long.",
        "squad-0#1": "It rises in the northern hills, at 2.5 km.",
        "squad-1#0": "The dose is 5 mg a day.",
    }
    assert script("passage_sentences").main(command) == 1, "nothing is replaced unasked"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [('{"q": "What?", "a": "Too short."}', "hold no sentence"), ('{"text": "one"}', "Line 1 of")],
)
def test_what_has_no_sentences_is_said(
    script: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, complaint: str
) -> None:
    source, out = tmp_path / "in.jsonl", tmp_path / "prose.jsonl.xz"
    source.write_text(line + "\n")
    assert script("passage_sentences").main([str(source), "-o", str(out)]) == 1
    assert complaint in capsys.readouterr().err and not out.exists()
