from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from numcolbert.index.kmeans import Cells, train_centroids


def error(vectors: NDArray[np.float32], centroids: NDArray[np.float32]) -> float:
    distances = ((vectors[:, None] - centroids[None]) ** 2).sum(axis=2)
    return float(distances.min(axis=1).mean())


def blobs(count: int, each: int, dim: int = 8, seed: int = 0) -> NDArray[np.float32]:
    generator = np.random.default_rng(seed)
    middles = 20 * generator.standard_normal((count, dim))
    return (middles.repeat(each, axis=0) + generator.standard_normal((count * each, dim))).astype(np.float32)


def test_few_centroids_fall_into_the_blobs() -> None:
    vectors = blobs(5, 200)
    assert error(vectors, train_centroids(vectors, 40, seed=1)) < 1.1 * vectors.shape[1]


def test_two_levels_come_close_to_plain_k_means() -> None:
    vectors = blobs(60, 60)
    two_levels = error(vectors, train_centroids(vectors, 300, seed=1))
    plain = vectors[np.random.default_rng(0).choice(len(vectors), 300, replace=False)]
    for _ in range(10):
        labels = ((vectors[:, None] - plain[None]) ** 2).sum(axis=2).argmin(axis=1)
        plain = np.stack(
            [vectors[labels == c].mean(axis=0) if (labels == c).any() else plain[c] for c in range(300)]
        )
    assert two_levels < 1.1 * error(vectors, plain)


@pytest.mark.parametrize("count", [1, 7, 300])
def test_the_seed_decides(count: int) -> None:
    vectors = blobs(10, 80)
    first, again, other = (train_centroids(vectors, count, seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert first.shape == (count, 8)
    assert count == 1 or not np.array_equal(first, other)


def test_no_more_centroids_than_vectors() -> None:
    vectors = blobs(3, 1)
    assert sorted(train_centroids(vectors, 10, 0).tolist()) == sorted(vectors.tolist())


def test_identical_vectors_are_no_trouble() -> None:
    vectors = np.ones((600, 4), np.float32)
    np.testing.assert_array_equal(train_centroids(vectors, 300, 0), np.ones((300, 4), np.float32))


def test_cells_find_the_nearest_centroid_nearly_always(clustered_passages: Callable[..., list]) -> None:
    vectors = np.concatenate(clustered_passages(400))
    centroids = train_centroids(vectors, 500, 0)
    exact = ((vectors[:, None] - centroids[None]) ** 2).sum(axis=2)
    found = Cells.of(centroids).nearest(vectors)
    assert (found == exact.argmin(axis=1)).mean() > 0.97
    reached = exact[np.arange(len(vectors)), found].mean()
    assert reached < 1.005 * exact.min(axis=1).mean()
