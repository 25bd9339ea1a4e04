"""MaxSim for training: differentiable, and never more than a chunk of the token matrix in memory.

The naive `max_j q_i . d_j` keeps the whole token-by-token matrix for the backward pass. Here the forward pass
walks over chunks of query tokens and keeps only which document token won; the backward pass writes the
gradient at those places into a chunk of zeros and multiplies, so both directions are matrix products. On a
GPU the forward pass is a kernel that keeps no token matrix at all (`best_match.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor

from numcolbert.train.kernel_check import has_kernels, kernel_works, nearly_equal

Matches = tuple[Tensor, Tensor]
"""The best match of each query token in each document, float32, and which token it is, int32."""

CHUNK_ELEMENTS = 1 << 28
"""Entries of the token matrix held at once: 512 MB in bfloat16."""


def maxsim(
    queries: Tensor,
    documents: Tensor,
    query_mask: Tensor,
    document_mask: Tensor,
    *,
    chunk_elements: int = CHUNK_ELEMENTS,
) -> Tensor:
    """`S[b, n] = sum_i max_j q_bi . d_nj`, over the tokens the masks keep.

    | input | shape | |
    |---|---|---|
    | `queries` | [B, Tq, dim] | vectors, gated or not |
    | `documents` | [N, Td, dim] | unit vectors |
    | `query_mask` | [B, Tq] | true where a token counts |
    | `document_mask` | [N, Td] | true where a token counts; at least one a document |

    The products are computed in the dtype of `queries` (bfloat16 under autocast), the sum in float32.
    Returns [B, N], float32.
    """
    best = best_tokens(queries, documents, document_mask, chunk_elements=chunk_elements)
    return (best * query_mask.unsqueeze(-1)).sum(dim=1)  # not einsum: autocast would sum in half precision


def best_tokens(
    queries: Tensor, documents: Tensor, document_mask: Tensor, *, chunk_elements: int = CHUNK_ELEMENTS
) -> Tensor:
    """`max_j q_bi . d_nj` for every query token, [B, Tq, N] in float32; shapes as for `maxsim`."""
    if torch.is_autocast_enabled(queries.device.type):
        queries = queries.to(torch.get_autocast_dtype(queries.device.type))
    documents = documents.to(queries.dtype)
    best: Tensor = _BestTokens.apply(queries, documents, document_mask, chunk_elements)  # type: ignore[no-untyped-call]
    return best


class _BestTokens(torch.autograd.Function):
    """`best[b, i, n] = max_j q_bi . d_nj`, [B, Tq, N] in float32."""

    @staticmethod
    def forward(
        ctx: Any, queries: Tensor, documents: Tensor, document_mask: Tensor, chunk_elements: int
    ) -> Tensor:
        batch, query_tokens, dim = queries.shape
        rows = queries.flatten(0, 1)
        kernel = match_kernel(queries.device, queries.dtype, dim)
        if kernel is None:
            best, winner = in_chunks(rows, documents, document_mask, chunk_elements)
        else:
            best, winner = kernel(rows, documents, document_mask)
        ctx.save_for_backward(queries, documents, winner)
        ctx.chunk_elements = chunk_elements
        return best.view(batch, query_tokens, len(documents))

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, Tensor, None, None]:
        (gradient,) = gradients
        queries, documents, winner = ctx.saved_tensors
        count, document_tokens, dim = documents.shape
        rows, columns = queries.flatten(0, 1), documents.flatten(0, 1)  # [B * Tq, dim], [N * Td, dim]
        gradient = gradient.flatten(0, 1).to(queries.dtype)  # [B * Tq, N]
        to_queries = torch.empty_like(rows)
        to_documents = torch.zeros(columns.shape, dtype=torch.float32, device=columns.device)
        for part in _chunks(len(rows), count * document_tokens, ctx.chunk_elements):
            taken = gradient.new_zeros(len(gradient[part]), count, document_tokens)
            taken.scatter_(2, winner[part].long().unsqueeze(-1), gradient[part].unsqueeze(-1))
            taken = taken.flatten(1)  # [rows, N * Td], one entry a document
            to_queries[part] = taken @ columns
            to_documents += taken.T @ rows[part]
        return (
            to_queries.view(queries.shape),
            to_documents.to(documents.dtype).view(count, document_tokens, dim),
            None,
            None,
        )


def in_chunks(queries: Tensor, documents: Tensor, document_mask: Tensor, chunk_elements: int) -> Matches:
    """The best matches of `queries` [R, dim], both [R, N], from matrix products."""
    count, document_tokens, _ = documents.shape
    bias = torch.zeros_like(document_mask, dtype=documents.dtype).masked_fill(~document_mask.bool(), -1e4)
    columns = _append(documents, bias).flatten(0, 1).T  # [dim + 8, N * Td]
    rows = _append(queries, torch.ones_like(queries[..., 0]))  # [R, dim + 8]
    best = torch.empty(len(rows), count, dtype=torch.float32, device=queries.device)
    winner = torch.empty(len(rows), count, dtype=torch.int32, device=queries.device)
    for part in _chunks(len(rows), count * document_tokens, chunk_elements):
        similarity = (rows[part] @ columns).view(-1, count, document_tokens)
        value, index = similarity.max(dim=-1)
        best[part] = value.float()
        winner[part] = index.int()
    return best, winner


@cache
def match_kernel(device: torch.device, dtype: torch.dtype, dim: int) -> Callable[..., Matches] | None:
    """The kernel that does the same in one pass, where it works; tried once."""
    if not has_kernels(device, dtype):
        return None

    def agrees() -> bool:
        from numcolbert.train.best_match import best_match

        queries = torch.randn(150, dim, device=device, dtype=dtype)
        documents = torch.randn(11, 48, dim, device=device, dtype=dtype)
        counted = torch.rand(11, 48, device=device) < 0.5
        counted[:, 0] = True
        (best, winner), (expected, _) = (
            best_match(queries, documents, counted),
            in_chunks(queries, documents, counted, CHUNK_ELEMENTS),
        )
        where = torch.arange(11, device=device), winner.long()
        there = (queries[:, None].float() * documents[where].float()).sum(dim=-1)  # where it says the best is
        return nearly_equal(best, expected) and nearly_equal(there, expected) and bool(counted[where].all())

    if not kernel_works("the kernel of MaxSim", agrees):
        return None
    from numcolbert.train.best_match import best_match

    return best_match


def _append(vectors: Tensor, last: Tensor) -> Tensor:
    """Tokens with eight more entries, the first of them `last` (eight keeps the rows aligned).

    A 1 in the query meets 0 in a document token and a large negative number in padding: so padding never
    wins, without another pass over the token matrix.
    """
    more = torch.nn.functional.pad(last.unsqueeze(-1), (0, 7))
    return torch.cat([vectors, more], dim=-1)


def _chunks(rows: int, columns: int, elements: int) -> list[slice]:
    step = max(1, elements // max(1, columns))
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]
