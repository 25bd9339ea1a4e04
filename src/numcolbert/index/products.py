"""Dot products of many vectors with the few of a query."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_WORK = 200_000
"""Multiplications a block. OpenBLAS shares larger products out between its threads; with as few columns as
a query has tokens these wait for one another longer than they work (8,192 vectors: the same time, but eight
times the processor time), and searches that run side by side suffer most."""


def products(
    vectors: NDArray[np.float32], query: NDArray[np.float32], out: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """`vectors @ query.T` ([vectors, query tokens]) on the calling thread alone."""
    if out is None:
        out = np.empty((len(vectors), len(query)), np.float32)
    turned = np.ascontiguousarray(query.T)
    rows = max(16, _WORK // max(1, query.size))
    for begin in range(0, len(vectors), rows):
        np.matmul(vectors[begin : begin + rows], turned, out=out[begin : begin + rows])
    return out
