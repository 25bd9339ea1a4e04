"""k-means for tens of thousands of centroids in seconds, and the nearest centroid for millions of vectors.

Both go through *cells*, groups of neighbouring centroids: a vector is compared with the centroids of its
nearest few cells only. That is some ten times less work than comparing with all of them, and all of it is
matrix multiplication.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from numcolbert.index.kernels import best_columns, keep_better, sum_by_label
from numcolbert.index.parallel import in_parallel
from numcolbert.progress import Progress

CELLS_SEARCHED = 8
"""Cells looked into for each vector."""
_ROWS = 32_768
"""Vectors handled at a time: bounds memory."""


@dataclass(frozen=True)
class Cells:
    """Centroids in groups. Nearest means smallest Euclidean distance, i.e. highest x . c - |c|^2 / 2."""

    centroids: NDArray[np.float32]  # [centroids, dim]
    middles: NDArray[np.float32]  # [cells, dim]
    members: list[NDArray[np.int64]]  # of each cell, the numbers of its centroids

    @classmethod
    def of(cls, centroids: NDArray[np.float32], seed: int = 0) -> Cells:
        count = max(1, round(len(centroids) ** 0.5))
        middles = _lloyd(centroids, count, 6, np.random.default_rng(seed))
        labels = _nearest(centroids, middles)
        members = [np.flatnonzero(labels == cell) for cell in range(len(middles))]
        filled = [cell for cell, inside in enumerate(members) if len(inside)]
        return cls(centroids, middles[filled], [members[cell] for cell in filled])

    def nearest(self, vectors: NDArray[np.float32], searched: int = CELLS_SEARCHED) -> NDArray[np.int64]:
        """The number of the nearest centroid of each vector (nearly always: of the nearest cells')."""
        labels = np.empty(len(vectors), np.int64)
        for begin in range(0, len(vectors), _ROWS):
            some = slice(begin, begin + _ROWS)
            labels[some] = self._nearest_of_block(vectors[some], searched)
        return labels

    def _nearest_of_block(self, vectors: NDArray[np.float32], searched: int) -> NDArray[np.int64]:
        if len(self.centroids) <= 256 or searched >= len(self.middles):
            return _nearest(vectors, self.centroids)
        affinity = _affinity(vectors, self.middles)  # [rows, cells]
        chosen = np.empty((len(vectors), searched), np.int32)  # [rows, searched]
        in_parallel(lambda b, e: best_columns(affinity[b:e], chosen[b:e]), len(vectors), 1024)
        # Sorted by cell, the vectors that look into one cell meet its centroids in one multiplication.
        order = np.argsort(chosen.reshape(-1), kind="stable")
        edges = np.searchsorted(chosen.reshape(-1)[order], np.arange(len(self.middles) + 1))
        best = np.full(len(vectors), -np.inf, np.float32)
        labels = np.zeros(len(vectors), np.int64)
        for cell, inside in enumerate(self.members):
            rows = order[edges[cell] : edges[cell + 1]] // searched
            if len(rows):
                scores = _affinity(vectors[rows], self.centroids[inside])
                keep_better(scores, rows, inside, best, labels)
        return labels


def train_centroids(sample: NDArray[np.float32], count: int, seed: int) -> NDArray[np.float32]:
    """At most `count` centroids [centroids, dim] for the vectors of `sample`, the same for the same seed."""
    count = min(count, len(sample))
    generator = np.random.default_rng(seed)
    with Progress("train centroids", 3, "rounds") as progress:
        if count <= 256:
            centroids = _lloyd(sample, count, 10, generator)
        else:
            centroids = _two_levels(sample, count, generator)
            progress.advance()
            for _ in range(2):  # let vectors cross the borders of the first level
                cells = Cells.of(centroids, seed)
                centroids = _means(sample, cells.nearest(sample, CELLS_SEARCHED // 2), centroids)
                progress.advance()
    return centroids


def _two_levels(
    sample: NDArray[np.float32], count: int, generator: np.random.Generator
) -> NDArray[np.float32]:
    """Split the sample into cells, then each cell into its share of the centroids."""
    cells = round(count**0.5)
    picked = generator.choice(len(sample), min(len(sample), 256 * cells), replace=False)
    labels = _nearest(sample, _lloyd(sample[picked], cells, 8, generator))
    sizes = np.bincount(labels, minlength=cells)
    # Largest remainders: shares add up to `count`, and no cell gets more centroids than vectors.
    exact = sizes * (count / len(sample))
    shares = np.floor(exact).astype(np.int64)
    shares[np.argsort(shares - exact)[: count - int(shares.sum())]] += 1
    order = np.argsort(labels, kind="stable")
    edges = np.concatenate([[0], np.cumsum(sizes)])
    parts = [
        _lloyd(sample[order[edges[cell] : edges[cell + 1]]], int(shares[cell]), 6, generator)
        for cell in range(cells)
        if shares[cell]
    ]
    return np.concatenate(parts)


def _lloyd(
    vectors: NDArray[np.float32], count: int, rounds: int, generator: np.random.Generator
) -> NDArray[np.float32]:
    """Plain k-means from a random choice of the vectors."""
    count = min(count, len(vectors))
    centroids = vectors[generator.choice(len(vectors), count, replace=False)].astype(np.float32)
    for _ in range(rounds):
        centroids = _means(vectors, _nearest(vectors, centroids), centroids)
    return centroids


def _means(
    vectors: NDArray[np.float32], labels: NDArray[np.int64], centroids: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Each centroid in the middle of its vectors; one without vectors stays."""
    sums = np.zeros_like(centroids)
    counts = np.zeros(len(centroids), np.int64)
    sum_by_label(vectors, labels, sums, counts)
    return np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centroids).astype(np.float32)


def _affinity(vectors: NDArray[np.float32], centroids: NDArray[np.float32]) -> NDArray[np.float32]:
    """x . c - |c|^2 / 2, [vectors, centroids]: the higher, the nearer."""
    scores = vectors @ centroids.T
    scores -= 0.5 * np.einsum("ij,ij->i", centroids, centroids)
    return scores


def _nearest(vectors: NDArray[np.float32], centroids: NDArray[np.float32]) -> NDArray[np.int64]:
    labels = np.empty(len(vectors), np.int64)
    rows = max(256, _ROWS * 128 // max(128, len(centroids)))
    for begin in range(0, len(vectors), rows):
        labels[begin : begin + rows] = _affinity(vectors[begin : begin + rows], centroids).argmax(axis=1)
    return labels
