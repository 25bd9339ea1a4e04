"""`numcolbert search`, `rank`, `rerank` and `explain`: for people, for pipes, for programs."""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from numcolbert.evaluate.trec import read_run

QUERY = "SSDs with more than 500 GB"


def test_hits_in_a_pipe_are_plain_columns(run: Any, idx: Path) -> None:
    header, *rows = [line.split("\t") for line in run("search", idx, QUERY, "-k", 2).out.splitlines()]
    assert header == ["rank", "relevance", "score", "satisfies", "id", "text"]
    verdicts = {row[4]: row[3] for row in rows}
    assert verdicts == {"big": "yes", "small": "no"}


def test_json_has_everything(run: Any, idx: Path) -> None:
    found = run("search", idx, QUERY, "--json").json
    assert found["query"] == QUERY
    assert found["conditions"][0]["operator"] == ">"
    hit = next(hit for hit in found["hits"] if hit["id"] == "big")
    assert hit["satisfies"] is True and hit["metadata"] == {"year": 2022, "price": 99}
    assert hit["quantities"][0]["base_value"] == 1e12
    assert 0 < hit["relevance"] < 1 < hit["score"]


def test_verify_tells_what_it_dropped(run: Any, idx: Path) -> None:
    found = run("search", idx, QUERY, "--verify")
    assert [line.split("\t")[4] for line in found.out.splitlines()[1:]] == ["big"]
    # They may stand below the hit that is left: with fewer hits than asked for, all passages were looked at.
    assert found.err.endswith("2 passages dropped: not verified to be > 500 gigabyte\n")


def test_filters_and_the_gate(run: Any, idx: Path) -> None:
    found = run("search", idx, QUERY, "--where", "price < 50 USD and year >= 2020", "--json").json
    assert [hit["id"] for hit in found["hits"]] == ["small"]
    plain = run("search", idx, QUERY, "--no-gate", "--json").json
    assert plain["hits"][0]["score"] < run("search", idx, QUERY, "--json").json["hits"][0]["score"] + 1e-6


