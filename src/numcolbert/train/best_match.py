"""The best match of each query token in each document, as one Triton kernel.

A matrix product would write every similarity to memory, and the maximum read it again; here a program keeps a
tile of query tokens, goes through some documents, and writes one maximum and its place for each of them.

Shapes: R query tokens, N documents of at most T tokens, vectors of size D.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

ROWS, TOKENS, DOCUMENTS = 128, 32, 8
"""Query tokens and documents of a program, and how many tokens of a document it compares at once."""
WARPS = 4


@triton.jit
def _best_match(
    queries, documents, counted, best, winner, rows, count, width,
    D: tl.constexpr, ROWS: tl.constexpr, TOKENS: tl.constexpr, DOCUMENTS: tl.constexpr,
):  # fmt: skip
    own = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    dims = tl.arange(0, D)
    q = tl.load(queries + own[:, None] * D + dims[None, :], mask=(own < rows)[:, None], other=0.0)
    first = tl.program_id(1) * DOCUMENTS
    for document in range(first, tl.minimum(first + DOCUMENTS, count)):
        top = tl.full([ROWS], float("-inf"), tl.float32)
        place = tl.zeros([ROWS], tl.int32)
        for start in range(0, width, TOKENS):
            token = start + tl.arange(0, TOKENS)
            at = (document * width + token).to(tl.int64)
            there = token < width
            d = tl.load(documents + at[:, None] * D + dims[None, :], mask=there[:, None], other=0.0)
            counts = tl.load(counted + at, mask=there, other=0) != 0
            similarity = tl.where(counts[None, :], tl.dot(q, tl.trans(d)), -1e4)
            highest, index = tl.max(similarity, 1, return_indices=True)
            place = tl.where(highest > top, start + index, place)
            top = tl.maximum(highest, top)
        to = own.to(tl.int64) * count + document
        tl.store(best + to, top, mask=own < rows)
        tl.store(winner + to, place, mask=own < rows)


def best_match(queries: Tensor, documents: Tensor, counted: Tensor) -> tuple[Tensor, Tensor]:
    """`max_j q_i . d_nj` over the tokens that count, and the first j that has it: [R, N] float32 and int32.

    | input | shape | |
    |---|---|---|
    | `queries` | [R, D] | D is a power of two from 16 on |
    | `documents` | [N, T, D] | |
    | `counted` | [N, T] bool | at least one a document |
    """
    (rows, dim), (count, width, _) = queries.shape, documents.shape
    best = torch.empty(rows, count, dtype=torch.float32, device=queries.device)
    winner = torch.empty(rows, count, dtype=torch.int32, device=queries.device)
    grid = (triton.cdiv(rows, ROWS), triton.cdiv(count, DOCUMENTS))
    _best_match[grid](
        queries.contiguous(), documents.contiguous(), counted.contiguous().view(torch.int8), best, winner,
        rows, count, width, D=dim, ROWS=ROWS, TOKENS=TOKENS, DOCUMENTS=DOCUMENTS, num_warps=WARPS,
    )  # fmt: skip
    return best, winner
