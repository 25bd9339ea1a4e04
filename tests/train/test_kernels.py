"""Triton's kernels against plain torch, in its interpreter, which runs them on the CPU.

It must be told so before Triton is imported, so each comparison is a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

pytestmark = pytest.mark.skipif(find_spec("triton") is None, reason="needs triton")

ATTENTION = """
import numpy as np, torch
from numcolbert.train.attention import BucketedAttention
from numcolbert.train.layout import make_layout
from numcolbert.train.short_attention import short_attention

for lengths in ([5, 0, 17, 64, 10], [65, 1, 128, 3], [130]):
    generator = torch.Generator().manual_seed(sum(lengths))
    qkv = torch.randn(sum(lengths), 3, 2, 16, generator=generator).requires_grad_()
    weights = torch.randn(sum(lengths), 2, 16, generator=generator)
    layout, plain = make_layout(np.array(lengths)), BucketedAttention()
    made = short_attention(qkv, layout.starts)
    expected = plain(qkv, plain.prepare(layout, None, torch.float32))
    gradients = [torch.autograd.grad((out * weights).sum(), qkv)[0] for out in (made, expected)]
    print(torch.allclose(made, expected, atol=1e-5), torch.allclose(*gradients, atol=1e-5))
"""

BEST_MATCH = """
import torch
from numcolbert.train.best_match import best_match
from numcolbert.train.maxsim import in_chunks

for rows, count, width, dim in ((130, 9, 48, 16), (5, 3, 16, 32), (60, 17, 80, 64)):
    generator = torch.Generator().manual_seed(rows)
    queries = torch.randn(rows, dim, generator=generator)
    documents = torch.randn(count, width, dim, generator=generator)
    counted = torch.rand(count, width, generator=generator) < 0.6
    counted[:, 1] = True
    best, winner = best_match(queries, documents, counted)
    expected, place = in_chunks(queries, documents, counted, 1000)
    print(torch.allclose(best, expected, atol=1e-4), torch.equal(winner, place))
"""


@pytest.mark.parametrize("compared", [ATTENTION, BEST_MATCH], ids=["attention", "best match"])
def test_a_kernel_computes_what_plain_torch_does(compared: str) -> None:
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    ran = subprocess.run([sys.executable, "-c", compared], env=environment, capture_output=True, text=True)
    if "only 0-dimensional arrays" in ran.stderr:
        pytest.skip("the interpreter of Triton 3.6 does not know numpy 2.4")
    assert ran.stdout.splitlines() == ["True True"] * 3, ran.stderr
