"""Steps recorded once and replayed: the losses and all gradients of a batch in a single launch.

A step of a small model is a thousand short kernels, and starting them from Python takes longer than running
them. A CUDA graph keeps the whole sequence. It holds for one form of batch, so `packing.py` rounds sizes such
that few forms occur; what is rare, or cannot be recorded, runs as usual.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from numcolbert.train.batches import Batch, Form
from numcolbert.train.step import StepResult

log = logging.getLogger(__name__)

SEEN_BEFORE = 2
"""A form is recorded when it comes for the third time; the steps before also warm its kernels up."""
MOST_RECORDINGS = 16
"""Forms kept; usually the 12 most frequent ones are nearly all batches. Recordings share their memory, but
each has gradients of its own and takes a while to make."""


@dataclass
class _Recording:
    graph: Any
    batch: Batch
    """What the recorded kernels read; a new batch is copied into its memory."""
    result: StepResult
    gradients: list[Tensor | None]


class GradientStep:
    """Computes the loss of a batch and leaves the gradients in the parameters, replaced and not added up."""

    def __init__(self, module: nn.Module, parameters: Sequence[nn.Parameter], *, records: bool) -> None:
        """Args:
        module: A `TrainingStep`, as it is or wrapped.
        records: Whether to record and replay; only for a bare module on a GPU, without dropout.
        """
        self.module, self.parameters, self.records = module, list(parameters), records
        self.replays = 0
        """Steps that were replayed so far."""
        self._seen: Counter[Form] = Counter()
        self._recordings: dict[Form, _Recording] = {}
        self._pool: Any = None

    @property
    def recordings(self) -> int:
        return len(self._recordings)

    def __call__(self, batch: Batch, *, measured: bool = False) -> StepResult:
        if not self.records:
            return self._compute(batch, measured)
        recording = self._recordings.get(batch.form)
        if recording is None:
            self._seen[batch.form] += 1
            if self._seen[batch.form] <= SEEN_BEFORE or len(self._recordings) >= MOST_RECORDINGS:
                return self._compute(batch, measured)
            try:
                recording = self._record(batch)
            except Exception as error:  # noqa: BLE001  whatever a driver throws: training goes on without
                log.warning("steps cannot be recorded here: %s", str(error).splitlines()[:1])
                self.records = False
                self._clear()
                return self._compute(batch, measured)
            self._recordings[batch.form] = recording
        return self._replay(recording, batch)

    def _compute(self, batch: Batch, measured: bool) -> StepResult:
        self._clear()
        result: StepResult = self.module(batch, measured=measured)
        result.loss.backward()  # type: ignore[no-untyped-call]
        # Without its history: what accumulates gradients would otherwise outlive the step, tied to a stream.
        return StepResult(result.loss.detach(), result.parts)

    def _clear(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    def _record(self, batch: Batch) -> _Recording:
        if self._pool is None:
            self._pool = torch.cuda.graph_pool_handle()
        kept = batch.copy()
        # Once more on a stream of its own: nothing may be set up lazily while recording.
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self._compute(kept, measured=True)
            self._clear()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        # thread_local: the thread that copies batches goes on meanwhile.
        with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
            result = self._compute(kept, measured=True)
        return _Recording(graph, kept, result, [parameter.grad for parameter in self.parameters])

    def _replay(self, recording: _Recording, batch: Batch) -> StepResult:
        recording.batch.buffer.copy_(batch.buffer)
        recording.graph.replay()
        for parameter, gradient in zip(self.parameters, recording.gradients, strict=True):
            parameter.grad = gradient
        self.replays += 1
        return recording.result
