"""The examples run, and find what they promise."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
EXPECTED = {
    "search_csv.py": "('>', 200.0, 'gigabyte')",
    "rerank_bm25.py": "(BM25: ",
    "filter_and_verify.py": "without the gate",
    "serve_and_ask.py": "7 documents",
    "move_to_qdrant.py": "collection numcolbert-",
}
NEEDS = {"move_to_qdrant.py": "qdrant_client"}


def test_every_example_is_tested_and_listed() -> None:
    scripts = {path.name for path in EXAMPLES.glob("*.py")}
    assert scripts == set(EXPECTED)
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"({name})" in listed for name in scripts)


@pytest.mark.parametrize("name", EXPECTED)
def test_example(
    name: str, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    monkeypatch.setattr(sys, "argv", [name])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert EXPECTED[name] in capsys.readouterr().out
    assert not any(path.name != "cache" for path in elsewhere.iterdir()), "left something behind"
