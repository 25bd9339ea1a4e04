from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def benchmarks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a tiny `openfinquant`: four passages, three queries, one an operator."""
    monkeypatch.setenv("NUMCOLBERT_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "benchmarks" / "openfinquant"
    folder.mkdir(parents=True)
    passages = {
        "d1": "revenue of 50 dollars",
        "d2": "revenue of 20 dollars",
        "d3": "weight of 5 kilograms",
        "d4": "the weather was fine",
    }
    queries = {
        "q1": ("revenue above 40 dollars", ">", 40.0, "40 dollars", "revenue", ["d1"]),
        "q2": ("revenue below 40 dollars", "<", 40.0, "40 dollars", "revenue", ["d2"]),
        "q3": ("weight of 5 kilograms", "=", 5.0, "5 kilograms", "weight", ["d3"]),
    }
    _write_lines(folder / "corpus.jsonl", [{"_id": i, "text": t} for i, t in passages.items()])
    _write_lines(folder / "queries.jsonl", [{"_id": i, "text": v[0]} for i, v in queries.items()])
    qrels = "".join(f"{i} 0 {d} 1\n" for i, v in queries.items() for d in v[5])
    (folder / "qrels.trec").write_text(qrels)
    attributes = {
        i: {
            "concept": concept, "phrase": concept, "operator": operator, "value": value, "unit": "u",
            "dimension": "d", "base_value": value, "base_high": value,
            "span": [text.index(mention), text.index(mention) + len(mention)],
        }
        for i, (text, operator, value, mention, concept, _) in queries.items()
    }  # fmt: skip
    (folder / "attributes.json").write_text(json.dumps(attributes))
    return folder.parent


def _write_lines(path: Path, rows: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
