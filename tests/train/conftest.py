"""Tiny backbones, triples and benchmarks, written by the tests."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from transformers import BertConfig, BertModel, BertTokenizer, MPNetConfig, MPNetModel, MPNetTokenizer

from numcolbert.data.pool import Unit
from numcolbert.data.triple import Passage, PassageQuantity, QueryCondition, Triple
from numcolbert.data.triple_files import write_triples

CONCEPTS = ["revenue", "profit", "weight", "speed", "dose", "income"]
UNITS = ["dollars", "kg", "km", "mg"]
PHRASES = {"=": "exactly", ">": "above", "<": "below"}
WORDS = [*CONCEPTS, *UNITS, *PHRASES.values(), "the", "was", "in", "of", "a", "report", "said", "is"]
WORDS += [".", ",", *"0123456789", *(f"##{d}" for d in "0123456789")]


def write_bert(folder: Path) -> Path:
    words = ["[PAD]", "[unused0]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    BertTokenizer(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=96,
    )
    BertModel(config).save_pretrained(folder)
    return folder


def write_mpnet(folder: Path) -> Path:
    words = ["<s>", "<pad>", "</s>", "[UNK]", *WORDS, "<mask>"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    MPNetTokenizer(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = MPNetConfig(
        vocab_size=len(words),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=96,
        pad_token_id=1,
    )
    MPNetModel(config).save_pretrained(folder)
    return folder


def make_triples(count: int, seed: int = 0) -> list[Triple]:
    """Queries about one of a few concepts; the negative has the concept and breaks the condition."""
    random = Random(seed)
    made = []
    for _ in range(count):
        pair = random.randrange(len(CONCEPTS))
        unit = pair % len(UNITS)
        operator = random.choice(list(PHRASES))
        threshold = random.randrange(20, 80)
        higher, lower = threshold + random.randrange(1, 20), threshold - random.randrange(1, 20)
        right = {"=": threshold, ">": higher, "<": lower}[operator]
        wrong = {"=": higher, ">": lower, "<": higher}[operator]
        head = f"{CONCEPTS[pair]} {PHRASES[operator]} "
        mention = f"{threshold} {UNITS[unit]}"
        condition = QueryCondition(
            operator=operator,  # type: ignore[arg-type]
            pair=pair,
            unit=unit,
            dimension=unit,
            value=threshold,
            base_value=threshold,
            base_high=threshold,
            span=(len(head), len(head + mention)),
        )

        def passage(value: int, pair: int = pair, unit: int = unit) -> Passage:
            text = f"the {CONCEPTS[pair]} was {value} {UNITS[unit]} in the report"
            return Passage(text, [PassageQuantity(pair, unit, unit, float(value))])

        made.append(Triple(head + mention, [condition], passage(right), passage(wrong)))
    return made


@dataclass
class Names:
    """What the numbers in the triples mean."""

    units: list[Unit] = field(default_factory=lambda: [Unit(unit, unit, 1.0) for unit in UNITS])
    dimensions: list[str] = field(default_factory=lambda: list(UNITS))
    pairs: list[tuple[str, str]] = field(
        default_factory=lambda: [(c, UNITS[i % len(UNITS)]) for i, c in enumerate(CONCEPTS)]
    )


def write_benchmark(folder: Path, triples: list[Triple]) -> Path:
    """Each query finds its own positive among all passages; subsets by operator."""
    folder.mkdir(parents=True)
    texts = list(dict.fromkeys(t for x in triples for t in (x.positive.text, x.negative.text)))
    number = {text: f"d{i}" for i, text in enumerate(texts)}

    def lines(rows: list[dict[str, Any]]) -> str:
        return "".join(json.dumps(row) + "\n" for row in rows)

    (folder / "corpus.jsonl").write_text(lines([{"id": number[t], "text": t} for t in texts]))
    queries = {f"q{i}": triple for i, triple in enumerate(triples)}
    (folder / "queries.jsonl").write_text(lines([{"id": q, "text": t.query} for q, t in queries.items()]))
    qrels = {q: f"{q} 0 {number[t.positive.text]} 1\n" for q, t in queries.items()}
    (folder / "qrels.trec").write_text("".join(qrels.values()))
    (folder / "qrels").mkdir()
    for name, operator in (("equal", "="), ("greater", ">"), ("less", "<")):
        chosen = [qrels[q] for q, t in queries.items() if t.conditions[0].operator == operator]
        (folder / "qrels" / f"{name}.trec").write_text("".join(chosen))
    attributes = {q: {"span": list(t.conditions[0].span)} for q, t in queries.items()}
    (folder / "attributes.json").write_text(json.dumps(attributes))
    return folder


@pytest.fixture(scope="session")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="session")
def mpnet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_mpnet(tmp_path_factory.mktemp("mpnet"))


@pytest.fixture(scope="session")
def triples_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("triples") / "triples.npz"
    write_triples(path, make_triples(400), Names())
    return path


@pytest.fixture(scope="session")
def benchmark_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_benchmark(tmp_path_factory.mktemp("benchmarks") / "tiny", make_triples(40, seed=9))


@pytest.fixture(scope="session")
def triples() -> list[Triple]:
    return make_triples(9)


@pytest.fixture(scope="session")
def general_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Triples without conditions."""
    path = tmp_path_factory.mktemp("general") / "triples.npz"
    made = [
        Triple(f"report of {i}", [], Passage(f"a report {i}", []), Passage("a dose", [])) for i in range(20)
    ]
    write_triples(path, made, Names())
    return path
