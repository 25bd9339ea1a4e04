"""Batches on the device, copied there while the step before still computes."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from numcolbert.train.attention import Layout, make_layout
from numcolbert.train.labels import Conditions, DocumentQuantities
from numcolbert.train.packed import PackedTokens
from numcolbert.train.transport import Block, from_block
from numcolbert.train.workers import Feed, FeedSettings

_DTYPES = {
    "<i4": torch.int32,
    "<i8": torch.int64,
    "<f8": torch.float64,
    "<f4": torch.float32,
    "|b1": torch.bool,
}


@dataclass(frozen=True)
class Batch:
    """One batch on the device. Documents: all positives, then all negatives."""

    tokens: PackedTokens
    queries: int
    query_width: int
    document_width: int
    query_tokens: int
    """Tokens of all queries together; they lie at the beginning of the stream."""
    real_tokens: int
    document_order: Tensor  # [2B], shortest first
    document_groups: tuple[tuple[int, int, int], ...]
    """(first, last + 1, longest) in that order."""
    word_mask: Tensor  # [B, Tq]
    conditions: Conditions
    quantities: DocumentQuantities
    document_key: Tensor  # [2B]
    ready: Any = None
    """A CUDA event after which the copy has arrived."""

    def wait(self) -> Batch:
        if self.ready is not None:
            stream = torch.cuda.current_stream()
            stream.wait_event(self.ready)
            # Tell the allocator that this stream uses them too; all but the buckets share one allocation.
            layout = self.tokens.layout
            for tensor in (self.tokens.ids, *(t for bucket in layout.buckets for t in bucket)):
                tensor.record_stream(stream)
            if layout.inverse is not None:
                layout.inverse.record_stream(stream)
                layout.starts.record_stream(stream)
        return self


def to_device(
    block: Block, device: torch.device, *, buckets: bool, longest: int, stream: Any = None
) -> Batch:
    """Copy a block in one piece and view its arrays there."""
    host = from_block(block)
    raw = torch.frombuffer(block.data, dtype=torch.uint8)
    ready = None
    if device.type == "cuda":
        with torch.cuda.stream(stream):
            pinned = torch.empty(raw.shape, dtype=torch.uint8, pin_memory=True)
            pinned.copy_(raw)
            moved = pinned.to(device, non_blocking=True)
            tensors = _views(block, moved)
            layout = _layout(host["starts"], tensors["starts"], buckets, longest, device)
            ready = torch.cuda.Event()  # type: ignore[no-untyped-call]
            ready.record(stream)
    else:
        tensors = _views(block, raw.to(device))
        layout = _layout(host["starts"], tensors["starts"], buckets, longest, device)
    count, longest_query, longest_document, in_queries, in_documents = (int(n) for n in host["sizes"])
    return Batch(
        tokens=PackedTokens(tensors["ids"], tensors["positions"], layout),
        queries=count,
        query_width=-(-longest_query // 8) * 8,
        document_width=-(-longest_document // 16) * 16,
        query_tokens=in_queries,
        real_tokens=in_queries + in_documents,
        document_order=tensors["document_order"],
        document_groups=tuple((int(a), int(b), int(width)) for a, b, width in host["document_groups"]),
        word_mask=tensors["word_mask"],
        conditions=Conditions(
            **{name: tensors[f"condition_{name}"] for name in Conditions.__dataclass_fields__}
        ),
        quantities=DocumentQuantities(
            **{name: tensors[f"quantity_{name}"] for name in DocumentQuantities.__dataclass_fields__}
        ),
        document_key=tensors["document_key"],
        ready=ready,
    )


def _views(block: Block, buffer: Tensor) -> dict[str, Tensor]:
    return {
        name: buffer[offset : offset + size].view(_DTYPES[dtype]).view(shape)
        for name, dtype, shape, offset, size in block.entries
    }


def _layout(
    starts: np.ndarray[Any, np.dtype[Any]],
    on_device: Tensor,
    buckets: bool,
    longest: int,
    device: torch.device,
) -> Layout:
    if not buckets:
        return Layout(on_device, longest)
    return make_layout(np.diff(starts).astype(np.int64), buckets=True, longest=longest, device=device)


class BatchStream:
    """Batches in order, a few of them ready on the device ahead of time."""

    def __init__(
        self, settings: FeedSettings, device: torch.device, *, buckets: bool, ahead: int = 3
    ) -> None:
        self._feed = Feed(settings)
        self._device, self._buckets = device, buckets
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
        block = next(self._feed)
        return to_device(
            block, self._device, buckets=self._buckets, longest=self._longest, stream=self._copies
        )

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
