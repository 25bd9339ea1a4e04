"""What the gate does to queries, and what it never does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sentence_transformers import MultiVectorEncoder
from tests.properties import examples

from numcolbert.model.checkpoint import find_gate, save_checkpoint
from numcolbert.model.gate import CODE_FILE, NumericalGate

QUERIES = ["revenue above 20 million dollars", "phones under 500 dollars in the year 2019"]
DOCUMENTS = ["the company reached revenue of $ 416,000.", "sales fell by 20 %", "the dose was 5 mg"]


def test_an_untrained_gate_is_one_for_every_length() -> None:
    for setting in ("actual", 32):
        gate = NumericalGate(dim=8, query_length=setting)  # type: ignore[arg-type]
        for length in (2, 3, 20, 64):
            _, value = gate.weigh(torch.randn(length, 8), torch.tensor([length]))
            torch.testing.assert_close(value, torch.ones(length), atol=1e-5, rtol=1e-5)


@examples(30)
@given(length=st.integers(2, 64), seed=st.integers(0, 1000))
def test_a_gate_stays_between_zero_and_the_query_length(length: int, seed: int) -> None:
    torch.manual_seed(seed)
    gate = NumericalGate(dim=8, hidden_dim=4)
    torch.nn.init.normal_(gate.gate[-1].weight, std=3)  # type: ignore[arg-type]
    _, value = gate.weigh(torch.randn(length, 8), torch.tensor([length]))
    assert (value >= 0).all() and (value <= length).all()


@torch.no_grad()
def test_the_formula(make_model) -> None:  # type: ignore[no-untyped-def]
    """q~_i = |Q| sigmoid(MLP(q_i) + logit(1/|Q|)) q_i where P_num(q_i) > 0.5, else q_i."""
    model = make_model()
    gate = find_gate(model)
    assert gate is not None
    for features in model.encode_query(QUERIES, output_value=None):
        kept = features["attention_mask"].bool()
        q = features["ungated_embeddings"]
        count = int(kept.sum())
        gated = 0
        for i in torch.nonzero(kept).flatten().tolist():
            probability = torch.sigmoid(gate.detector(q[i])).item()
            special = int(features["input_ids"][i]) in gate.ungated_token_ids
            acts = probability > 0.5 and not special
            logit = gate.gate(q[i]) + torch.log(torch.tensor(1 / count) / (1 - 1 / count))
            g = count * torch.sigmoid(logit).item() if acts else 1.0
            gated += acts
            assert features["gate"][i].item() == pytest.approx(g, rel=1e-4)
            torch.testing.assert_close(features["token_embeddings"][i], g * q[i], atol=1e-4, rtol=1e-4)
        assert gated > 0


def test_special_tokens_and_padding_are_never_gated(make_model) -> None:  # type: ignore[no-untyped-def]
    model = make_model()
    find_gate(model).detector[-1].bias.data += 100  # every token looks like a number
    special = {"[CLS]", "[SEP]", "[PAD]", "[MASK]", "[unused0]"}
    for features in model.encode_query([*QUERIES, "sales"], output_value=None):
        tokens = model.tokenizer.convert_ids_to_tokens(features["input_ids"])
        for token, gate, probability in zip(
            tokens, features["gate"].tolist(), features["num_probability"].tolist(), strict=True
        ):
            assert (gate == 1.0) == (token in special)
            assert (probability == 0.0) == (token in special)


def test_documents_are_the_plain_encoders_to_the_last_bit(make_model) -> None:  # type: ignore[no-untyped-def]
    model = make_model()
    plain = MultiVectorEncoder(modules=list(model)[:-1], prompts=model.prompts, device="cpu")
    for gated, expected in zip(
        model.encode_document(DOCUMENTS), plain.encode_document(DOCUMENTS), strict=True
    ):
        assert torch.equal(gated, expected)
        torch.testing.assert_close(gated.norm(dim=-1), torch.ones(len(gated)))


def test_similarity_keeps_the_gain(make_model) -> None:  # type: ignore[no-untyped-def]
    model = make_model()
    queries, documents = model.encode_query(QUERIES), model.encode_document(DOCUMENTS)
    scores = model.similarity(queries, documents)
    for row, query in enumerate(queries):
        for column, document in enumerate(documents):
            expected = (query @ document.T).amax(dim=1).sum()
            torch.testing.assert_close(scores[row, column], expected, atol=1e-4, rtol=1e-4)
    lengths = torch.cat([q.norm(dim=-1) for q in queries])
    assert (lengths - 1).abs().max() > 0.1


def test_gold_spans_steer_the_gate_in_training_only(make_model) -> None:  # type: ignore[no-untyped-def]
    model = make_model(gate_on="gold")
    features = model.preprocess(QUERIES, prompt=model.prompts["query"], task="query")
    gold = torch.zeros_like(features["input_ids"], dtype=torch.bool)
    gold[:, 4] = True
    training = model.train()({**features, "quantity_mask": gold}, task="query")
    assert torch.equal(training["gate"] != 1, gold)
    model.eval()
    free, evaluation = (
        model({**features}, task="query"),
        model({**features, "quantity_mask": gold}, task="query"),
    )
    assert torch.equal(free["gate"], evaluation["gate"])


def gradients(model: MultiVectorEncoder, loss: torch.Tensor) -> dict[str, float]:
    model.zero_grad()
    loss.backward(retain_graph=True)
    gate = find_gate(model)
    assert gate is not None
    parts = {"detector": gate.detector, "gate": gate.gate, "encoder": model[0], "projection": model[1]}
    return {
        name: sum(float(p.grad.abs().sum()) for p in part.parameters() if p.grad is not None)
        for name, part in parts.items()
    }


@pytest.mark.parametrize("reads", ["vector", "hidden"])
def test_the_gate_learns_from_retrieval_and_the_detector_from_detection(make_model, reads: str) -> None:  # type: ignore[no-untyped-def]
    model = make_model(reads=reads).train()
    features = model.preprocess(QUERIES, prompt=model.prompts["query"], task="query")
    query = model(features, task="query")
    document = model(
        model.preprocess(DOCUMENTS, prompt=model.prompts["document"], task="document"), task="document"
    )
    retrieval = torch.einsum("bid,njd->bnij", query["token_embeddings"], document["token_embeddings"])
    from_retrieval = gradients(model, retrieval.amax(dim=-1).sum())
    assert from_retrieval["gate"] > 0 and from_retrieval["encoder"] > 0
    assert from_retrieval["detector"] == 0

    from_detection = gradients(model, query["num_logit"].square().sum())
    assert from_detection["detector"] > 0 and from_detection["encoder"] > 0
    assert from_detection["gate"] == 0

    from_contrast = gradients(model, query["ungated_embeddings"].sum())
    assert from_contrast["gate"] == 0 and from_contrast["detector"] == 0


def test_the_detectors_loss_can_be_kept_from_the_encoder(make_model) -> None:  # type: ignore[no-untyped-def]
    model = make_model(detector_trains_encoder=False).train()
    features = model.preprocess(QUERIES, prompt=model.prompts["query"], task="query")
    found = gradients(model, model(features, task="query")["num_logit"].sum())
    assert found["detector"] > 0 and found["encoder"] == 0


WITHOUT_NUMCOLBERT = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "numcolbert":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Block())
import torch
from sentence_transformers import MultiVectorEncoder
texts = torch.load(sys.argv[1], weights_only=True)
for folder in sys.argv[2:]:
    model = MultiVectorEncoder(folder, trust_remote_code=True, device="cpu")
    queries, documents = model.encode_query(texts["queries"]), model.encode_document(texts["documents"])
    scores = model.similarity(queries, documents)
    torch.save({"queries": queries, "documents": documents, "scores": scores}, folder + ".pt")
    model.save_pretrained(folder + "-again")
    again = MultiVectorEncoder(folder + "-again", trust_remote_code=True, device="cpu")
    assert torch.equal(scores, again.similarity(again.encode_query(texts["queries"]), documents))
assert "numcolbert" not in sys.modules
"""


def test_a_checkpoint_opens_where_numcolbert_is_not_installed(  # type: ignore[no-untyped-def]
    make_model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    models = {reads: make_model(reads=reads) for reads in ("vector", "hidden")}
    for reads, model in models.items():
        save_checkpoint(model, tmp_path / reads, half=False)
        assert (tmp_path / reads / CODE_FILE).is_file()
    torch.save({"queries": QUERIES, "documents": DOCUMENTS}, tmp_path / "texts.pt")
    arguments = [str(tmp_path / name) for name in ("texts.pt", *models)]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_NUMCOLBERT, *arguments], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    for reads, model in models.items():
        other = torch.load(tmp_path / f"{reads}.pt", weights_only=True)
        queries, documents = model.encode_query(QUERIES), model.encode_document(DOCUMENTS)
        both = zip([*queries, *documents], [*other["queries"], *other["documents"]], strict=True)
        for ours, theirs in both:
            torch.testing.assert_close(theirs, ours, atol=1e-6, rtol=1e-6)
        scores = model.similarity(queries, documents)
        torch.testing.assert_close(other["scores"], scores, atol=1e-5, rtol=1e-5)
