"""Bad documents: one sentence with file and line and a hint; with --skip-bad they are counted."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from tests.data.mined import pipeline

GOOD = b'{"id": "1", "text": "The gross margin was 41% in the first quarter."}\n'
AGAIN = b'{"id": "1", "text": "The gross margin was 42% in the second quarter."}\n'
BAD = {
    "mis-encoded": (GOOD + b'{"text": "caf\xe9"}\n', "Line 2 of '{}' is not UTF-8"),
    "binary": (GOOD + b"\x89PNG\x00\x01\n", "Line 2 of '{}' holds binary data"),
    "huge line": (b"x" * (17 << 20) + b"\n" + GOOD, "Line 1 of '{}' is longer than 16 MB"),
    "no field": (GOOD + b'{"body": "x"}\n', "Line 2 of '{}' has no field 'text'"),
    "duplicate id": (GOOD + AGAIN, "Line 2 of '{}' repeats the id '1'"),
    "broken line": (GOOD + b'{"text":\n', "Line 2 of '{}' is not valid JSON"),
}
COMMANDS = [("data", "mine"), ("index", "build")]


def arguments(command: tuple[str, str], file: Path) -> list[str]:
    naming = ["--name", "a"] if command == ("data", "mine") else []
    return [*command, str(file), "-o", str(file.parent / "made"), *naming, "--json"]


def refused(outcome: Any, message: str) -> None:
    assert outcome.code == 1 and outcome.out == ""
    assert message in outcome.err and "hint: " in outcome.err


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("kind", BAD)
def test_a_bad_line_is_named(run: Any, tmp_path: Path, command: tuple[str, str], kind: str) -> None:
    content, message = BAD[kind]
    file = tmp_path / "a.jsonl"
    file.write_bytes(content)
    refused(run(*arguments(command, file)), message.format(file))
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("kind", BAD)
def test_bad_lines_are_counted(run: Any, tmp_path: Path, command: tuple[str, str], kind: str) -> None:
    if command == ("data", "mine"):
        pipeline()
    file = tmp_path / "a.jsonl"
    file.write_bytes(BAD[kind][0])
    outcome = run(*arguments(command, file), "--skip-bad")
    assert outcome.code == 0
    assert json.loads(outcome.out)["skipped"] == 1


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_files_that_are_no_corpus(run: Any, tmp_path: Path, command: tuple[str, str]) -> None:
    missing, empty, cut = (tmp_path / name for name in ("no.jsonl", "empty.jsonl", "cut.jsonl.xz"))
    empty.touch()
    cut.write_bytes(lzma.compress(GOOD)[:-12])
    table = tmp_path / "a.csv"
    table.write_text("id,body\n1,x\n", encoding="utf-8")
    refused(run(*arguments(command, missing)), f"'{missing}' does not exist")
    refused(run(*arguments(command, empty)), f"'{empty}' is empty")
    refused(run(*arguments(command, cut)), f"'{cut}' is damaged or cut off")
    refused(run(*arguments(command, table)), f"'{table}' (line 1) has no column 'text'; it has 'id', 'body'")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"id": "b", "text": " "}', "Line 2 of standard input has an empty text."),
        ('{"id": "", "text": "x"}', "Line 2 of standard input has an empty id."),
        (f'{{"id": "{"b" * 1001}", "text": "x"}}', "Line 2 of standard input has an id of more than 1,000"),
        ('{"id": "b", "text": null}', "Line 2 of standard input has no text in its field 'text'"),
        ('{"id": "b", "body": "x"}', "Line 2 of standard input has no field 'text'"),
    ],
)
def test_a_document_that_cannot_be_indexed_is_named_by_its_line(
    run: Any, tmp_path: Path, line: str, problem: str
) -> None:
    content = f'{{"id": "a", "text": "5 kg"}}\n{line}\n'
    for command in (("index", "build", "-", "-o", tmp_path / "made"), ("rerank", "kg")):
        refused = run(*command, stdin=content)
        assert refused.code == 1 and problem in refused.err and "hint: " in refused.err
    assert run("index", "build", "-", "-o", tmp_path / "made", "--skip-bad", stdin=content).code == 0
    assert run("index", "info", tmp_path / "made", "--json").json["documents"] == 1


@pytest.mark.parametrize("array", ['[{"text": "5 kg"}]\n', '[\n  {\n    "text": "5 kg"\n  }\n]\n'])
def test_a_json_array_is_not_taken_for_sentences(run: Any, tmp_path: Path, array: str) -> None:
    refused = run("index", "build", "-", "-o", tmp_path / "made", stdin=array)
    assert refused.code == 1 and "Line 1 of standard input" in refused.err and "jq -c" in refused.err


@pytest.mark.parametrize("command", ["data mine FILE --name a", "data benchmark FILE", "reproduce main"])
def test_overwriting_spares_what_is_something_else(run: Any, tmp_path: Path, command: str) -> None:
    corpus, folder = tmp_path / "a.jsonl", tmp_path / "thesis"
    corpus.write_bytes(GOOD)
    folder.mkdir()
    (folder / "chapter.txt").touch()
    begun = [str(corpus) if word == "FILE" else word for word in command.split()]
    refused(run(*begun, "-o", corpus, "--overwrite"), f"'{corpus}' is a file, not a folder")
    refused(run(*begun, "-o", folder, "--overwrite"), f"'{folder}' holds other things")
    assert corpus.read_bytes() == GOOD and (folder / "chapter.txt").is_file()
