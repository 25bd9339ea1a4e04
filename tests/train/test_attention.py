"""Which way of attention is taken, and that a kernel which errs is not."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from numcolbert.errors import UsageError
from numcolbert.train.attention import BucketedAttention, agrees, choose_attention, works
from numcolbert.train.layout import make_layout

CPU = torch.device("cpu")


class _Louder(BucketedAttention):
    def __call__(self, qkv: Tensor, prepared: object, /) -> Tensor:
        return super().__call__(qkv, prepared) * 1.2  # type: ignore[arg-type]


def test_a_kernel_that_computes_something_else_is_found_out() -> None:
    assert agrees(BucketedAttention(), CPU, torch.float32, heads=2, head_dim=16)
    assert not agrees(_Louder(), CPU, torch.float32, heads=2, head_dim=16)


def test_half_precision_on_a_processor_attends_as_single_does_gradients_too() -> None:
    layout = make_layout(np.array([5, 0, 17, 96, 10]), longest=128, device=CPU)
    single = torch.randn(128, 3, 2, 16, generator=torch.Generator().manual_seed(0)).bfloat16().float()
    results = []
    for dtype in (torch.float32, torch.bfloat16):
        attention, qkv = BucketedAttention(), single.to(dtype).requires_grad_()
        out = attention(qkv, attention.prepare(layout, None, dtype))
        (gradient,) = torch.autograd.grad(out.float().square().sum(), qkv)
        results.append((out.float(), gradient.float()))
    for exact, half in zip(*results, strict=True):
        assert torch.linalg.norm(half - exact) < 0.02 * torch.linalg.norm(exact)


@pytest.mark.parametrize("wanted", ["short", "varlen"])
def test_kernels_for_a_gpu_are_refused_elsewhere(wanted: str) -> None:
    shape = {"device": CPU, "dtype": torch.float32, "heads": 2, "head_dim": 16, "biased": False}
    with pytest.raises(UsageError, match=f"'{wanted}' does not work") as refused:
        choose_attention(wanted, **shape)  # type: ignore[arg-type]
    assert "bucketed" in str(refused.value.hint)
    assert isinstance(choose_attention("auto", **shape), BucketedAttention)  # type: ignore[arg-type]
    assert not works(BucketedAttention, CPU, torch.bfloat16, 2, 16)
