"""Steps that are recorded and replayed, and batches of few forms so that they can be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples
from torch import Tensor, nn

from numcolbert.data.triple import Passage, Triple
from numcolbert.data.triple_files import read_triples
from numcolbert.model.checkpoint import ColBERTSettings, add_gate, build_colbert, find_gate
from numcolbert.train import packing
from numcolbert.train.batches import Batch, to_device
from numcolbert.train.losses import LossSettings, NumColBERTLoss
from numcolbert.train.model_setup import text_settings
from numcolbert.train.packed import PackedEncoder
from numcolbert.train.packing import BatchMaker, PackSettings, group_by_length
from numcolbert.train.replay import SEEN_BEFORE, GradientStep, _Recording
from numcolbert.train.step import StepResult, TrainingStep
from numcolbert.train.transport import to_block


@dataclass
class Numbers:
    """Stands for a batch: its form is how many numbers it holds."""

    buffer: Tensor

    @property
    def form(self) -> int:
        return len(self.buffer)

    def copy(self) -> Numbers:
        return Numbers(self.buffer.clone())


class Slope(nn.Module):
    """The loss is weight times the sum of the batch, so its gradient is that sum."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(2.0))

    def forward(self, batch: Numbers, *, measured: bool = False) -> StepResult:
        return StepResult(self.weight * batch.buffer.sum(), {})


class RecordedHere(GradientStep):
    """Without a GPU: a replay computes anew, from the memory of the recorded batch into its gradients."""

    def _record(self, batch: Any) -> _Recording:
        kept = batch.copy()
        result = self._compute(kept, measured=True)
        gradients = [parameter.grad for parameter in self.parameters]

        def replay() -> None:
            computed = self._compute(kept, measured=True)
            result.loss.copy_(computed.loss)
            for kept_gradient, parameter in zip(gradients, self.parameters, strict=True):
                assert kept_gradient is not None
                kept_gradient.copy_(parameter.grad)  # type: ignore[arg-type]

        return _Recording(SimpleNamespace(replay=replay), kept, result, gradients)


def test_a_replayed_step_computes_the_batch_it_is_given() -> None:
    module = Slope()
    step = RecordedHere(module, list(module.parameters()), records=True)
    for turn in range(6):
        for size in (1, 3):
            result = step(Numbers(torch.full((size,), float(turn))))  # type: ignore[arg-type]
            assert result.loss.item() == 2.0 * size * turn
            assert module.weight.grad is not None
            assert module.weight.grad.item() == size * turn
    assert step.recordings == 2
    assert step.replays == 2 * (6 - SEEN_BEFORE)


def test_what_cannot_be_recorded_is_computed(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(GradientStep):
        def _record(self, batch: Batch) -> _Recording:
            raise RuntimeError("operation not permitted when stream is capturing")

    module = Slope()
    step = Broken(module, list(module.parameters()), records=True)
    for _ in range(5):
        assert step(Numbers(torch.ones(4))).loss.item() == 8.0  # type: ignore[arg-type]
    assert not step.records
    assert step.replays == 0
    assert len(caplog.records) == 1


@pytest.fixture(scope="module")
def model(backbone: Path) -> Any:
    return add_gate(build_colbert(backbone, ColBERTSettings(dim=16, query_length=24, document_length=32)))


def loss_of(model: Any, triples: list[Triple]) -> tuple[Tensor, dict[str, Tensor]]:
    maker = BatchMaker(text_settings(model), PackSettings(token_multiple=128, quantities=4))
    torch.manual_seed(0)
    step = TrainingStep(PackedEncoder(model), find_gate(model), NumColBERTLoss(LossSettings(), 16, 4))
    batch = to_device(to_block(maker.make(triples)), torch.device("cpu"), longest=32)
    result = step(batch)
    return result.loss, result.parts


def test_rows_that_fill_a_batch_up_change_no_loss(
    model: Any, triples: list[Triple], monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = Triple("report of 3 kg", [], Passage("a report", []), Passage("the dose was 5 mg", []))
    triples = [silent, *triples]  # the first has no condition, and rows that fill up point at it
    filled, parts = loss_of(model, triples)
    monkeypatch.setattr(packing, "CONDITIONS_SHARE", 0.0)
    exact, expected = loss_of(model, triples)
    torch.testing.assert_close(filled, exact)
    for name, value in expected.items():
        torch.testing.assert_close(parts[name], value, msg=name)


def test_batches_of_one_stream_share_their_form(model: Any, triples_file: Path) -> None:
    triples = read_triples(triples_file).triples
    maker = BatchMaker(text_settings(model), PackSettings(token_multiple=512, quantities=4))
    blocks = [to_block(maker.make(triples[start : start + 16])) for start in range(0, 128, 16)]
    batches = [to_device(block, torch.device("cpu"), longest=32) for block in blocks]
    assert len({batch.form for batch in batches}) == 1
    copied = batches[0].copy()
    copied.buffer.copy_(batches[1].buffer)
    assert torch.equal(copied.tokens.ids, batches[1].tokens.ids)
    assert torch.equal(copied.conditions.value, batches[1].conditions.value)
    assert not torch.equal(copied.tokens.ids, batches[0].tokens.ids)


def test_a_replayed_step_of_mpnet_computes_the_batch_it_is_given(mpnet: Path, triples_file: Path) -> None:
    """All that its attention pads by is computed from the bytes of the batch, in the recorded part."""
    model = add_gate(build_colbert(mpnet, ColBERTSettings(dim=16, query_length=24, document_length=32)))
    module = TrainingStep(PackedEncoder(model), find_gate(model), NumColBERTLoss(LossSettings(), 16, 4))
    parameters = [p for name, p in module.named_parameters() if "pooler" not in name]
    recorded = RecordedHere(module, parameters, records=True)
    plain = GradientStep(module, parameters, records=False)
    triples = read_triples(triples_file).triples
    maker = BatchMaker(text_settings(model), PackSettings(token_multiple=512, quantities=4))
    for first in range(0, 80, 16):
        block = to_block(maker.make(triples[first : first + 16]))
        batch = to_device(block, torch.device("cpu"), longest=32)
        expected = plain(batch).loss.item()
        gradients = [p.grad.clone() for p in parameters]  # type: ignore[union-attr]
        assert recorded(batch).loss.item() == pytest.approx(expected)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            torch.testing.assert_close(parameter.grad, gradient)
    assert recorded.replays == 5 - SEEN_BEFORE


@examples(60)
@given(st.lists(st.integers(1, 128), min_size=1, max_size=60), st.integers(1, 6))
def test_groups_hold_every_document_once_and_are_wide_enough(lengths: list[int], groups: int) -> None:
    arrays = group_by_length(lengths, groups)
    order, cut = arrays["document_order"], arrays["document_groups"]
    assert sorted(order) == list(range(len(lengths)))
    assert cut[0, 0] == 0 and cut[-1, 1] == len(lengths)
    assert (cut[1:, 0] == cut[:-1, 1]).all() and (cut[:, 0] < cut[:, 1]).all()
    for first, last, width in cut:
        longest = np.array(lengths)[order[first:last]].max()
        assert longest <= width < max(2 * longest, packing.GROUP_WIDTH + 1)
        assert width % packing.GROUP_WIDTH == 0


def test_widths_of_groups_grow_with_the_length_up_to_the_longest_possible() -> None:
    widths = [packing.group_width(length, 120) for length in (0, 1, 16, 17, 40, 49, 80, 81, 120)]
    assert widths == [16, 16, 16, 32, 48, 80, 80, 128, 128]
    assert packing.group_width(90, 100) == 112
