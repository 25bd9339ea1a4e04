"""Padding in groups: every token has a place, whatever the batch, and shapes follow from its form alone."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from numcolbert.data.triple import Passage, Triple
from numcolbert.data.triple_files import read_triples
from numcolbert.model.checkpoint import ColBERTSettings, add_gate, build_colbert, find_gate
from numcolbert.train.batches import Batch, to_device
from numcolbert.train.layout import Layout, PaddedGroups, make_layout, pad_in_groups
from numcolbert.train.losses import LossSettings, NumColBERTLoss
from numcolbert.train.model_setup import text_settings
from numcolbert.train.packed import PackedEncoder, PackedTokens
from numcolbert.train.packing import BatchMaker, PackSettings, group_by_length, pack
from numcolbert.train.step import TrainingStep
from numcolbert.train.transport import to_block

LONGEST, QUERY_WIDTH = 40, 24


def layout_of(queries: list[int], documents: list[int], multiple: int) -> Layout:
    """As a batch with sequences of these lengths has it."""
    packed = pack([[7] * length for length in (*queries, *documents)], multiple, LONGEST)
    groups = group_by_length(documents, longest=LONGEST)
    return Layout(
        tokens=len(packed["ids"]),
        starts=torch.from_numpy(packed["starts"]),
        longest=LONGEST,
        document_order=torch.from_numpy(groups["document_order"]),
        document_groups=tuple((int(a), int(b), int(c)) for a, b, c in groups["document_groups"]),
        queries=len(queries),
        query_width=QUERY_WIDTH,
    )


def assert_every_token_has_its_place(groups: PaddedGroups, tokens: int) -> None:
    assert torch.equal(groups.rows[groups.places], torch.arange(tokens))
    assert groups.real[groups.places].all()
    assert int(groups.real.sum()) == tokens
    assert len(groups.rows) == sum(groups.sizes)


@pytest.mark.parametrize("filling", range(97))
def test_fillings_of_every_size(filling: int) -> None:
    queries, documents = [1, 24, 5], [40, 1, 17, 30, 2, (96 - filling) % 40 + 1]
    multiple = sum(queries) + sum(documents) + filling
    layout = layout_of(queries, documents, multiple)
    assert layout.tokens == multiple
    assert_every_token_has_its_place(pad_in_groups(layout), multiple)


@examples(60)
@given(
    st.lists(st.integers(1, QUERY_WIDTH), min_size=1, max_size=12),
    st.lists(st.integers(1, LONGEST), min_size=1, max_size=24),
    st.integers(1, 300),
)
def test_every_token_has_one_place_in_the_row_of_its_sequence(
    queries: list[int], documents: list[int], multiple: int
) -> None:
    layout = layout_of(queries, documents, multiple)
    groups = pad_in_groups(layout)
    assert_every_token_has_its_place(groups, layout.tokens)
    owner = torch.cat(
        [torch.arange(n).repeat_interleave(w) + 1000 * i for i, (n, w) in enumerate(groups.shapes)]
    )
    starts = layout.starts.tolist()
    rows = [owner[groups.places[a:b]].unique().tolist() for a, b in itertools.pairwise(starts)]
    real = [row for found in rows[: len(queries) + len(documents)] for row in found]
    assert len(real) == len(set(real)) == len(queries) + len(documents)


def test_sequences_of_one_width_are_one_group() -> None:
    layout = replace(layout_of([3, 24], [40, 1, 12, 33, 30, 20], 64), query_width=48)
    groups = pad_in_groups(layout)
    widths = [width for _, width in groups.shapes]
    assert 48 in (width for _, _, width in layout.document_groups)
    assert len(widths) == len(set(widths))
    assert_every_token_has_its_place(groups, layout.tokens)


@examples(40)
@given(st.lists(st.integers(0, 70), min_size=1, max_size=30).filter(any))
def test_documents_alone(lengths: list[int]) -> None:
    layout = make_layout(np.array(lengths))
    assert_every_token_has_its_place(pad_in_groups(layout), sum(lengths))


def test_gradients_of_spreading_and_collecting() -> None:
    groups = pad_in_groups(layout_of([3, 24, 1], [40, 1, 12, 33], 64))
    tokens = len(groups.places)
    torch.manual_seed(0)
    stream, weights = torch.randn(tokens, 2, requires_grad=True), torch.randn(tokens, 2)
    real = groups.real[:, None]

    def cubed(padded: Tensor) -> Tensor:
        return torch.where(real, padded**3, 0.0)  # padding gives nothing back, as in attention

    ours = groups.collect(cubed(groups.spread(stream)))
    (made,) = torch.autograd.grad((ours * weights).sum(), stream)
    (expected,) = torch.autograd.grad((stream**3 * weights).sum(), stream)
    torch.testing.assert_close(made, expected)


@pytest.fixture(scope="module", params=["backbone", "mpnet"])
def step(request: pytest.FixtureRequest) -> TrainingStep:
    folder: Path = request.getfixturevalue(request.param)
    model = add_gate(build_colbert(folder, ColBERTSettings(dim=16, query_length=24, document_length=32)))
    encoder = PackedEncoder(model)
    torch.manual_seed(0)
    made = TrainingStep(encoder, find_gate(model), NumColBERTLoss(LossSettings(), 16, 4))
    made.text = text_settings(model)  # type: ignore[assignment]
    return made


def batch_of(step: TrainingStep, triples: list[Triple], multiple: int) -> Batch:
    maker = BatchMaker(step.text, PackSettings(token_multiple=multiple, quantities=4))  # type: ignore[arg-type]
    return to_device(to_block(maker.make(triples)), torch.device("cpu"), longest=32)


def loss_and_gradients(step: TrainingStep, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
    step.zero_grad()
    loss = step(batch).loss
    loss.backward()
    return loss.detach(), {n: p.grad.clone() for n, p in step.named_parameters() if p.grad is not None}


def with_short_texts(triples: list[Triple]) -> list[Triple]:
    """Texts of nothing but special tokens, and a long one."""
    empty, long = Passage("", []), Passage("the report said " * 12, [])
    return [Triple("", [], empty, long), *triples]


def test_the_same_sequences_in_another_form_give_the_same_gradients(
    step: TrainingStep, triples: list[Triple]
) -> None:
    made = with_short_texts(triples)
    batch = batch_of(step, made, 64)
    loss, gradients = loss_and_gradients(step, batch)
    wider = tuple((first, last, 32) for first, last, _ in batch.form.document_groups)
    assert wider != batch.form.document_groups
    layout = replace(batch.tokens.layout, document_groups=wider)
    others = [batch_of(step, made, multiple) for multiple in (1, 333, 2048)]
    others.append(replace(batch, tokens=replace(batch.tokens, layout=layout)))
    for other in others:
        other_loss, other_gradients = loss_and_gradients(step, other)
        torch.testing.assert_close(other_loss, loss)
        for name, gradient in gradients.items():
            assert gradient.isfinite().all()
            torch.testing.assert_close(other_gradients[name], gradient, atol=2e-5, rtol=1e-3, msg=name)


def test_queries_and_documents_of_one_token(step: TrainingStep) -> None:
    """One by one they give what they give together."""
    lengths = [1, 24, 1, 32, 7, 1]
    layout = layout_of(lengths[:2], lengths[2:], 128)
    ids = torch.arange(layout.tokens, dtype=torch.int32) % 20 + 5
    starts = layout.starts.tolist()
    sizes = np.diff(starts)
    positions = torch.from_numpy(np.arange(layout.tokens) - np.repeat(starts[:-1], sizes)).int()
    together = step.encoder(PackedTokens(ids, positions, layout))
    assert together.isfinite().all()
    for begin, length in zip(starts, lengths, strict=False):
        part = slice(begin, begin + length)
        alone = step.encoder(PackedTokens(ids[part], positions[part], make_layout(np.array([length]))))
        torch.testing.assert_close(together[part], alone, atol=1e-5, rtol=1e-5)


class Watched(TorchDispatchMode):
    """Notes every operation with the shapes that go in and come out; none may depend on values."""

    def __init__(self) -> None:
        super().__init__()
        self.trace: list[tuple[str, list[Any]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        by_mask = any(
            isinstance(index, Tensor) and index.dtype in (torch.bool, torch.uint8)
            for index in (args[1] if func is torch.ops.aten.index.Tensor else ())
        )
        varies = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape} & set(func.tags)
        assert not by_mask, f"{func} with a mask has a shape that depends on values"
        assert not varies or func is torch.ops.aten.index.Tensor, f"{func} depends on values"
        flat, _ = torch.utils._pytree.tree_flatten((args, kwargs, out))
        self.trace.append((str(func), [x.shape if isinstance(x, Tensor) else x for x in flat]))
        return out


def test_the_kernels_of_a_step_follow_from_the_form_alone(step: TrainingStep, triples_file: Path) -> None:
    triples = read_triples(triples_file).triples
    one, other = (batch_of(step, triples[first : first + 16], 512) for first in (0, 16))
    assert one.form == other.form
    assert not torch.equal(one.tokens.layout.starts, other.tokens.layout.starts)
    traces = []
    for batch in (one, other):
        with Watched() as watched:
            loss_and_gradients(step, batch)
        traces.append(watched.trace)
    names = {name for name, _ in traces[0]}
    assert any("backward" in name and ("attention" in name or "softmax" in name) for name in names)
    assert traces[0] == traces[1]
