"""Attention over packed sequences, in three ways.

`short` and `varlen` work on the packed stream as it lies, with a kernel of our own for short sequences and
with flash attention. `bucketed` pads groups of sequences of similar length and runs the ordinary kernel: it
works on every device and with MPNet's position bias.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from numcolbert.errors import UsageError
from numcolbert.train.kernel_check import has_kernels, kernel_works, nearly_equal
from numcolbert.train.layout import Layout, PaddedGroups, make_layout, pad_in_groups

PADDING = -1e4
"""Added to the scores of padded keys, whose weight is then 0."""


class Attention(Protocol):
    def prepare(self, layout: Layout, bias: Tensor | None, dtype: torch.dtype) -> Any:
        """What all layers share, made once; `bias` is [heads, widest, widest] by distance."""
        ...

    def __call__(self, qkv: Tensor, prepared: Any, /) -> Tensor:
        """[tokens, 3, heads, head_dim] to [tokens, heads, head_dim]."""
        ...


@dataclass(frozen=True)
class _Prepared:
    groups: PaddedGroups
    masks: tuple[Tensor, ...]
    """Added to the scores of each group: [sequences, 1, 1, width], or [sequences, heads, width, width]."""


class BucketedAttention:
    def prepare(self, layout: Layout, bias: Tensor | None, dtype: torch.dtype) -> _Prepared:
        groups = pad_in_groups(layout)
        padding = torch.where(groups.real, 0.0, PADDING).to(dtype)
        masks = []
        for part, (count, width) in zip(padding.split_with_sizes(groups.sizes), groups.shapes, strict=True):
            mask = part.view(count, 1, 1, width)
            # An empty sequence attends to what lies in its first place: kernels do not agree on what the
            # softmax of nothing is, and some make it (or its gradient) not a number.
            mask[..., 0].zero_()
            masks.append(mask if bias is None else mask + bias[:, :width, :width].to(dtype))
        return _Prepared(groups, tuple(masks))

    def __call__(self, qkv: Tensor, prepared: _Prepared, /) -> Tensor:
        groups = prepared.groups
        # All three are gathered at once, and split rather than sliced: its gradient is a single copy.
        parts = groups.spread(qkv).split_with_sizes(groups.sizes)
        done = []
        for part, (count, width), mask in zip(parts, groups.shapes, prepared.masks, strict=True):
            # [sequences, heads, width, head_dim] each
            q, k, v = (x.transpose(1, 2) for x in part.view(count, width, *qkv.shape[1:]).unbind(2))
            out = _attend(q, k, v, mask)
            done.append(out.transpose(1, 2).flatten(0, 1))
        return groups.collect(torch.cat(done))


def _attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """[sequences, heads, width, head_dim] each, and what is added to the scores.

    The kernel for processors takes three times as long for gradients in half precision as the products it
    stands for, so these are written out there.
    """
    written_out = q.device.type == "cpu" and q.dtype == torch.bfloat16 and q.requires_grad
    if not written_out:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    scores = (q.contiguous() * q.shape[-1] ** -0.5) @ k.contiguous().transpose(-1, -2)
    return torch.softmax(scores + mask, dim=-1) @ v.contiguous()


class _StreamAttention:
    """On the stream as it lies; knows no position bias."""

    def prepare(self, layout: Layout, bias: Tensor | None, dtype: torch.dtype) -> Layout:  # noqa: ARG002
        if bias is not None:
            raise UsageError(
                "Attention on packed streams takes no position bias.", hint="set run.attention = 'bucketed'"
            )
        return layout


class ShortAttention(_StreamAttention):
    def __init__(self) -> None:
        from numcolbert.train.short_attention import short_attention

        self._kernel = short_attention

    def __call__(self, qkv: Tensor, layout: Layout, /) -> Tensor:
        return self._kernel(qkv, layout.starts)


class VarlenAttention(_StreamAttention):
    def __init__(self) -> None:
        from torch.nn.attention.varlen import varlen_attn

        self._kernel: Any = varlen_attn

    def __call__(self, qkv: Tensor, layout: Layout, /) -> Tensor:
        starts, longest = layout.starts, layout.longest
        out: Tensor = self._kernel(*qkv.unbind(1), starts, starts, longest, longest)
        return out


ON_STREAMS: dict[str, Callable[[], Attention]] = {"short": ShortAttention, "varlen": VarlenAttention}
"""Fastest first."""


def works(
    make: Callable[[], Attention], device: torch.device, dtype: torch.dtype, heads: int, head_dim: int
) -> bool:
    """Try a small forward and backward, with an empty sequence in it, against the bucketed way."""
    name = getattr(make, "__name__", "attention")
    return has_kernels(device, dtype) and kernel_works(
        name, lambda: agrees(make(), device, dtype, heads, head_dim)
    )


def agrees(attention: Attention, device: torch.device, dtype: torch.dtype, heads: int, head_dim: int) -> bool:
    """Whether results and gradients are those of the bucketed way."""
    lengths = np.array([5, 0, 17, 96, 10])
    layout = make_layout(lengths, longest=128, device=device)
    shape = (int(lengths.sum()), 3, heads, head_dim)
    qkv = torch.randn(shape, device=device, dtype=dtype).requires_grad_()
    results = []
    for way in (attention, BucketedAttention()):
        out = way(qkv, way.prepare(layout, None, dtype))
        (gradient,) = torch.autograd.grad(out.float().square().sum(), qkv)
        results.append((out, gradient))
    return all(nearly_equal(ours, theirs) for ours, theirs in zip(*results, strict=True))


def choose_attention(
    wanted: Literal["auto", "short", "varlen", "bucketed"],
    *,
    device: torch.device,
    dtype: torch.dtype,
    heads: int,
    head_dim: int,
    biased: bool,
) -> Attention:
    if not biased and wanted != "bucketed":
        for name, make in ON_STREAMS.items():
            if wanted in ("auto", name) and works(make, device, dtype, heads, head_dim):
                return make()
    if wanted in ON_STREAMS:
        raise UsageError(
            f"Attention '{wanted}' does not work on this machine or with this backbone.",
            hint="set run.attention = 'auto' or 'bucketed'",
        )
    return BucketedAttention()
