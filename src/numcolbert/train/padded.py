"""Texts of a batch as rows, cut out of its stream of tokens, and results in the order of the triples again.

Shapes follow from the batch's form alone and nothing asks the device for a value: a step can be recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from numcolbert.train.batches import Batch
from numcolbert.train.packed import PackedTokens


@dataclass(frozen=True)
class Rows:
    places: Tensor  # [texts, width], where each token lies in the stream; padding points at what follows
    mask: Tensor  # [texts, width] bool, true for the text's own tokens

    def of(self, stream: Tensor) -> Tensor:
        """The entries of a stream, [tokens, ...], at these places: [texts, width, ...]."""
        # index_select, because its backward adds in place where plain indexing would sort first.
        flat = self.places.clamp(max=len(stream) - 1).reshape(-1)
        return stream.index_select(0, flat).view(*self.places.shape, *stream.shape[1:])


def query_rows(batch: Batch) -> Rows:
    return rows_between(*_ends(batch, slice(0, batch.queries)), batch.form.query_width)


def document_rows(batch: Batch) -> Rows:
    """All documents, as wide as the longest."""
    return rows_between(*_ends(batch, slice(batch.queries, 3 * batch.queries)), batch.form.document_width)


def document_groups(batch: Batch) -> list[Rows]:
    """Documents in the order of length, group by group: with little padding."""
    return [
        rows_between(*_ends(batch, batch.queries + batch.document_order[first:last]), width)
        for first, last, width in batch.form.document_groups
    ]


def all_rows(tokens: PackedTokens) -> Rows:
    """All texts of a stream without filling, as wide as the longest."""
    starts = tokens.layout.starts.long()
    return rows_between(starts[:-1], starts[1:], tokens.layout.longest)


def in_order(parts: Sequence[Tensor], batch: Batch, dim: int = 0) -> Tensor:
    """What was computed for each of `document_groups`, in the order of the triples."""
    return torch.cat(list(parts), dim=dim).index_select(dim, torch.argsort(batch.document_order))


def _ends(batch: Batch, texts: slice | Tensor) -> tuple[Tensor, Tensor]:
    """First token, and last + 1, of some texts."""
    starts = batch.tokens.layout.starts.long()
    return starts[:-1][texts], starts[1:][texts]


def rows_between(begin: Tensor, end: Tensor, width: int) -> Rows:
    """Texts from token `begin` to before `end`, none longer than `width`."""
    places = begin[:, None] + torch.arange(width, device=begin.device)
    return Rows(places, places < end[:, None])
