"""Attention over packed sequences, in two ways.

`varlen` is flash attention on the packed stream as it lies. `bucketed` sorts the sequences by length, pads
a few groups of them and runs the ordinary kernel: it works on every device and with MPNet's position bias.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from numcolbert.errors import UsageError

log = logging.getLogger(__name__)

MULTIPLE = 16
"""Groups are padded to a multiple of this many tokens; the kernels want 8 or 16."""


@dataclass(frozen=True)
class Layout:
    """Where each sequence of a packed stream lies. Every token belongs to exactly one sequence."""

    starts: Tensor  # [sequences + 1] int32
    longest: int
    buckets: tuple[tuple[Tensor, Tensor], ...] = ()
    """(token positions, which of them are real), each [sequences, length]; only for `bucketed`."""
    inverse: Tensor | None = None
    """[tokens]: where each token lies among the flattened buckets."""


def bucket_arrays(
    lengths: NDArray[np.int64], groups: int = 4
) -> tuple[list[tuple[NDArray[np.int64], NDArray[np.bool_]]], NDArray[np.int64]]:
    """Cut sequences, sorted by length, into groups of about equal numbers of tokens."""
    starts = np.concatenate([[0], np.cumsum(lengths)])
    present = np.flatnonzero(lengths > 0)
    order = present[np.argsort(lengths[present], kind="stable")]
    padded = -(-lengths[order] // MULTIPLE) * MULTIPLE
    share = np.cumsum(padded) * groups // max(int(padded.sum()) + 1, 1)
    # Sequences of the same padded length stay together: splitting them would only add a launch.
    same = np.concatenate([[False], padded[1:] == padded[:-1]])
    share = np.maximum.accumulate(np.where(same, -1, share))
    inverse = np.empty(int(starts[-1]), np.int64)
    buckets, offset = [], 0
    for rows in np.split(order, np.flatnonzero(np.diff(share)) + 1):
        if not len(rows):
            continue
        width = int(-(-lengths[rows[-1]] // MULTIPLE) * MULTIPLE)
        place = np.arange(width)
        real = place[None, :] < lengths[rows][:, None]
        index = np.where(real, starts[rows][:, None] + place[None, :], starts[rows][:, None])
        inverse[index[real]] = offset + np.flatnonzero(real)
        buckets.append((index, real))
        offset += index.size
    return buckets, inverse


def make_layout(
    lengths: NDArray[np.int64], *, buckets: bool, longest: int | None = None, device: Any = "cpu"
) -> Layout:
    starts = torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)).to(device)
    longest = longest or int(lengths.max(initial=1))
    if not buckets:
        return Layout(starts, longest)
    groups, inverse = bucket_arrays(lengths)
    return Layout(
        starts,
        longest,
        tuple(
            (torch.from_numpy(index).to(device), torch.from_numpy(real).to(device)) for index, real in groups
        ),
        torch.from_numpy(inverse).to(device),
    )


Masks = tuple[Tensor, ...]


class Attention(Protocol):
    needs_buckets: bool

    def masks(self, layout: Layout, bias: Tensor | None, dtype: torch.dtype) -> Masks:
        """What all layers share, made once; `bias` is [heads, longest, longest] by distance."""
        ...

    def __call__(self, query: Tensor, key: Tensor, value: Tensor, layout: Layout, masks: Masks, /) -> Tensor:
        """[tokens, heads, head_dim] each, in and out."""
        ...


class BucketedAttention:
    needs_buckets = True

    def masks(self, layout: Layout, bias: Tensor | None, dtype: torch.dtype) -> Masks:
        """One a bucket: [count, 1, 1, length] bool, with a bias [count, heads, length, length]."""
        kept = [real[:, None, None, :] for _, real in layout.buckets]
        if bias is None:
            return tuple(kept)
        least = torch.finfo(dtype).min
        corners = [bias[:, : real.shape[1], : real.shape[1]].to(dtype) for _, real in layout.buckets]
        return tuple(torch.where(real, corner, least) for real, corner in zip(kept, corners, strict=True))

    def __call__(self, query: Tensor, key: Tensor, value: Tensor, layout: Layout, masks: Masks, /) -> Tensor:
        heads, width = query.shape[1:]
        done = []
        for (index, _), mask in zip(layout.buckets, masks, strict=True):
            count, length = index.shape
            flat = index.reshape(-1)
            q, k, v = (
                part.index_select(0, flat).view(count, length, heads, width).transpose(1, 2)
                for part in (query, key, value)
            )  # [count, heads, length, width]
            out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            done.append(out.transpose(1, 2).reshape(count * length, heads, width))
        if layout.inverse is None:
            raise UsageError("The batch was packed without buckets.", hint="pack it with buckets=True")
        return torch.cat(done).index_select(0, layout.inverse)


class VarlenAttention:
    needs_buckets = False

    def __init__(self) -> None:
        from torch.nn.attention.varlen import varlen_attn

        self._kernel: Any = varlen_attn

    def masks(self, layout: Layout, bias: Tensor | None, dtype: torch.dtype) -> Masks:  # noqa: ARG002
        if bias is not None:
            raise UsageError("Flash attention takes no position bias.", hint="set run.attention = 'bucketed'")
        return ()

    def __call__(self, query: Tensor, key: Tensor, value: Tensor, layout: Layout, _masks: Masks, /) -> Tensor:
        starts, longest = layout.starts, layout.longest
        out: Tensor = self._kernel(query, key, value, starts, starts, longest, longest)
        return out


def nearly_equal(made: Tensor, expected: Tensor) -> bool:
    """Equal up to what half precision loses, which is a share of the whole and not of each entry."""
    return bool((made.float() - expected.float()).norm() <= 0.05 * expected.float().norm())


def varlen_works(device: torch.device, dtype: torch.dtype, heads: int, head_dim: int) -> bool:
    """Try a small forward and backward, with an empty sequence in it, against the bucketed way."""
    if device.type != "cuda" or dtype not in (torch.bfloat16, torch.float16):
        return False
    try:
        lengths = np.array([5, 0, 17, 32, 10])
        layout = make_layout(lengths, buckets=True, longest=64, device=device)
        shape = (3, int(lengths.sum()), heads, head_dim)
        parts = torch.randn(shape, device=device, dtype=dtype).requires_grad_()
        results = []
        for attention in (VarlenAttention(), BucketedAttention()):
            masks = attention.masks(layout, None, dtype)
            out = attention(parts[0], parts[1], parts[2], layout, masks)
            (gradient,) = torch.autograd.grad(out.float().square().sum(), parts)
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
