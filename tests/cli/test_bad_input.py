"""Every mistake is one sentence, a hint and an exit code; nothing on disk changes."""

from __future__ import annotations

import errno
import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from numcolbert.api import NumColBERT
from numcolbert.errors import ModelError

ONE = '{"id": "x", "text": "one more of 5 kg"}\n'


def refused(outcome: Any, code: int, *words: str) -> None:
    assert outcome.code == code, outcome.err
    assert outcome.out == "", "stdout is for data"
    errors = [line for line in outcome.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1 and "hint: " in outcome.err
    for word in words:
        assert word in outcome.err


def test_queries(run: Any, idx: Path) -> None:
    refused(run("search", idx, ""), 1, "empty")
    refused(run("search", idx, "  \n "), 1, "empty")
    refused(run("search", idx, "x" * 100_000), 1, "100,000 characters")
    refused(run("explain", idx, "", "big"), 1, "empty")
    refused(run("rerank", "", stdin="text\n"), 1, "empty")
    refused(run("search", idx, "-5 GB"), 2, "numcolbert search ... -- '-5 GB'")
    assert run("search", "--json", idx, "--", "-5 GB").json["query"] == "-5 GB"
    assert run("search", idx, "no number here").code == 0


def test_paths(run: Any, idx: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for command in (("search",), ("explain",), ("index", "info"), ("index", "verify"), ("index", "add")):
        rest = {"search": ["q"], "explain": ["q", "id"], "add": ["-"]}.get(command[-1], [])
        refused(
            run(*command, tmp_path / "nowhere", *rest, stdin=ONE), 1, "no index", "numcolbert index build"
        )
        refused(run(*command, tmp_path / "file", *rest, stdin=ONE), 1, "a file")
    refused(run("index", "build", tmp_path / "no.jsonl", "-o", tmp_path / "o"), 1, "does not exist")
    refused(run("index", "build", tmp_path / "file", "-o", tmp_path / "o"), 2, "format")
    refused(run("index", "build", "-", "-o", tmp_path / "o", stdin=""), 1, "empty")
    refused(run("index", "export", idx, tmp_path), 2)
    refused(run("index", "export", idx, tmp_path / "file" / "out.jsonl"), 1, "cannot be used: File exists")
    refused(run("search", tmp_path / ("x" * 300), "q"), 1, "cannot be used: File name too long")


def test_filters_and_ids(run: Any, idx: Path) -> None:
    refused(run("search", idx, "q", "--where", "year >="), 2, "year >=", "^")
    refused(run("search", idx, "q", "--where", "yaer > 1"), 2, "did you mean 'year'")
    refused(run("search", idx, "q", "--where", "year < 500 parsecs"), 2, "plain numbers", "leave the unit")
    refused(run("index", "delete", idx, "--where", "year < 500 parsecs"), 2, "plain numbers")
    refused(run("search", idx, "q", "--where", ""), 2, "empty")
    refused(run("explain", idx, "q", "nobody"), 1, "'nobody'")
    refused(run("index", "delete", idx, "big", "nobody"), 1, "'nobody'", "nothing was deleted")
    refused(run("index", "delete", idx), 2)
    refused(run("index", "delete", idx, "big", "--where", "year > 1"), 2)
    assert run("index", "info", idx, "--json").json["documents"] == 3
    assert run("index", "delete", idx, "big", "nobody", "--ignore-missing").code == 0


def test_bytes_that_are_no_text(run: Any, idx: Path) -> None:
    """Python hands invalid bytes of the command line on as half characters."""
    half = b"\xff".decode("utf-8", "surrogateescape")
    refused(run("search", idx, half), 1, "not valid text")
    refused(run("search", idx, "q", "--where", f"year = '{half}'"), 2, "not valid text")
    refused(run("explain", idx, "q", half), 1, "udcff")
    refused(run("index", "delete", idx, half), 1, "udcff")


def test_options(run: Any, idx: Path) -> None:
    for arguments in (("-k", "0"), ("-k", "many"), ("--sideways",)):
        outcome = run("search", idx, "q", *arguments)
        assert outcome.code == 2 and outcome.out == ""


def test_documents(run: Any, idx: Path) -> None:
    for line, word in (
        ('{"id": "x", "text": ""}', "empty text"),
        ('{"id": "x", "text": "ok", "n": NaN}', "metadata"),
        ('{"id": "x"}', "--text-field"),
        ('{"id": "a", "text": "ok"}\n{"id": "a", "text": "again"}', "repeats"),
        ("{broken", "JSON"),
    ):
        refused(run("index", "add", idx, "-", stdin=line + "\n"), 1, word)
    refused(run("index", "add", idx, "-", stdin=b"\xff\xfe\x00text"), 1)
    assert run("index", "info", idx, "--json").json["documents"] == 3
    assert run("index", "verify", idx).code == 0


def test_another_model(run: Any, idx: Path) -> None:
    refused(run("search", idx, "q", "--model", "other"), 1, "'stand-in'", "'other'", "--model stand-in")
    refused(run("index", "add", idx, "-", "--model", "other", stdin=ONE), 1, "'other'")


def test_a_model_that_has_moved(run: Any, idx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(model: str | None = None) -> None:
        raise ModelError(f"The model folder '{model}' does not exist.", hint="check the path")

    monkeypatch.setattr(NumColBERT, "load", load)
    refused(run("search", idx, "SSD"), 1, "'stand-in' does not exist", "--model")


def test_an_index_in_use_by_a_writer(run: Any, idx: Path) -> None:
    from numcolbert.index.lock import writing

    with writing(idx):
        refused(run("index", "add", idx, "-", stdin=ONE), 1, f"process {os.getpid()}")
        refused(run("index", "delete", idx, "big"), 1, "being written")
        assert run("search", idx, "SSD").code == 0, "readers do not wait for writers"


def test_a_full_disk(
    run: Any, idx: Path, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("numcolbert.index.columns._write", full)
        refused(run("index", "add", idx, "-", stdin=ONE), 1, "full")
        outcome = run("index", "build", docs, "-o", tmp_path / "new")
        assert outcome.code == 1 and "full" in outcome.err and not (tmp_path / "new").exists()
    assert run("index", "info", idx, "--json").json["documents"] == 3
    assert run("index", "verify", idx).code == 0
    assert run("index", "add", idx, "-", stdin=ONE).code == 0


def test_a_disk_that_fills_up_in_the_document_store(
    run: Any, idx: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite's own limit on the size of the file stands in for the disk's."""
    from numcolbert.index.store import Store

    original = Store.insert

    def limited(self: Store, *arguments: Any) -> int | None:
        self._connection.execute("PRAGMA max_page_count = 1")
        return original(self, *arguments)

    long = "".join(f'{{"id": "n{i}", "text": "{"word " * 400}"}}\n' for i in range(40))
    with monkeypatch.context() as patch:
        patch.setattr(Store, "insert", limited)
        refused(run("index", "add", idx, "-", stdin=long), 1, "full")
    assert run("index", "info", idx, "--json").json["documents"] == 3
    assert run("index", "verify", idx).code == 0


def test_no_permission(
    run: Any, idx: Path, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a refused system call, because tests may run as root, whom no permission stops."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    open_file = os.open

    def refuse_lock(path: Any, *rest: Any, **options: Any) -> int:
        if str(path).endswith("write.lock"):
            refuse()
        return open_file(path, *rest, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse_lock)
        refused(run("index", "add", idx, "-", stdin=ONE), 1, "permission")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", refuse)
        outcome = run("index", "build", docs, "-o", tmp_path / "sub" / "new")
        assert outcome.code == 1 and "cannot be accessed" in outcome.err
    assert run("index", "verify", idx).code == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_index_in_a_folder_without_write_permission_can_be_read(run: Any, idx: Path) -> None:
    for folder in (idx, idx / "engine"):
        folder.chmod(0o555)
    try:
        assert run("search", idx, "SSD").code == 0
        refused(run("index", "add", idx, "-", stdin=ONE), 1, "cannot be accessed")
    finally:
        for folder in (idx, idx / "engine"):
            folder.chmod(0o755)


@pytest.mark.parametrize("missing", ["manifest.json", "documents.sqlite", "engine", "engine/state.json"])
def test_a_half_copied_index(run: Any, idx: Path, missing: str) -> None:
    path = idx / missing
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    refused(run("search", idx, "SSD"), 1)
    outcome = run("index", "verify", idx)
    assert outcome.code == 1 and (
        missing.split("/")[-1] in outcome.out + outcome.err or "engine" in outcome.out
    )
    before = sorted(p.name for p in idx.rglob("*"))
    refused(run("index", "add", idx, "-", stdin=ONE), 1)
    assert sorted(p.name for p in idx.rglob("*") if p.name != "write.lock") == [
        n for n in before if n != "write.lock"
    ]


def test_a_newer_format(run: Any, idx: Path) -> None:
    path = idx / "manifest.json"
    path.write_text(path.read_text().replace('"format": 1', '"format": 99'))
    refused(run("search", idx, "SSD"), 1, "format 99", "upgrade")


def test_a_wrong_call_is_told_like_every_other_mistake(run: Any, idx: Path) -> None:
    refused(run("serch"), 2, "No such command 'serch'", "search")
    refused(run("search", idx), 2, "Missing argument 'QUERY'", "numcolbert search --help")
    refused(run("search", idx, "q", "-k", "0"), 2, "-k")
    refused(run("search", idx, "q", "--sideways"), 2, "--sideways")
    refused(run("serve", idx, "--port", "99999"), 2, "--port", "numcolbert serve --help")


def test_addresses_to_listen_at(run: Any, idx: Path) -> None:
    refused(run("serve", idx, "--host", "203.0.113.7"), 1, "203.0.113.7:8080", "--host")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused(run("serve", idx, "--port", taken.getsockname()[1]), 1, "--port, or 0")


def test_options_that_would_do_nothing(run: Any, docs: Path, tmp_path: Path) -> None:
    refused(run("rerank", "q", docs, "--docs", docs), 2, "--docs belongs to a TREC run", ".run or .trec")
    refused(run("rerank", "q", docs, "--query-id", "1"), 2, "--query-id belongs to a TREC run")
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 1.0 a\n")
    (tmp_path / "qrels").write_text("q1 0 d1 1\n")
    judged = ("--qrels", tmp_path / "qrels")
    refused(run("evaluate", tmp_path / "a.run", *judged, "--tukey"), 2, "there is one run", "two runs")
    sizes = ("--shortest", 9, "--longest", 8)
    refused(
        run("data", "mine", docs, "-o", tmp_path / "p", "--name", "p", *sizes), 2, "at least 9", "--longest"
    )


def test_an_output_that_is_full(run: Any, idx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("numcolbert.cli.search.show_results", full)
    refused(run("search", idx, "q"), 1, "the output cannot be used: No space left", "free some space")


def test_the_hint_of_a_name_with_spaces_can_be_pasted(run: Any, tmp_path: Path) -> None:
    name = str(tmp_path / "SSDs above 500 GB")  # the query where the index belongs
    result = run("search", name, "idx")
    assert result.code == 1
    assert f"-o '{name}'" in result.err
