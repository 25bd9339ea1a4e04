"""Vectors for the tests of engines."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

Passages = list[NDArray[np.float32]]


def unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


@pytest.fixture
def random_passages() -> Callable[..., Passages]:
    """`count` passages of 1 to `longest` unit vectors, with no structure at all."""

    def make(count: int, dim: int = 32, longest: int = 12, seed: int = 0) -> Passages:
        generator = np.random.default_rng(seed)
        lengths = generator.integers(1, longest + 1, count)
        return [unit(generator.standard_normal((length, dim))) for length in lengths]

    return make


@pytest.fixture
def clustered_passages() -> Callable[..., Passages]:
    """Like token vectors of text: around some hundred words, bent by the passage's topic."""

    def make(count: int, dim: int = 32, longest: int = 24, seed: int = 0) -> Passages:
        generator = np.random.default_rng(seed)
        words = unit(np.random.default_rng(99).standard_normal((200, dim)))
        passages = []
        for _ in range(count):
            chosen = words[generator.zipf(1.3, int(generator.integers(4, longest + 1))) % len(words)]
            topic = 0.06 * generator.standard_normal(dim)
            passages.append(unit(chosen + topic + 0.06 * generator.standard_normal(chosen.shape)))
        return passages

    return make


@pytest.fixture
def maxsim() -> Callable[[NDArray[np.float32], NDArray[np.float32]], float]:
    """The definition, slow and obvious."""
    return lambda query, passage: float(sum(max(float(q @ d) for d in passage) for q in query))
