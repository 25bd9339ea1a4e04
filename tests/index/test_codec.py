from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples

from numcolbert.index.codec import BITS, LENGTHS, ResidualCodec, code_bytes, slots


def fitted(nbits: int, dim: int = 32, seed: int = 0, count: int = 3000) -> tuple[ResidualCodec, np.ndarray]:
    generator = np.random.default_rng(seed)
    lengths = np.exp(generator.normal(-1, 0.5, (count, 1)))
    shape = np.linspace(0.3, 2, dim)  # some axes carry more than others
    residuals = (lengths * shape * generator.standard_normal((count, dim))).astype(np.float32)
    return ResidualCodec.fit(residuals, residuals, nbits), residuals


@pytest.mark.parametrize("nbits", BITS)
@pytest.mark.parametrize("dim", [1, 3, 8, 32, 100])
def test_every_byte_is_full_and_turning_keeps_dot_products(nbits: int, dim: int) -> None:
    codec, residuals = fitted(nbits, dim)
    assert codec.rotation.shape == (dim, slots(dim, nbits))
    assert codec.bytes == code_bytes(dim, nbits)
    assert (codec.bits.reshape(-1, codec.bytes).sum(axis=0) == 8).all()
    turned = codec.turn(residuals[:20])
    np.testing.assert_allclose(turned @ turned.T, residuals[:20] @ residuals[:20].T, atol=1e-4, rtol=1e-4)
    np.testing.assert_allclose(codec.turn_back(turned), residuals[:20], atol=1e-5)


@pytest.mark.parametrize(("nbits", "worst"), [(1, 0.5), (2, 0.13), (4, 0.012), (8, 0.001)])
def test_the_error_is_that_of_a_good_quantiser(nbits: int, worst: float) -> None:
    codec, residuals = fitted(nbits)
    turned, none = codec.turn(residuals), np.zeros((1, 32), np.float32)
    lengths, packed = codec.encode(turned, none, np.zeros(len(turned), np.int64))
    wrong = turned - codec.decode(lengths, packed)
    # What counts is the error of dot products with vectors like the sample's.
    noise = np.square(wrong @ turned[:200].T).mean()
    iso = np.square(turned).mean() * np.square(turned[:200]).sum(axis=1).mean()
    assert noise < worst * iso


def rounded_slowly(codec: ResidualCodec, rest: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """The definition: nearest levels, the best length for them, both again; levels anew if that is better."""
    weights = np.eye(len(rest)) + 0.3 * len(codec.rotation) * np.outer(vector, vector)

    def nearest(length: float) -> np.ndarray:
        found = np.zeros_like(rest)
        for slot in range(len(rest)):
            first = (1 << int(codec.bits[slot])) - 1
            choices = codec.levels[first : 2 * first + 1] * codec.spread[slot]
            found[slot] = choices[np.abs(length * choices - rest[slot]).argmin()]
        return found

    length = np.linalg.norm(rest) / np.linalg.norm(codec.spread)
    for _ in range(2):
        direction = nearest(length)
        best = (direction @ weights @ rest) / (direction @ weights @ direction)
        length = min(max(best, length / 2), 2 * length)
    stored = float(LENGTHS[np.abs(np.log(LENGTHS / length)).argmin()])
    choices = [stored * direction, stored * nearest(stored)]
    return min(choices, key=lambda made: float((made - rest) @ weights @ (made - rest)))


@examples(30)
@given(st.integers(0, 2**32 - 1), st.sampled_from(BITS))
def test_encoding_takes_nearest_levels_and_the_best_length(seed: int, nbits: int) -> None:
    generator = np.random.default_rng(seed)
    codec, _ = fitted(nbits, dim=8, count=300)
    turned = codec.turn(generator.standard_normal((5, 8)).astype(np.float32))
    centroids = 0.3 * generator.standard_normal((3, turned.shape[1])).astype(np.float32) * (codec.spread > 0)
    labels = generator.integers(0, 3, 5)
    decoded = codec.decode(*codec.encode(turned, centroids, labels))
    rest = turned - centroids[labels]
    for row in range(5):
        expected = rounded_slowly(codec, rest[row].astype(np.float64), turned[row].astype(np.float64))
        np.testing.assert_allclose(decoded[row], expected, rtol=0.04, atol=1e-4)  # one step of the length


@pytest.mark.parametrize("nbits", [1, 2, 4])
def test_almost_no_error_is_along_the_vector_itself(nbits: int) -> None:
    codec, residuals = fitted(nbits)
    turned = codec.turn(residuals)
    centroids = turned[:40]
    labels = np.abs(turned @ centroids.T).argmin(axis=1)
    decoded = codec.decode(*codec.encode(turned, centroids, labels))
    wrong = decoded + centroids[labels] - turned
    along = np.einsum("ij,ij->i", wrong, turned) / np.linalg.norm(turned, axis=1)
    share = np.square(along).mean() / np.square(wrong).sum(axis=1).mean()
    assert share < 0.6 / 32  # 1/32 if all directions were alike


def test_more_bits_go_to_the_axes_that_matter() -> None:
    codec, _ = fitted(4)
    order = np.argsort(-codec.spread)
    assert codec.bits[order[:8]].mean() > 4 > codec.bits[order[-8:]].mean()


@pytest.mark.parametrize("nbits", BITS)
def test_a_sample_without_residuals_still_gives_a_codec(nbits: int) -> None:
    sample = np.eye(4, dtype=np.float32)[:2]
    codec = ResidualCodec.fit(sample, np.zeros_like(sample), nbits)
    turned = codec.turn(np.float32([[0, 0, 0.6, 0.8]]))
    decoded = codec.decode(*codec.encode(turned, np.zeros_like(turned), np.zeros(1, np.int64)))
    assert np.isfinite(decoded).all()
    assert nbits < 4 or np.square(decoded - turned).sum() < 0.1


def test_levels_ascend(clustered_passages: Callable[..., list]) -> None:
    vectors = np.concatenate(clustered_passages(50))
    codec = ResidualCodec.fit(vectors, vectors - vectors.mean(axis=0), 8)
    for bits in range(9):
        table = codec.levels[(1 << bits) - 1 : (2 << bits) - 1]
        assert len(table) == 1 << bits
        assert (np.diff(table) >= 0).all()
