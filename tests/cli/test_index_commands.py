"""`numcolbert index ...`, as a person uses it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def test_build_search_change_and_verify(run: Any, docs: Path, tmp_path: Path) -> None:
    idx = tmp_path / "made"
    built = run("index", "build", docs, "-o", idx)
    assert built.code == 0 and "3 documents" in built.out and "engine flat" in built.out
    assert "about" in built.err, "the estimate goes to stderr"
    assert "3/3 documents" in built.err, "and so does progress"
    assert run("search", idx, "SSD of 1 TB", "-k", 1, "--json").json["hits"][0]["id"] == "big"

    added = run(
        "index",
        "add",
        idx,
        "-",
        stdin='{"id": "new", "text": "A tape of 3 TB."}\n{"id": "big", "text": "Now 2 TB."}',
    )
    assert added.out == "1 added, 1 replaced; 4 documents\n"
    assert run("index", "delete", idx, "link", "--json").json == {"deleted": 1, "documents": 3}
    assert run("index", "delete", idx, "--where", "year = 2020").out == "1 deleted; 2 documents left\n"
    assert run("index", "delete", idx, "-", stdin="new\n").code == 0
    assert run("index", "compact", idx, "--json").json["bytes_after"] > 0
    assert run("index", "verify", idx).out == f"{idx}: all is well\n"
    assert run("index", "verify", idx, "--json").json == {"ok": True, "problems": []}
    facts = run("index", "info", idx, "--json").json
    assert (facts["documents"], facts["engine"], facts["fields"]) == (1, "flat", ["price", "year"])
    shown = run("index", "info", idx).out
    assert "documents\t1\n" in shown and "model\tstand-in\n" in shown


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("docs.csv", "id,text,year\na,holds 5 GB,2020\nb,holds 6 GB,2021\n"),
        ("docs.tsv", "id\ttext\tyear\na\tholds 5 GB\t2020\nb\tholds 6 GB\t2021\n"),
        (
            "docs.jsonl",
            '{"id": "a", "text": "holds 5 GB", "year": 2020}\n{"id": "b", "text": "x", "year": 2021}\n',
        ),
    ],
)
def test_tables_become_text_and_metadata(run: Any, tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    assert run("index", "build", tmp_path / name, "-o", tmp_path / "made", "--json").json["documents"] == 2
    hits = run("search", tmp_path / "made", "holds", "--where", "year > 2020", "--json").json["hits"]
    assert [hit["id"] for hit in hits] == ["b"]


def test_lines_from_standard_input_are_documents(run: Any, tmp_path: Path) -> None:
    built = run("index", "build", "-", "-o", tmp_path / "made", "--json", stdin="first 5 kg\n\nsecond 6 kg\n")
    assert built.json["documents"] == 2


def test_fields_can_be_named(run: Any, tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text("sku,description\nx1,holds 5 GB\n")
    arguments = ("index", "build", tmp_path / "sheet.csv", "-o", tmp_path / "made")
    refused = run(*arguments)
    assert refused.code == 1 and "--text-field" in refused.err
    assert run(*arguments, "--text-field", "description", "--id-field", "sku").code == 0
    assert run("search", tmp_path / "made", "holds", "--json").json["hits"][0]["id"] == "x1"


def test_bad_lines_stop_or_are_counted(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text(
        '{"id": "a", "text": "fine"}\nnot json\n{"id": "b", "text": " "}\n{"id": "c", "text": "fine"}\n'
    )
    refused = run("index", "build", path, "-o", tmp_path / "made")
    assert refused.code == 1 and "Line 2" in refused.err and "--skip-bad" in refused.err
    assert not (tmp_path / "made").exists()
    built = run("index", "build", path, "-o", tmp_path / "made", "--skip-bad", "--json")
    assert (built.json["documents"], built.json["skipped"]) == (2, 2)


def test_a_bad_line_on_standard_input_is_named_as_such(run: Any, tmp_path: Path) -> None:
    refused = run("index", "build", "-", "-o", tmp_path / "made", stdin='{"id": "a", "text": "x"}\n{oops\n')
    assert refused.code == 1 and "Line 2 of standard input" in refused.err


def test_an_interrupted_build_is_resumed_by_the_same_command(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.standin import StandIn

    path = tmp_path / "docs.txt"
    path.write_text("".join(f"line {i} of {i} kg\n" for i in range(100)))
    arguments = ("index", "build", path, "-o", tmp_path / "made", "--batch-size", 2, "--json")
    encode, left = StandIn.encode_documents, [64 + 64]

    def interrupted(self: StandIn, texts: list[str], batch_size: int = 32) -> Any:
        left[0] -= len(texts)
        if left[0] < 0:
            raise KeyboardInterrupt
        return encode(self, texts, batch_size)

    with monkeypatch.context() as patch:
        patch.setattr(StandIn, "encode_documents", interrupted)
        stopped = run(*arguments)
    assert stopped.code == 130 and not (tmp_path / "made").exists()
    assert stopped.err.endswith("the same command goes on from here\ninterrupted\n")
    report = run(*arguments).json
    assert report["documents"] == 100 and report["resumed_at"] == 64


def test_an_index_is_not_overwritten_without_being_told(run: Any, docs: Path, idx: Path) -> None:
    refused = run("index", "build", docs, "-o", idx)
    assert refused.code == 1 and "--overwrite" in refused.err
    assert run("index", "build", docs, "-o", idx, "--overwrite").code == 0


def test_export_and_build_again_gives_the_same_documents(run: Any, idx: Path, tmp_path: Path) -> None:
    assert run("index", "export", idx, tmp_path / "out.jsonl").out.endswith("3 documents\n")
    assert run("index", "build", tmp_path / "out.jsonl", "-o", tmp_path / "again").code == 0
    run("index", "export", tmp_path / "again", tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_text() == (tmp_path / "out.jsonl").read_text()
    assert run("index", "export", idx, tmp_path / "out.jsonl").code == 1
    assert run("index", "export", idx, tmp_path / "out.doc").code == 2
    assert run("index", "export", idx, tmp_path / "out.trec", "--json").json["documents"] == 3


def test_plaid_and_its_bits_can_be_chosen(run: Any, docs: Path, tmp_path: Path) -> None:
    built = run("index", "build", docs, "-o", tmp_path / "made", "--engine", "plaid", "--nbits", 8, "--json")
    assert built.json["engine"] == "plaid"
    assert run("index", "info", tmp_path / "made", "--json").json["settings"] == {"nbits": 8}
    for wrong in (("--nbits", 3), ("--engine", "lucene")):
        refused = run("index", "build", docs, "-o", tmp_path / "other", *wrong)
        assert refused.code == 2 and "hint:" in refused.err


def test_an_index_is_copied_to_another_engine(run: Any, idx: Path, tmp_path: Path) -> None:
    made = tmp_path / "made"
    copied = run(
        "index", "build", idx, "-o", made, "--engine", "plaid", "--set", "nbits=8", "--set", "seed=3"
    )
    assert copied.code == 0 and "3 documents" in copied.out and "engine plaid" in copied.out
    assert run("index", "info", made, "--json").json["settings"] == {"nbits": 8, "seed": 3}
    found = [
        run("search", index, "SSD of 1 TB", "-k", 1, "--json").json["hits"][0]["id"] for index in (idx, made)
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--set", "nbits"], "'nbits' sets nothing"),
        (["--engine", "plaid", "--set", "nbts=8"], "Unknown key 'nbts'"),
        (["--engine", "plaid", "--set", "nbits=many"], "'many'"),
        (["--engine", "flat", "--set", "nbits=8"], "has no setting 'nbits'"),
        (["--engine", "lucene"], "no engine 'lucene'"),
        (["--model", "other"], "come with their model"),
    ],
)
def test_a_wrong_copy_is_refused(run: Any, idx: Path, tmp_path: Path, options: list[str], said: str) -> None:
    refused = run("index", "build", idx, "-o", tmp_path / "made", *options)
    assert refused.code == 2 and said in refused.err and "hint: " in refused.err
    assert not (tmp_path / "made").exists()


def test_a_damaged_index_is_told_and_verified(run: Any, idx: Path) -> None:
    vectors = next((idx / "engine").glob("vectors.*"))
    vectors.write_bytes(vectors.read_bytes()[:-10])
    for arguments in (("search", idx, "SSD"), ("index", "info", idx), ("index", "add", idx, "-")):
        refused = run(*arguments, stdin='{"id": "x", "text": "y"}')
        assert refused.code == 1 and "hint:" in refused.err
    found = run("index", "verify", idx)
    assert found.code == 1 and "vectors" in found.out
    assert json.loads(run("index", "verify", idx, "--json").out)["ok"] is False
