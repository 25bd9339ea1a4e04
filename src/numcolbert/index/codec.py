"""Vectors as a centroid's number, a length and a few bits a coordinate.

What is left of a vector after its centroid is taken away, the *residual*, is stored as a length (one byte, on
a logarithmic scale) and a direction, whose coordinates are rounded to few values each:

    vector  =  centroid  +  length * (level of coordinate 1, level of coordinate 2, ...)

Three things make the error of a dot product small for the bits spent. Measured on real vectors with 4 bits:
- turned coordinates: along the principal axes of the vectors some coordinates matter more for a dot product
  than others, and get more of the bits of their byte (variance of the error falls by almost half);
- the length apart from the direction, because residuals differ in length up to threefold (by a quarter);
- levels at the best places for the values that occur (Lloyd's), not evenly spaced (by a sixth);
- a length chosen after rounding, so that the error along the vector itself is nearly nought (by a sixth).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from numcolbert.index.kernels import encode_residuals
from numcolbert.index.parallel import in_parallel

BITS = (1, 2, 4, 8)
LENGTHS = np.exp2((np.arange(256) - 128) / 24).astype(np.float32)
"""The lengths a residual can have, in typical ones: a fortieth to forty times, 3 % apart."""
_LEAST_TYPICAL = 0.05
"""Of a vector's length. A small sample may leave no residuals at all; vectors to come will have some."""
_ALONG = 0.3
"""Weight of the error along the vector, times the number of coordinates; from .1 to 1 makes no difference."""
LEVELS = 511
"""1 level for 0 bits, 2 for 1 bit, ... 256 for 8 bits; those of b bits begin at 2^b - 1."""

# Mean squared error of rounding a normal variable to 0, 1, ... 8 bits in the best way.
_DISTORTION = np.array([1, 0.3634, 0.1175, 0.03454, 0.009497, 0.0025, 6.5e-4, 1.7e-4, 4.2e-5])


def slots(dim: int, nbits: int) -> int:
    """Coordinates after turning: `dim`, filled up to whole bytes."""
    return code_bytes(dim, nbits) * 8 // nbits


