"""The packed encoder and the plain one compute the same vectors."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from numcolbert.data.triple import Triple
from numcolbert.errors import ModelError
from numcolbert.model.checkpoint import (
    ColBERTSettings,
    GateSettings,
    add_gate,
    build_colbert,
    find_gate,
)
from numcolbert.train.attention import BucketedAttention, VarlenAttention
from numcolbert.train.batches import Batch, to_device
from numcolbert.train.layout import make_layout
from numcolbert.train.losses import LossSettings, NumColBERTLoss
from numcolbert.train.maxsim import maxsim
from numcolbert.train.model_setup import text_settings
from numcolbert.train.packed import PackedEncoder, compiled_or_plain, finish_layer
from numcolbert.train.packing import BatchMaker, PackSettings
from numcolbert.train.step import TrainingStep
from numcolbert.train.transport import to_block


def numcolbert(backbone: Path, **gate: Any) -> Any:
    colbert = build_colbert(backbone, ColBERTSettings(dim=16, query_length=24, document_length=32))
    model = add_gate(colbert, GateSettings(hidden_dim=8, **gate))
    torch.manual_seed(5)
    for network in (model[-1].detector, model[-1].gate):
        torch.nn.init.normal_(network[-1].weight, std=2.0)
    return model.eval()


def batch_of(model: Any, triples: list[Triple]) -> Batch:
    maker = BatchMaker(text_settings(model), PackSettings(token_multiple=128))
    return to_device(to_block(maker.make(triples)), torch.device("cpu"), longest=32)


@pytest.mark.parametrize("kind", ["backbone", "mpnet"])
@pytest.mark.parametrize("reads", ["vector", "hidden"])
def test_packed_vectors_equal_those_of_the_plain_model(
    kind: str, reads: str, triples: list[Triple], request: pytest.FixtureRequest
) -> None:
    model = numcolbert(request.getfixturevalue(kind), reads=reads, gate_on="detected")
    step = TrainingStep(PackedEncoder(model), find_gate(model), NumColBERTLoss(LossSettings(), 16, 4))
    encoded, _, gates = step.encode(batch_of(model, triples))
    assert gates is not None
    assert (gates != 1).any()
    queries = model.encode_query([t.query for t in triples])
    texts = [t.positive.text for t in triples] + [t.negative.text for t in triples]
    documents = model.encode_document(texts)
    _assert_rows_equal(encoded.queries, encoded.query_mask, queries)
    _assert_rows_equal(encoded.documents, encoded.document_mask, documents)
    assert encoded.scores is not None
    torch.testing.assert_close(encoded.scores, model.similarity(queries, documents), atol=1e-4, rtol=1e-4)


def test_word_scores_are_the_maxsim_of_the_words_outside_of_quantities(
    backbone: Path, triples: list[Triple]
) -> None:
    model = numcolbert(backbone)
    loss = NumColBERTLoss(LossSettings(concept=0.5), 16, 4)
    step = TrainingStep(PackedEncoder(model), find_gate(model), loss)
    encoded, labels, _ = step.encode(batch_of(model, triples))
    words = encoded.word_mask & ~labels.quantity_mask
    expected = maxsim(encoded.ungated, encoded.documents, words, encoded.document_mask)
    assert encoded.word_scores is not None
    torch.testing.assert_close(encoded.word_scores, expected, atol=1e-4, rtol=1e-4)


def test_mention_scores_are_the_maxsim_of_each_quantity(backbone: Path, triples: list[Triple]) -> None:
    model = numcolbert(backbone)
    loss = NumColBERTLoss(LossSettings(mention="tokens"), 16, 4)
    step = TrainingStep(PackedEncoder(model), find_gate(model), loss)
    encoded, labels, _ = step.encode(batch_of(model, triples))
    conditions = labels.conditions
    own = encoded.ungated[conditions.query]
    expected = maxsim(own, encoded.documents, conditions.mention, encoded.document_mask)
    assert encoded.mention_scores is not None and (expected != 0).any()
    torch.testing.assert_close(encoded.mention_scores, expected, atol=1e-4, rtol=1e-4)


def test_variable_length_attention_sees_every_token_of_the_stream(
    backbone: Path, triples: list[Triple]
) -> None:
    def kernel(q: Tensor, k: Tensor, v: Tensor, starts: Tensor, _: Tensor, longest: int, __: int) -> Tensor:
        out = torch.full_like(q, float("nan"))  # as undefined as on a GPU
        for a, b in itertools.pairwise(starts.tolist()):
            assert b - a <= longest
            weights = torch.softmax(torch.einsum("ihd,jhd->hij", q[a:b], k[a:b]) / q.shape[-1] ** 0.5, -1)
            out[a:b] = torch.einsum("hij,jhd->ihd", weights, v[a:b])
        return out

    model = numcolbert(backbone)
    plain, packed = PackedEncoder(model), PackedEncoder(model)
    packed.attention = VarlenAttention()
    packed.attention._kernel = kernel
    batch = batch_of(model, triples)
    real = batch.real_tokens
    made = packed(batch.tokens)
    assert made.isfinite().all()
    torch.testing.assert_close(made[:real], plain(batch.tokens)[:real], atol=1e-5, rtol=1e-5)


def _assert_rows_equal(padded: Tensor, mask: Tensor, expected: list[Tensor]) -> None:
    for vectors, kept, right in zip(padded, mask, expected, strict=True):
        torch.testing.assert_close(vectors[kept], right, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", ["backbone", "mpnet"])
def test_gradients_equal_those_of_the_plain_model(
    kind: str, triples: list[Triple], request: pytest.FixtureRequest
) -> None:
    model = numcolbert(request.getfixturevalue(kind))
    encoder = PackedEncoder(model)
    batch = batch_of(model, triples)
    starts = batch.tokens.layout.starts
    real = encoder(batch.tokens)[: int(starts[3 * len(triples)])]
    weights = torch.randn(real.shape, generator=torch.Generator().manual_seed(3))
    (real * weights).sum().backward()  # type: ignore[no-untyped-call]
    packed = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    assert any("word_embeddings" in name for name in packed)
    assert any("relative_attention_bias" in name for name in packed) == (kind == "mpnet")
    model.zero_grad()

    texts = [t.positive.text for t in triples] + [t.negative.text for t in triples]
    features = [model.preprocess([t.query for t in triples], prompt=model.prompts["query"], task="query")]
    features.append(model.preprocess(texts, prompt=model.prompts["document"], task="document"))
    total, place = torch.zeros(()), 0
    for part, count in zip(features, (len(triples), len(texts)), strict=True):
        out = model(part, task="document")  # ungated, as the encoder's vectors are
        for row in range(count):
            vectors = out["token_embeddings"][row][out["attention_mask"][row].bool()]
            total = total + (vectors * weights[place : place + len(vectors)]).sum()
            place += len(vectors)
    assert place == len(weights)
    total.backward()  # type: ignore[no-untyped-call]
    for name, parameter in model.named_parameters():
        if name in packed:
            torch.testing.assert_close(packed[name], parameter.grad, atol=1e-4, rtol=1e-4, msg=name)


def test_bucketed_attention_equals_attention_one_by_one() -> None:
    lengths = np.array([3, 0, 17, 40, 16, 1])
    torch.manual_seed(0)
    qkv = torch.randn(int(lengths.sum()), 3, 2, 8)
    attention = BucketedAttention()
    out = attention(qkv, attention.prepare(make_layout(lengths), None, torch.float32))
    start = 0
    for length in lengths:
        part = slice(start, start + length)
        q, k, v = qkv[part].unbind(1)
        weights = torch.softmax(torch.einsum("ihd,jhd->hij", q, k) / 8**0.5, dim=-1)
        torch.testing.assert_close(out[part], torch.einsum("hij,jhd->ihd", weights, v))
        start += length


def test_a_compiler_that_fails_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no compiler here")

    monkeypatch.setattr(torch, "compile", broken)
    parameters = tuple(torch.randn(shape) for shape in [(8, 8), 8, 8, 8, (16, 8), 16, (8, 16), 8, 8, 8])
    made = compiled_or_plain(finish_layer, torch.device("cpu"), parameters, 1e-6, torch.float32)
    assert made is finish_layer


def test_other_backbones_and_query_expansion_are_refused(backbone: Path) -> None:
    model = numcolbert(backbone)
    model[0].query_expansion = {"strategy": "fixed", "attend": True, "length": 24, "token": "[MASK]"}
    with pytest.raises(ModelError, match="query_expansion"):
        PackedEncoder(model)
    model[0].query_expansion = None
    model[0].auto_model.config.model_type = "gpt2"
    with pytest.raises(ModelError, match="not 'gpt2'"):
        PackedEncoder(model)


def test_a_compiler_that_rounds_otherwise_is_used_also_for_a_model_with_fresh_norms(
    mpnet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rounding(function: Any) -> Any:
        def rounded(x: torch.Tensor, context: torch.Tensor, *rest: Any) -> torch.Tensor:
            made: torch.Tensor = function(x.bfloat16().float(), context.bfloat16().float(), *rest)
            return made.bfloat16().float()

        return rounded

    monkeypatch.setattr(torch, "compile", rounding)
    parameters = PackedEncoder(numcolbert(mpnet)).layers[0].parameters()
    assert (parameters[2] == 1).all()  # the weights of a layer norm
    made = compiled_or_plain(finish_layer, torch.device("cpu"), parameters, 1e-6, torch.float32)
    assert made is not finish_layer


def test_a_compiler_that_computes_something_else_is_not_used(
    backbone: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(torch, "compile", lambda function: lambda *given: 1.2 * function(*given))
    parameters = PackedEncoder(numcolbert(backbone)).layers[0].parameters()
    made = compiled_or_plain(finish_layer, torch.device("cpu"), parameters, 1e-6, torch.float32)
    assert made is finish_layer
    assert "differ by 0.2, 0.2, 0.2" in caplog.text
