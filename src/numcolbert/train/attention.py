"""Attention over packed sequences, in two ways.

`varlen` is flash attention on the packed stream as it lies. `bucketed` pads groups of sequences of similar
length and runs the ordinary kernel: it works on every device and with MPNet's position bias.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from numcolbert.errors import UsageError
from numcolbert.train.layout import Layout, PaddedGroups, make_layout, pad_in_groups

log = logging.getLogger(__name__)

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
            out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            done.append(out.transpose(1, 2).flatten(0, 1))
        return groups.collect(torch.cat(done))


class VarlenAttention:
    def __init__(self) -> None:
        from torch.nn.attention.varlen import varlen_attn

        self._kernel: Any = varlen_attn

    def prepare(self, layout: Layout, bias: Tensor | None, dtype: torch.dtype) -> Layout:  # noqa: ARG002
        if bias is not None:
            raise UsageError("Flash attention takes no position bias.", hint="set run.attention = 'bucketed'")
        return layout

    def __call__(self, qkv: Tensor, layout: Layout, /) -> Tensor:
        starts, longest = layout.starts, layout.longest
        out: Tensor = self._kernel(*qkv.unbind(1), starts, starts, longest, longest)
        return out


def difference(made: Tensor, expected: Tensor) -> float:
    """As a share of the whole, and not of each entry."""
    apart = (made.detach().float() - expected.detach().float()).norm()
    return float(apart / expected.detach().float().norm())


def nearly_equal(made: Tensor, expected: Tensor) -> bool:
    """Equal up to what half precision loses."""
    return difference(made, expected) <= 0.05


def varlen_works(device: torch.device, dtype: torch.dtype, heads: int, head_dim: int) -> bool:
    """Try a small forward and backward, with an empty sequence in it, against the bucketed way."""
    if device.type != "cuda" or dtype not in (torch.bfloat16, torch.float16):
        return False
    try:
        lengths = np.array([5, 0, 17, 32, 10])
        layout = make_layout(lengths, longest=64, device=device)
        shape = (int(lengths.sum()), 3, heads, head_dim)
        qkv = torch.randn(shape, device=device, dtype=dtype).requires_grad_()
        results = []
        ways: tuple[Attention, ...] = (VarlenAttention(), BucketedAttention())
        for attention in ways:
            out = attention(qkv, attention.prepare(layout, None, dtype))
            (gradient,) = torch.autograd.grad(out.float().square().sum(), qkv)
            results.append((out.float(), gradient.float()))
        (out, gradient), (expected, expected_gradient) = results
        agree = nearly_equal(out, expected) and nearly_equal(gradient, expected_gradient)
    except Exception as error:  # noqa: BLE001  whatever a kernel throws means: use the other way
        log.info("variable-length attention is not available: %s", error)
        return False
    if not agree:
        log.warning("variable-length attention gives other results than the ordinary kernel; not used")
    return agree


def choose_attention(
    wanted: Literal["auto", "varlen", "bucketed"],
    *,
    device: torch.device,
    dtype: torch.dtype,
    heads: int,
    head_dim: int,
    biased: bool,
) -> Attention:
    if wanted == "bucketed":
        return BucketedAttention()
    if not biased and varlen_works(device, dtype, heads, head_dim):
        return VarlenAttention()
    if wanted == "varlen":
        raise UsageError(
            "Variable-length attention does not work on this machine or with this backbone.",
            hint="set run.attention = 'auto' or 'bucketed'",
        )
    return BucketedAttention()
