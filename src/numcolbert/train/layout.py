"""Where the sequences of a packed stream lie, and how they are padded in groups of similar length.

All shapes follow from sizes known before the batch arrives, and all indices are computed on the device: so a
step that pads can be recorded once and replayed for every batch of the same form.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from numcolbert.train.packing import group_by_length


@dataclass(frozen=True)
class Layout:
    """A stream of queries, then documents, then filling; every token belongs to exactly one sequence."""

    tokens: int
    starts: Tensor  # [sequences + 1] int32
    longest: int
    document_order: Tensor  # [documents], shortest first
    document_groups: tuple[tuple[int, int, int], ...]
    """(first, last + 1, width) in that order; no document is longer than its width."""
    queries: int = 0
    query_width: int = 0

    @property
    def widest(self) -> int:
        return max(self.query_width, *(width for _, _, width in self.document_groups))


def make_layout(lengths: NDArray[np.int64], *, longest: int | None = None, device: Any = "cpu") -> Layout:
    """The layout of documents alone."""
    starts = np.concatenate([[0], np.cumsum(lengths)])
    arrays = group_by_length(lengths.tolist())
    return Layout(
        tokens=int(starts[-1]),
        starts=torch.from_numpy(starts.astype(np.int32)).to(device),
        longest=longest or int(lengths.max(initial=1)),
        document_order=torch.from_numpy(arrays["document_order"]).to(device),
        document_groups=tuple((int(a), int(b), int(width)) for a, b, width in arrays["document_groups"]),
    )


@dataclass(frozen=True)
class PaddedGroups:
    """Groups of padded sequences, all their places counted through from the first group to the last."""

    shapes: tuple[tuple[int, int], ...]
    """(sequences, width) of each group."""
    rows: Tensor  # [places], the token that lies there; any token where `real` is false
    real: Tensor  # [places] bool
    places: Tensor  # [tokens], where each token lies

    @property
    def sizes(self) -> list[int]:
        return [count * width for count, width in self.shapes]

    def spread(self, stream: Tensor) -> Tensor:
        """Tokens to their places. What comes back to padding is taken for zero, as attention leaves it."""
        spread: Tensor = _Spread.apply(stream, self.rows, self.places)  # type: ignore[no-untyped-call]
        return spread

    def collect(self, padded: Tensor) -> Tensor:
        """Tokens from their places."""
        collected: Tensor = _Collect.apply(padded, self.rows, self.real, self.places)  # type: ignore[no-untyped-call]
        return collected


def pad_in_groups(layout: Layout) -> PaddedGroups:
    starts = layout.starts.long()
    rows, real, shapes = [], [], []
    for begin, end, width in _groups(layout, starts):
        row = begin[:, None] + torch.arange(width, device=starts.device)
        rows.append(row.reshape(-1))
        real.append((row < end[:, None]).reshape(-1))
        shapes.append((len(begin), width))
    row, is_real = torch.cat(rows), torch.cat(real)
    # Padding is written to one place more than there are tokens, which is then cut off.
    places = torch.zeros(layout.tokens + 1, dtype=torch.int64, device=starts.device)
    places.scatter_(0, torch.where(is_real, row, layout.tokens), torch.arange(len(row), device=row.device))
    return PaddedGroups(tuple(shapes), row.clamp(max=layout.tokens - 1), is_real, places[:-1])


def _groups(layout: Layout, starts: Tensor) -> list[tuple[Tensor, Tensor, int]]:
    """First token and last + 1 of each sequence, and the width, group by group."""
    # What has the same width is one group: fewer kernels to start.
    by_width: defaultdict[int, list[tuple[Tensor, Tensor]]] = defaultdict(list)
    documents = layout.queries + len(layout.document_order)
    if layout.queries:
        width = layout.query_width
        by_width[width].append((starts[: layout.queries], starts[1 : layout.queries + 1]))
        # Nobody reads what comes of the filling: cut as wide as queries, it needs no group of its own.
        pieces = -(-(len(starts) - 1 - documents) * layout.longest // width)
        cut = starts[documents] + width * torch.arange(pieces + 1, device=starts.device)
        cut = cut.clamp(max=layout.tokens)
        by_width[width].append((cut[:-1], cut[1:]))
    for first, last, width in layout.document_groups:
        chosen = layout.queries + layout.document_order[first:last]
        by_width[width].append((starts.index_select(0, chosen), starts.index_select(0, chosen + 1)))
    return [
        (torch.cat([begin for begin, _ in parts]), torch.cat([end for _, end in parts]), width)
        for width, parts in by_width.items()
    ]


class _Spread(torch.autograd.Function):
    """A gather in both directions: every token has one place, so no gradients are added up."""

    @staticmethod
    def forward(ctx: Any, stream: Tensor, rows: Tensor, places: Tensor) -> Tensor:
        ctx.save_for_backward(places)
        return stream.index_select(0, rows)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, None, None]:
        (places,) = ctx.saved_tensors
        return gradients[0].index_select(0, places), None, None


class _Collect(torch.autograd.Function):
    """Likewise; padding was not collected, so its gradient is zero."""

    @staticmethod
    def forward(ctx: Any, padded: Tensor, rows: Tensor, real: Tensor, places: Tensor) -> Tensor:
        ctx.save_for_backward(rows, real)
        return padded.index_select(0, places)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, None, None, None]:
        rows, real = ctx.saved_tensors
        gradient = gradients[0].index_select(0, rows)
        padding = ~real.view(-1, *[1] * (gradient.ndim - 1))
        return gradient.masked_fill_(padding, 0.0), None, None, None
