from __future__ import annotations

import json
import re
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


@pytest.fixture(scope="session")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A two-layer BERT with random weights that knows a few words and all digits."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("sentence_transformers")
    from transformers import BertConfig, BertModel, BertTokenizer

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("bert")
    words = re.findall(
        r"\w+", "revenue dose income amount weight margin was is of the a an above below equal what in total"
    )
    marks = ["[PAD]", "[unused0]", "[unused1]", "[unused2]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [
        *"abcdefghijklmnopqrstuvwxyz0123456789$%.,",
        *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz0123456789"),
    ]
    (folder / "vocab.txt").write_text("\n".join([*marks, *words, *pieces]) + "\n")
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    count = len(marks) + len(words) + len(pieces)
    config = BertConfig(
        vocab_size=count, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=128,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def checkpoint(backbone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained NumColBERT."""
    from numcolbert.model.checkpoint import (
        ColBERTSettings,
        GateSettings,
        add_gate,
        build_colbert,
        save_checkpoint,
    )

    plain = build_colbert(backbone, ColBERTSettings(dim=16, query_length=24, document_length=32))
    folder = tmp_path_factory.mktemp("checkpoint") / "model"
    save_checkpoint(add_gate(plain, GateSettings(hidden_dim=8)), folder, half=False)
    return folder
