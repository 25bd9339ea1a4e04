"""The memory-lean MaxSim against the one anybody would write."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples
from torch import Tensor

from numcolbert.train.maxsim import maxsim


def naive(queries: Tensor, documents: Tensor, query_mask: Tensor, document_mask: Tensor) -> Tensor:
    similarity = torch.einsum("bid,njd->bnij", queries, documents)
    similarity = similarity.masked_fill(~document_mask[None, :, None, :], float("-inf"))
    return (similarity.amax(dim=-1) * query_mask[:, None, :]).sum(dim=-1)


def batch(seed: int, queries: int, documents: int, dim: int = 8) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)

    def vectors(count: int, tokens: int) -> tuple[Tensor, Tensor]:
        lengths = torch.randint(1, tokens + 1, (count, 1), generator=generator)
        made = torch.randn(count, tokens, dim, generator=generator)
        return torch.nn.functional.normalize(made, dim=-1), torch.arange(tokens)[None, :] < lengths

    (query, query_mask), (document, document_mask) = vectors(queries, 5), vectors(documents, 7)
    return query * 3.0, document, query_mask, document_mask


@examples(25)
@given(
    seed=st.integers(0, 10_000),
    queries=st.integers(1, 5),
    documents=st.integers(1, 6),
    chunk=st.sampled_from([1, 50, 10_000]),
)
def test_scores_and_gradients_are_those_of_the_naive_version(
    seed: int, queries: int, documents: int, chunk: int
) -> None:
    query, document, query_mask, document_mask = batch(seed, queries, documents)
    weights = torch.randn(queries, documents, generator=torch.Generator().manual_seed(seed))
    results = []
    for function in (naive, lambda *a: maxsim(*a, chunk_elements=chunk)):
        q, d = query.clone().requires_grad_(), document.clone().requires_grad_()
        scores = function(q, d, query_mask, document_mask)
        (scores * weights).sum().backward()
        results.append((scores.detach(), q.grad, d.grad))
    for expected, actual in zip(*results, strict=True):
        torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)


def test_padding_never_wins_and_never_counts() -> None:
    query, document, query_mask, document_mask = batch(1, 3, 4)
    before = maxsim(query, document, query_mask, document_mask)
    query[~query_mask], document[~document_mask] = 100.0, 100.0
    torch.testing.assert_close(maxsim(query, document, query_mask, document_mask), before)


def test_scaling_one_query_token_scales_its_share_of_the_score() -> None:
    query, document, _, document_mask = batch(2, 1, 4)
    mask = torch.ones(1, query.shape[1], dtype=torch.bool)
    only_first = mask.clone()
    only_first[:, 1:] = False
    share = maxsim(query, document, only_first, document_mask)
    scaled = query.clone()
    scaled[:, 0] *= 5
    gain = maxsim(scaled, document, mask, document_mask) - maxsim(query, document, mask, document_mask)
    torch.testing.assert_close(gain, 4 * share, atol=1e-5, rtol=1e-5)


def test_autocast_computes_in_half_precision_and_sums_in_full() -> None:
    query, document, query_mask, document_mask = batch(3, 4, 6, dim=64)
    exact = naive(query, document, query_mask, document_mask)
    query.requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = maxsim(query, document, query_mask, document_mask)
    assert scores.dtype == torch.float32
    torch.testing.assert_close(scores, exact, atol=0.1, rtol=0.02)
    scores.sum().backward()
    assert query.grad is not None and query.grad.dtype == torch.float32
