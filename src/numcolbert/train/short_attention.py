"""Attention for many short sequences that lie end to end, as two Triton kernels.

Flash attention works in tiles of 128 tokens, of which a query of 20 and a passage of 45 leave most empty;
here a tile has 64. A program computes one head of one sequence, and reads and writes queries, keys and values
where they lie, so that nothing is split or joined around it. What it computes is plain softmax attention, in
float32 but for the products.

Shapes: T tokens, H heads of size D; `starts` [sequences + 1] says where each begins and the last ends.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

TILE = 64
WARPS = 4


@triton.jit
def _rows_of(first, tile, length, TOKEN: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr):
    """Places and mask, [TILE, D], of one tile of a sequence, where tokens lie TOKEN numbers apart."""
    rows = tile + tl.arange(0, TILE)
    dims = tl.arange(0, D)
    return (first + rows)[:, None] * TOKEN + dims[None, :], (rows < length)[:, None] & (dims < D)[None, :]


@triton.jit
def _own(qkv, starts, H: tl.constexpr, D: tl.constexpr):
    """A program's head, where its sequence begins and how long it is, and its queries, keys and values."""
    sequence, head = tl.program_id(0), tl.program_id(1)
    first = tl.load(starts + sequence)
    length = tl.load(starts + sequence + 1) - first
    first = first.to(tl.int64)  # places count numbers, of which a stream that is ranked has many
    return head, first, length, qkv + head * D, qkv + (H + head) * D, qkv + (2 * H + head) * D


@triton.jit
def _column_side(
    key, value, first, column, length, H: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr
):  # fmt: skip
    """Keys and values of a tile of columns, where they lie, and which of them there are."""
    there, seen = _rows_of(first, column, length, 3 * H * D, D, TILE)
    k = tl.load(key + there, mask=seen, other=0.0)
    v = tl.load(value + there, mask=seen, other=0.0)
    return k, v, there, seen


@triton.jit
def _weights(q, k, scale, column, length, logsum, TILE: tl.constexpr):
    """The softmax again, [rows, columns], from the logs of its sums."""
    inside = (column + tl.arange(0, TILE))[None, :] < length
    return tl.where(inside, tl.exp(tl.dot(q, tl.trans(k)) * scale - logsum[:, None]), 0.0)