def test_on_a_terminal_quantities_are_marked(run: Any, idx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = run("search", idx, QUERY).out
    assert "\x1b[1;32m1 TB\x1b[0m" in coloured, "satisfied: green"
    assert "\x1b[2;31m256 GB\x1b[0m" in coloured, "violated: dim red"
    assert "✓" in coloured and "✗" in coloured and "understood" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("FORCE_COLOR")
    plain = run("search", idx, QUERY).out
    assert "32m" not in plain and "31m" not in plain and "✓" in plain


def test_explain_shows_tokens_condition_and_quantities(run: Any, idx: Path) -> None:
    shown = run("explain", idx, QUERY, "big").out
    assert "understood\t> 500 gigabyte\n" in shown and "satisfies\tyes\n" in shown
    assert "1 TB\t1e+12 byte\tyes\n" in shown
    assert "without the gate\t" in shown
    rows = [line.split("\t") for line in shown.splitlines()]
    number = next(row for row in rows if row[0] == "500")
    assert number[1:3] == ["0.90", "3.00"] and number[5].endswith("%")
    found = run("explain", idx, QUERY, "big", "--json").json
    assert found["understood"] == ["> 500 gigabyte"]
    assert sum(match["contribution"] for match in found["tokens"]) == pytest.approx(found["score"])


def test_explain_on_a_terminal(run: Any, idx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shown = run("explain", idx, QUERY, "small").out
    assert "without the gate" in shown and "256 GB" in shown


def test_rank_writes_a_run(run: Any, idx: Path, tmp_path: Path) -> None:
    queries, out = tmp_path / "queries.jsonl", tmp_path / "ours.run"
    queries.write_text(json.dumps({"id": "q1", "text": QUERY}) + "\n" + '{"_id": "q2", "text": "drives"}\n')
    assert run("rank", idx, queries, "-o", out, "-k", 2, "--json").json == {
        "run": str(out), "queries": 2, "hits": 4,
    }  # fmt: skip
    found = [hit["id"] for hit in run("search", idx, QUERY, "-k", 2, "--json").json["hits"]]
    assert list(read_run(out)["q1"]) == found
    taken = run("rank", idx, queries, "-o", out)
    assert taken.code == 1 and "hint: pass --overwrite" in taken.err
    run("rank", idx, tmp_path, "-o", out, "--verify", "--overwrite")  # a benchmark folder
    assert list(read_run(out)["q1"]) == ["big"]
    missing = run("rank", idx, tmp_path / "none.jsonl", "-o", tmp_path / "none.run")
    assert missing.code == 1 and "none.jsonl" in missing.err and "hint:" in missing.err
    for asked in (queries, tmp_path):
        itself = run("rank", idx, asked, "-o", queries, "--overwrite")
        assert itself.code == 1 and "is an input of this command" in itself.err
    assert queries.read_text().startswith('{"id": "q1"')


def test_rerank_from_file_stdin_and_run(run: Any, docs: Path, tmp_path: Path) -> None:
    from_file = run("rerank", QUERY, docs, "--json").json
    assert {hit["id"] for hit in from_file["hits"]} == {"big", "small", "link"}
    from_stdin = run(
        "rerank", QUERY, "-k", 1, stdin="The SSD holds 1 TB of data.\nNothing.\n"
    ).out.splitlines()
    assert from_stdin[1].split("\t")[3:] == ["yes", "1", "The SSD holds 1 TB of data."]
    trec = tmp_path / "bm25.run"
    trec.write_text("q1 Q0 small 1 9.5 bm25\nq1 Q0 big 2 9.1 bm25\nq2 Q0 link 1 3 bm25\n")
    from_run = run("rerank", QUERY, trec, "--docs", docs, "--query-id", "q1", "--json").json
    assert {hit["id"] for hit in from_run["hits"]} == {"big", "small"}
    packed = tmp_path / "bm25.run.gz"
    packed.write_bytes(gzip.compress(trec.read_bytes()))
    again = run("rerank", QUERY, packed, "--docs", docs, "--query-id", "q1", "--json").json
    assert again["hits"] == from_run["hits"]
    verified = run("rerank", QUERY, docs, "--verify", "--json").json
    assert [hit["id"] for hit in verified["hits"]] == ["big"] and verified["dropped"] == 2


def test_rerank_refuses_unclear_runs(run: Any, docs: Path, tmp_path: Path) -> None:
    trec = tmp_path / "bm25.run"
    trec.write_text("q1 Q0 small 1 9.5 bm25\nq2 Q0 gone 1 3 bm25\n")
    assert "--docs" in run("rerank", QUERY, trec).err
    assert "--query-id" in run("rerank", QUERY, trec, "--docs", docs).err
    assert "'gone'" in run("rerank", QUERY, trec, "--docs", docs, "--query-id", "q2").err
    for line, complaint in [
        ("q1 small 9.5", "has 3 columns"),
        ("q1 Q0 big 2 high bm25", "'high', which is not a number"),
        ("q1 Q0 small 2 9.1 bm25", "repeats document 'small'"),
    ]:
        trec.write_text(f"q1 Q0 small 1 9.5 bm25\n{line}\n")
        outcome = run("rerank", QUERY, trec, "--docs", docs)
        assert outcome.code == 1 and f"Line 2 of '{trec}'" in outcome.err and "hint: " in outcome.err
        assert complaint in outcome.err
    trec.write_text("")
    assert "is empty" in run("rerank", QUERY, trec, "--docs", docs).err


@pytest.mark.parametrize(
    "command",
    ["search", "rank", "rerank", "explain", "index build", "index add", "index delete", "index info",
     "index verify", "index export", "index compact"],
)  # fmt: skip
def test_help_has_an_example(run: Any, command: str) -> None:
    shown = run(*command.split(), "--help").out
    assert "Example" in shown and f"numcolbert {command.split()[0]}" in shown and "--json" in shown


def test_json_output_is_only_json(run: Any, idx: Path) -> None:
    for arguments in (("search", idx, QUERY), ("explain", idx, QUERY, "big"), ("index", "info", idx)):
        json.loads(run(*arguments, "--json").out)


HOSTILE = "a disk \x1b]0;title\x07 \x1b[31mred \x9b2J of 5 TB\x7f"


@pytest.mark.parametrize("terminal", [True, False])
def test_a_text_cannot_steer_the_terminal(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    document = {"id": "h\x1b[2J", "text": HOSTILE, "note": "\x1b[2J"}
    assert run("index", "build", "-", "-o", tmp_path / "idx", stdin=json.dumps(document) + "\n").code == 0
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    for command in (("search",), ("explain",)):
        rest = [document["id"]] if command == ("explain",) else []
        found = run(*command, tmp_path / "idx", "disks over 1 TB", *rest)
        assert found.code == 0 and "title␇" in found.out
        assert not re.search(r"\x1b\]|\x1b\[31m|\x1b\[2J|[\x07\x7f\x9b]", found.out), ascii(found.out)
    refused = run("explain", tmp_path / "idx", "q", "\x1b[2J")
    assert refused.code == 1 and "\x1b[2J" not in refused.err and "␛[2J" in refused.err
