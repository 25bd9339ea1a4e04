"""Batches on the device, copied there while the step before still computes."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from numcolbert.train.labels import Conditions, DocumentQuantities, candidates, known_answers
from numcolbert.train.layout import Layout
from numcolbert.train.packed import PackedTokens
from numcolbert.train.tape import open_feed
from numcolbert.train.transport import Block, Entry, from_block
from numcolbert.train.workers import FeedSettings

_DTYPES = {
    "<i4": torch.int32,
    "<i8": torch.int64,
    "<f8": torch.float64,
    "<f4": torch.float32,
    "|b1": torch.bool,
}


@dataclass(frozen=True)
class Form:
    """What shapes a batch's arrays have: batches of one form go through the very same kernels."""

    entries: tuple[Entry, ...]
    queries: int
    query_width: int
    document_width: int
    query_tokens: int
    """At least as many as all queries have together; they lie at the beginning of the stream."""
    document_groups: tuple[tuple[int, int, int], ...]
    """(first, last + 1, longest) in the order of length."""
    longest: int


@dataclass(frozen=True)
class Batch:
    """One batch on the device. Documents: all positives, then all negatives."""

    form: Form
    buffer: Tensor
    """The bytes that all tensors are views of: other bytes of the same form make another batch."""
    tokens: PackedTokens
    real_tokens: int
    word_mask: Tensor  # [B, Tq]
    conditions: Conditions
    quantities: DocumentQuantities
    document_key: Tensor  # [2B]
    arrays: dict[str, Tensor]
    """All there is, by the names that the maker of the batch gave."""
    ready: Any = None
    """A CUDA event after which the copy has arrived."""

    @property
    def queries(self) -> int:
        return self.form.queries

    @property
    def document_order(self) -> Tensor:
        """[2B], shortest first."""
        return self.tokens.layout.document_order

    def rivals(self) -> Tensor:
        """[B, 2B] bool: the documents that are not known to be right as well, and each query's own."""
        target = torch.arange(self.queries, device=self.document_key.device)
        answers = known_answers(self.conditions, self.quantities, self.queries)
        return candidates(answers, target, self.document_key)

    def copy(self) -> Batch:
        """The same batch in memory of its own."""
        return _assemble(self.form, self.buffer.clone(), self.real_tokens)

    def wait(self) -> Batch:
        if self.ready is not None:
            stream = torch.cuda.current_stream()
            stream.wait_event(self.ready)
            self.buffer.record_stream(stream)  # tells the allocator that this stream uses it too
        return self


def to_device(block: Block, device: torch.device, *, longest: int, stream: Any = None) -> Batch:
    """Copy a block in one piece and view its arrays there."""
    host = from_block(block)
    count, query_width, document_width, query_tokens, real_tokens = (int(n) for n in host["sizes"])
    form = Form(
        entries=block.entries,
        queries=count,
        query_width=query_width,
        document_width=document_width,
        query_tokens=query_tokens,
        document_groups=tuple((int(a), int(b), int(width)) for a, b, width in host["document_groups"]),
        longest=longest,
    )
    raw = torch.frombuffer(block.data, dtype=torch.uint8)
    if device.type != "cuda":
        return _assemble(form, raw.to(device), real_tokens)
    with torch.cuda.stream(stream):
        pinned = torch.empty(raw.shape, dtype=torch.uint8, pin_memory=True)
        pinned.copy_(raw)
        moved = pinned.to(device, non_blocking=True)
        ready = torch.cuda.Event()  # type: ignore[no-untyped-call]
        ready.record(stream)
        return _assemble(form, moved, real_tokens, ready)


def _assemble(form: Form, buffer: Tensor, real_tokens: int, ready: Any = None) -> Batch:
    tensors = _views(form.entries, buffer)
    layout = Layout(
        tokens=len(tensors["ids"]),
        starts=tensors["starts"],
        longest=form.longest,
        document_order=tensors["document_order"],
        document_groups=form.document_groups,
        queries=form.queries,
        query_width=form.query_width,
    )
    return Batch(
        form=form,
        buffer=buffer,
        tokens=PackedTokens(tensors["ids"], tensors["positions"], layout),
        real_tokens=real_tokens,
        word_mask=tensors["word_mask"],
        conditions=Conditions(
            **{name: tensors[f"condition_{name}"] for name in Conditions.__dataclass_fields__}
        ),
        quantities=DocumentQuantities(
            **{name: tensors[f"quantity_{name}"] for name in DocumentQuantities.__dataclass_fields__}
        ),
        document_key=tensors["document_key"],
        arrays=tensors,
        ready=ready,
    )


def _views(entries: tuple[Entry, ...], buffer: Tensor) -> dict[str, Tensor]:
    return {
        name: buffer[offset : offset + size].view(_DTYPES[dtype]).view(shape)
        for name, dtype, shape, offset, size in entries
    }


class BatchStream:
    """Batches in order, a few of them ready on the device ahead of time."""

    def __init__(self, settings: FeedSettings, device: torch.device, *, ahead: int = 3) -> None:
        self._feed = open_feed(settings)
        self._device = device
        self._longest = max(settings.text.query_length, settings.text.document_length)
        self._ready: queue.Queue[Batch | BaseException] = queue.Queue(ahead)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._copies: Any = None
        if device.type == "cuda":
            self._copies = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
            self._thread = threading.Thread(target=self._run, daemon=True, name="batches")
            self._thread.start()

    def _make(self) -> Batch:
        return to_device(next(self._feed), self._device, longest=self._longest, stream=self._copies)

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self._put(self._make())
        except BaseException as error:  # noqa: BLE001  raised again in the training loop
            self._put(error)

    def _put(self, item: Batch | BaseException) -> None:
        while not self._stop.is_set():
            try:
                self._ready.put(item, timeout=0.2)
                return
            except queue.Full:
                continue

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        if self._thread is None:
            return self._make()
        item = self._ready.get()
        if isinstance(item, BaseException):
            raise item
        return item.wait()

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=10)
        self._feed.close()

    def __enter__(self) -> BatchStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