@triton.jit
def _forward(
    qkv, out, logsums, starts, scale, tokens,
    H: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    head, first, length, query, key, value = _own(qkv, starts, H, D)
    for tile in range(0, length, TILE):
        at, mask = _rows_of(first, tile, length, 3 * H * D, D, TILE)
        q = tl.load(query + at, mask=mask, other=0.0)
        top = tl.full([TILE], float("-inf"), tl.float32)
        total = tl.zeros([TILE], tl.float32)
        summed = tl.zeros([TILE, D], tl.float32)
        for column in range(0, length, TILE):
            k, v, _, _ = _column_side(key, value, first, column, length, H, D, TILE)
            inside = (column + tl.arange(0, TILE))[None, :] < length
            scores = tl.where(inside, tl.dot(q, tl.trans(k)) * scale, float("-inf"))
            higher = tl.maximum(top, tl.max(scores, 1))
            shares, shrunk = tl.exp(scores - higher[:, None]), tl.exp(top - higher)
            total = total * shrunk + tl.sum(shares, 1)
            summed = summed * shrunk[:, None] + tl.dot(shares.to(v.dtype), v)
            top = higher
        to, mask = _rows_of(first, tile, length, H * D, D, TILE)
        tl.store(out + head * D + to, (summed / total[:, None]).to(out.dtype.element_ty), mask=mask)
        rows = tile + tl.arange(0, TILE)
        tl.store(logsums + head * tokens + first + rows, top + tl.log(total), mask=rows < length)


@triton.jit
def _row_side(
    query, out, gradient, logsums, first, tile, length, head, tokens,
    H: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """What the backward pass needs of a tile of rows: q, the gradient of out, its product with out, logs."""
    at, mask = _rows_of(first, tile, length, 3 * H * D, D, TILE)
    to, _ = _rows_of(first, tile, length, H * D, D, TILE)
    rows = tile + tl.arange(0, TILE)
    q = tl.load(query + at, mask=mask, other=0.0)
    g = tl.load(gradient + head * D + to, mask=mask, other=0.0)
    made = tl.load(out + head * D + to, mask=mask, other=0.0)
    # Rows beyond the end: a sum so large that all their weights are 0.
    logsum = tl.load(logsums + head * tokens + first + rows, mask=rows < length, other=float("inf"))
    return q, g, tl.sum(g.to(tl.float32) * made.to(tl.float32), 1), logsum


@triton.jit
def _backward(
    qkv, out, logsums, starts, gradient, to_qkv, scale, tokens,
    H: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    head, first, length, query, key, value = _own(qkv, starts, H, D)
    # Keys and values: a tile of columns, over all rows.
    for column in range(0, length, TILE):
        k, v, there, seen = _column_side(key, value, first, column, length, H, D, TILE)
        to_k = tl.zeros([TILE, D], tl.float32)
        to_v = tl.zeros([TILE, D], tl.float32)
        for tile in range(0, length, TILE):
            q, g, inner, logsum = _row_side(
                query, out, gradient, logsums, first, tile, length, head, tokens, H, D, TILE
            )
            shares = _weights(q, k, scale, column, length, logsum, TILE)
            to_v += tl.dot(tl.trans(shares.to(g.dtype)), g)
            to_scores = (shares * (tl.dot(g, tl.trans(v)) - inner[:, None]) * scale).to(q.dtype)
            to_k += tl.dot(tl.trans(to_scores), q)
            if length <= TILE:
                tl.store(to_qkv + head * D + there, tl.dot(to_scores, k).to(q.dtype), mask=seen)
        tl.store(to_qkv + (H + head) * D + there, to_k.to(k.dtype), mask=seen)
        tl.store(to_qkv + (2 * H + head) * D + there, to_v.to(v.dtype), mask=seen)
    # Queries of longer sequences: a tile of rows, over all columns. The weights are computed once more, which
    # is cheaper than adding up in memory.
    for tile in range(0, tl.where(length > TILE, length, 0), TILE):
        q, g, inner, logsum = _row_side(
            query, out, gradient, logsums, first, tile, length, head, tokens, H, D, TILE
        )
        to_q = tl.zeros([TILE, D], tl.float32)
        for column in range(0, length, TILE):
            k, v, _, _ = _column_side(key, value, first, column, length, H, D, TILE)
            shares = _weights(q, k, scale, column, length, logsum, TILE)
            to_scores = (shares * (tl.dot(g, tl.trans(v)) - inner[:, None]) * scale).to(k.dtype)
            to_q += tl.dot(to_scores, k)
        at, mask = _rows_of(first, tile, length, 3 * H * D, D, TILE)
        tl.store(to_qkv + head * D + at, to_q.to(q.dtype), mask=mask)


class _ShortAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, qkv: Tensor, starts: Tensor) -> Tensor:
        qkv = qkv.contiguous()
        tokens, _, heads, dim = qkv.shape
        out = qkv.new_empty(tokens, heads, dim)
        logsums = torch.empty(heads, tokens, dtype=torch.float32, device=qkv.device)
        _forward[len(starts) - 1, heads](
            qkv, out, logsums, starts, dim**-0.5, tokens, H=heads, D=dim, TILE=TILE, num_warps=WARPS
        )
        ctx.save_for_backward(qkv, out, logsums, starts)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, None]:
        qkv, out, logsums, starts = ctx.saved_tensors
        tokens, _, heads, dim = qkv.shape
        to_qkv = torch.empty_like(qkv)
        _backward[len(starts) - 1, heads](
            qkv, out, logsums, starts, gradients[0].contiguous(), to_qkv, dim**-0.5, tokens,
            H=heads, D=dim, TILE=TILE, num_warps=WARPS,
        )  # fmt: skip
        return to_qkv, None


def short_attention(qkv: Tensor, starts: Tensor) -> Tensor:
    """[T, 3, H, D] to [T, H, D]; every token belongs to one sequence, and D is a power of two from 16 on."""
    out: Tensor = _ShortAttention.apply(qkv, starts)
    return out
