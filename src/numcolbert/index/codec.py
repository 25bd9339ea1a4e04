"""Vectors as a centroid's number and a few bits a coordinate.

A coordinate's distance from its centroid is rounded to one of 2^bits evenly spaced values, with its own range
for each coordinate. Even spacing costs little against the best uneven one and makes scoring cheap: a dot
product with the rounded vector is

    q . x  =  q . centroid  +  q . low  +  (q * step) . code

where `code` is a vector of small integers, so nothing but these integers is ever unpacked, and the score
stays exactly linear in q.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from numcolbert.index.compiled import in_parallel
from numcolbert.index.kernels import encode_residuals, unpack_residuals

BITS = (1, 2, 4, 8)


@dataclass(frozen=True)
class ResidualCodec:
    bits: int
    low: NDArray[np.float32]  # [dim], the value of code 0
    step: NDArray[np.float32]  # [dim], from one code to the next

    @classmethod
    def fit(cls, residuals: NDArray[np.float32], bits: int) -> ResidualCodec:
        """The ranges with the smallest mean squared error, coordinate by coordinate."""
        center = residuals.mean(axis=0)
        spread = residuals.std(axis=0)
        top = (1 << bits) - 1
        least = np.full(residuals.shape[1], np.inf, np.float32)
        chosen = np.zeros(residuals.shape[1], np.float32)
        for reach in _REACHES[bits]:
            low = center - reach * spread
            step = np.maximum(2 * reach * spread / top, np.float32(1e-12))
            codes = np.clip(np.rint((residuals - low) / step), 0, top)
            error = np.square(low + codes * step - residuals).mean(axis=0)
            better = error < least
            least[better], chosen[better] = error[better], reach
        low = (center - chosen * spread).astype(np.float32)
        return cls(bits, low, (2 * chosen * spread / top).astype(np.float32))

    @property
    def row_bytes(self) -> int:
        return packed_bytes(len(self.low), self.bits)

    def encode(
        self, vectors: NDArray[np.float32], centroids: NDArray[np.float32], labels: NDArray[np.int64]
    ) -> NDArray[np.uint8]:
        out = np.zeros((len(vectors), self.row_bytes), np.uint8)

        def work(begin: int, end: int) -> None:
            some = slice(begin, end)
            encode_residuals(
                vectors[some], centroids, labels[some], self.low, self.step, self.bits, out[some]
            )

        in_parallel(work, len(vectors), 1024)
        return out

    def decode(self, packed: NDArray[np.uint8]) -> NDArray[np.float32]:
        """The residuals, [rows, dim]."""
        codes = np.empty((len(packed), self.row_bytes * 8 // self.bits), np.float32)
        ends = np.asarray([len(packed)])
        unpack_residuals(packed, self.bits, np.zeros(1, np.int64), ends, 0, codes)
        return self.low + codes[:, : len(self.low)] * self.step

    def fold(self, query: NDArray[np.float32]) -> tuple[NDArray[np.float32], float]:
        """`(query * step)` as [codes, query tokens], and the sum over the tokens of q . low."""
        folded = np.zeros((self.row_bytes * 8 // self.bits, len(query)), np.float32)
        folded[: len(self.low)] = (query * self.step).T
        return folded, float((query @ self.low).sum())


def packed_bytes(dim: int, bits: int) -> int:
    return -(-dim * bits // 8)


# How many standard deviations the range reaches to either side. The best for a normal distribution are 0.8,
# 1.5, 2.6 and 4; the rest is for flatter and for heavier tails.
_REACHES = {
    1: (0.5, 0.65, 0.8, 0.95, 1.1),
    2: (1.1, 1.3, 1.5, 1.7, 2.0, 2.4),
    4: (2.0, 2.3, 2.6, 2.9, 3.3, 3.8, 4.5),
    8: (3.0, 3.5, 4.0, 4.5, 5.5, 7.0, 10.0),
}