def code_bytes(dim: int, nbits: int) -> int:
    return -(-dim * nbits // 8)


@dataclass(frozen=True)
class ResidualCodec:
    """Works on turned vectors `[n, slots]`, see `turn`.

    Slot `part * bytes + i` lives in byte `i`, above the bits of the parts before it.
    """

    rotation: NDArray[np.float32]  # [dim, slots], orthonormal; columns of zeros fill up
    spread: NDArray[np.float32]  # [slots], standard deviation of a coordinate at the typical length
    bits: NDArray[np.uint8]  # [slots]; those of one byte add up to 8
    levels: NDArray[np.float32]  # [LEVELS], in standard deviations

    @classmethod
    def fit(cls, sample: NDArray[np.float32], residuals: NDArray[np.float32], nbits: int) -> ResidualCodec:
        """From vectors and their residuals, both `[n, dim]` and not turned."""
        dim = sample.shape[1]
        # Queries are like documents: what matters along an axis is residual variance times query variance.
        energy, axes = np.linalg.eigh(_second_moment(sample))
        directions = residuals / np.maximum(np.linalg.norm(residuals, axis=1, keepdims=True), 1e-12)
        variance = np.einsum("da,de,ea->a", axes, _second_moment(directions), axes)
        order = np.argsort(-energy * variance, kind="stable")
        places = _places(dim, nbits)
        rotation = np.zeros((dim, slots(dim, nbits)), np.float32)
        rotation[:, places] = axes[:, order]
        spread = np.zeros(rotation.shape[1], np.float32)
        spread[places] = np.sqrt(variance[order])
        importance = np.zeros(rotation.shape[1])
        importance[places] = (energy * variance)[order]
        bits = _share_bits(importance.reshape(8 // nbits, -1)).reshape(-1)
        used = spread > 0
        values = (directions @ rotation)[:, used] / spread[used]
        typical = max(_root_mean_square(residuals), _LEAST_TYPICAL * _root_mean_square(sample))
        return cls(rotation, np.float32(typical) * spread, bits, _lloyd_levels(values.reshape(-1)))

    @property
    def bytes(self) -> int:
        return int(self.bits.sum()) // 8

    @cached_property
    def shifts(self) -> NDArray[np.uint8]:
        """Where in its byte each slot's bits begin, [slots]."""
        parts = self.bits.reshape(-1, self.bytes)  # [parts, bytes]
        return (np.cumsum(parts, axis=0) - parts).astype(np.uint8).reshape(-1)

    @cached_property
    def table(self) -> NDArray[np.float32]:
        """What a byte says about its slots if the residual has the typical length, [parts, bytes, 256]."""
        codes = (
            np.arange(256)[None, :] >> self.shifts[:, None] & ((1 << self.bits.astype(np.int64)) - 1)[:, None]
        )
        first = (1 << self.bits.astype(np.int64))[:, None] - 1
        table = self.levels[first + codes] * self.spread[:, None]
        return np.ascontiguousarray(table.reshape(-1, self.bytes, 256))

    def turn(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Into the coordinates that are stored; dot products stay as they are. [n, dim] -> [n, slots]"""
        return vectors @ self.rotation

    def turn_back(self, turned: NDArray[np.float32]) -> NDArray[np.float32]:
        return turned @ self.rotation.T

    def encode(
        self, turned: NDArray[np.float32], centroids: NDArray[np.float32], labels: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Lengths `[n]` and packed directions `[n, bytes]`."""
        lengths = np.empty(len(turned), np.uint8)
        packed = np.zeros((len(turned), self.bytes), np.uint8)

        def work(begin: int, end: int) -> None:
            some = slice(begin, end)
            encode_residuals(
                turned[some], centroids, labels[some], self.spread, self.bits, self.shifts, self.levels,
                LENGTHS, _ALONG * len(self.rotation), lengths[some], packed[some],
            )  # fmt: skip

        in_parallel(work, len(turned), 1024)
        return lengths, packed

    def decode(self, lengths: NDArray[np.uint8], packed: NDArray[np.uint8]) -> NDArray[np.float32]:
        """The residuals, [n, slots]."""
        directions = self.table[:, np.arange(self.bytes), packed]  # [parts, n, bytes]
        return np.moveaxis(directions, 0, 1).reshape(len(packed), -1) * LENGTHS[lengths][:, None]


def _root_mean_square(rows: NDArray[np.float32]) -> float:
    """Of the rows' lengths."""
    return float(np.sqrt(np.einsum("ij,ij->i", rows, rows).mean()))


def _second_moment(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Of rows like these, [dim, dim]; as if a few rows in all directions had been seen besides."""
    count, dim = rows.shape
    moment = (rows.T @ rows).astype(np.float64)
    square = float(np.trace(moment)) / count or 1.0
    besides = 32 + 0.02 * count
    return np.asarray((moment + besides * square / dim * np.eye(dim)) / (count + besides))


def _places(dim: int, nbits: int) -> NDArray[np.int64]:
    """The slot of each coordinate by rank, strong and weak in each byte: 0 1 2 | 5 4 3 | ..."""
    width = code_bytes(dim, nbits)
    rank = np.arange(dim)
    part, at = rank // width, rank % width
    return part * width + np.where(part % 2 == 0, at, width - 1 - at)


def _share_bits(importance: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Eight bits a byte, each to the coordinate whose error falls most by it; [parts, bytes] -> the same."""
    bits = np.zeros(importance.shape, np.int64)
    gain = np.append(_DISTORTION[:-1] - _DISTORTION[1:], -1.0)  # no ninth bit
    column = np.arange(importance.shape[1])
    for _ in range(8):
        bits[np.argmax((importance + 1e-30) * gain[bits], axis=0), column] += 1
    return bits.astype(np.uint8)


def _lloyd_levels(sample: NDArray[np.float32]) -> NDArray[np.float32]:
    """The best levels for 0 to 8 bits, below one another."""
    normal = [
        NormalDist().inv_cdf((i + 0.5) / 2048) for i in range(2048)
    ]  # decides where the sample is small
    values = np.sort(np.concatenate([sample[:: max(1, len(sample) // 500_000)], normal]))
    sums = np.concatenate([[0.0], np.cumsum(values)])
    tables = [np.zeros(1)]
    for bits in range(1, 9):
        count = 1 << bits
        # Density to the power 1/3 is the best density of levels for many levels; a good start for few.
        levels = np.interp((np.arange(count) + 0.5) / count, *_cube_root_quantiles(values))
        for _ in range(30):
            edges = np.concatenate(
                [[0], np.searchsorted(values, (levels[1:] + levels[:-1]) / 2), [len(values)]]
            )
            counts = np.diff(edges)
            means = (sums[edges[1:]] - sums[edges[:-1]]) / np.maximum(counts, 1)
            levels = np.where(counts > 0, means, levels)
        tables.append(np.sort(levels))
    return np.concatenate(tables).astype(np.float32)


def _cube_root_quantiles(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    counts, edges = np.histogram(values, bins=200)
    mass = np.concatenate([[0.0], np.cumsum(np.cbrt(counts + 0.01))])
    return mass / mass[-1], edges
