"""The model in the package: it understands numbers, and it is the checkpoint under models/."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from numcolbert.api import NumColBERT
from numcolbert.model.encoder import Encoder

MODELS = Path(__file__).parent.parent.parent / "models"
CHECKPOINT = MODELS / "numcolbert-minilm"


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder.load(None)


def best(encoder: Encoder, query: str, passages: list[str]) -> str:
    return NumColBERT(encoder).rerank(query, passages)[0].text


# The right answer stands first; none of these sentences is in any corpus.
ADDED = [f"Verizon added {number} subscribers." for number in ("416,000", "437,000", "4,200")]
DRIVES = ["The drive stores 1 TB.", "The drive stores 256 GB.", "The drive moves 600 Mbps."]
TENTS = ["The tent weighs 1.4 kg.", "The tent weighs 3.1 kg.", "The tent sleeps 2."]
PUMPS = ["The pump draws 450 watts.", "The pump draws 120 watts.", "The pump costs 300 dollars."]


@pytest.mark.parametrize(
    ("query", "passages"),
    [
        ("Verizon added 416,000 subscribers", ADDED),
        ("SSDs with capacity over 500 GB", DRIVES),
        ("tents lighter than 2 kg", TENTS),
        ("pumps above 300 watts", PUMPS),
    ],
)
def test_it_ranks_the_passage_that_satisfies_first(encoder: Encoder, query: str, passages: list[str]) -> None:
    assert best(encoder, query, list(reversed(passages))) == passages[0]


def test_the_right_number_scores_clearly_above_a_near_one(encoder: Encoder) -> None:
    hits = NumColBERT(encoder).rerank("Verizon added 416,000 subscribers", ADDED)
    relevance = {hit.text: hit.relevance for hit in hits}
    same, near, far = (relevance[text] for text in ADDED)
    assert near < 0.95 * same
    assert far < 0.9 * same


def test_the_gate_acts_on_the_condition_and_not_on_model_names_or_years(encoder: Encoder) -> None:
    query = encoder.encode_queries(["iPhone 15 under 500 dollars in 2020"])[0]
    gated = {
        query.text[span[0] : span[1]]
        for span, g in zip(query.spans, query.gates, strict=True)
        if span and g != 1
    }
    assert gated == {"5", "0", "dollars"}
    start = query.text.index("500")
    where = [span[0] for span, g in zip(query.spans, query.gates, strict=True) if span and g != 1]
    assert min(where) == start
    assert query.text.index("2020") not in where


def test_passages_have_unit_vectors_and_readable_tokens(encoder: Encoder) -> None:
    (passage,) = encoder.encode_documents(["The drive stores 1 TB."])
    assert passage.tokens == ("[CLS]", "[D]", "the", "drive", "stores", "1", "tb", ".", "[SEP]")
    np.testing.assert_allclose(np.linalg.norm(passage.vectors, axis=1), 1.0, atol=1e-3)


@pytest.mark.train
def test_the_checkpoint_and_the_packaged_file_agree(encoder: Encoder) -> None:
    pytest.importorskip("sentence_transformers")
    from numcolbert.model.checkpoint import load_checkpoint
    from numcolbert.model.export import parity

    queries = ["rivers longer than 3,000 miles", "phones between 300 and 450 dollars", "exactly 381 m tall"]
    passages = [
        "The Lena is 4,294 kilometres long.",
        "It costs 349 dollars.",
        "The tower is 381 m tall.",
        "A whale.",
    ]
    found = parity(load_checkpoint(CHECKPOINT), encoder, queries, passages)
    assert found.mean_cosine > 0.999
    assert found.mean_score_difference < 0.005
    assert found.same_best_document == 1.0


@pytest.mark.train
@pytest.mark.parametrize("folder", sorted(path.parent.name for path in MODELS.glob("*/modules.json")))
def test_a_checkpoint_carries_the_gate_as_it_is_here(folder: str) -> None:
    pytest.importorskip("sentence_transformers")
    from numcolbert.model import gate
    from numcolbert.model.checkpoint import find_gate, load_checkpoint

    carried = (MODELS / folder / gate.CODE_FILE).read_bytes()
    assert carried == Path(gate.__file__).read_bytes(), "save the checkpoint again"
    assert find_gate(load_checkpoint(MODELS / folder)) is not None
