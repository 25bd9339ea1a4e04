"""Every kernel against a slow, obvious twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.properties import examples

from numcolbert.index import kernels
from numcolbert.index.compiled import kernel
from numcolbert.index.parallel import in_parallel, thread_count

seeds = st.integers(0, 2**32 - 1)
few = examples(25)


def bounds_of(
    generator: np.random.Generator, passages: int, longest: int = 6
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    lengths = generator.integers(1, longest + 1, passages)
    ends = np.cumsum(lengths)
    return ends - lengths, ends


@few
@given(seeds)
def test_sum_by_label(seed: int) -> None:
    generator = np.random.default_rng(seed)
    vectors = generator.standard_normal((40, 7)).astype(np.float32)
    labels = generator.integers(0, 5, 40)
    sums, counts = np.zeros((5, 7), np.float32), np.zeros(5, np.int64)
    kernels.sum_by_label(vectors, labels, sums, counts)
    for label in range(5):
        np.testing.assert_allclose(sums[label], vectors[labels == label].sum(axis=0), atol=1e-5)
        assert counts[label] == (labels == label).sum()


@few
@given(seeds, st.integers(1, 6))
def test_best_columns_are_the_highest_in_order(seed: int, width: int) -> None:
    scores = np.random.default_rng(seed).integers(0, 9, (12, 8)).astype(np.float32)  # with ties
    out = np.empty((12, width), np.int32)
    kernels.best_columns(scores, out)
    np.testing.assert_array_equal(out, np.argsort(-scores, axis=1, kind="stable")[:, :width])


@few
@given(seeds)
def test_keep_better(seed: int) -> None:
    generator = np.random.default_rng(seed)
    scores = generator.standard_normal((6, 4)).astype(np.float32)
    rows, members = generator.permutation(10)[:6], generator.permutation(20)[:4]
    best = generator.standard_normal(10).astype(np.float32)
    labels = np.full(10, -1, np.int64)
    before = best.copy()
    kernels.keep_better(scores, rows, members, best, labels)
    for i, row in enumerate(rows):
        if scores[i].max() > before[row]:
            assert (best[row], labels[row]) == (scores[i].max(), members[scores[i].argmax()])
        else:
            assert (best[row], labels[row]) == (before[row], -1)


@few
@given(seeds)
def test_lists_hold_each_passage_once_for_each_of_its_centroids(seed: int) -> None:
    generator = np.random.default_rng(seed)
    starts, ends = bounds_of(generator, 15)
    codes = generator.integers(0, 6, ends[-1]).astype(np.uint16)
    counts = np.zeros(6, np.int64)
    kernels.count_listed(codes, starts, ends, counts)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    entries = np.empty(offsets[-1], np.uint32)
    kernels.fill_lists(codes, starts, ends, offsets[:-1].copy(), entries)
    for centroid in range(6):
        expected = [p for p in range(15) if centroid in codes[starts[p] : ends[p]]]
        assert entries[offsets[centroid] : offsets[centroid + 1]].tolist() == expected


@few
@given(seeds, st.integers(1, 7))
def test_probe(seed: int, probes: int) -> None:
    scores = np.random.default_rng(seed).integers(-9, 9, (15, 4)).astype(np.float32)
    out, lowest = np.empty((4, probes), np.int32), np.empty(4, np.float32)
    kernels.probe(scores, out, lowest)
    np.testing.assert_array_equal(out, np.argsort(-scores.T, axis=1, kind="stable")[:, :probes])
    np.testing.assert_array_equal(lowest, scores.min(axis=0))


def test_marks_follow_the_lists_and_pass_over_centroids_without_one() -> None:
    offsets, entries = np.array([0, 2, 2, 3]), np.array([0, 4, 2], np.uint32)
    marks = np.zeros(6, np.bool_)
    kernels.mark_listed(np.array([0, 1, 0, 9], np.int32), offsets, entries, marks)
    assert np.flatnonzero(marks).tolist() == [0, 4]


@few
@given(seeds, st.integers(1, 70))
def test_centroid_scores_are_maxsim_by_centroids_up_to_rounding(seed: int, tokens: int) -> None:
    generator = np.random.default_rng(seed)
    starts, ends = bounds_of(generator, 8)
    codes = generator.integers(0, 11, ends[-1]).astype(np.uint16)
    table = (generator.standard_normal((11, tokens)) * generator.uniform(0.1, 9, tokens)).astype(np.float32)
    lowest, reach = table.min(axis=0), np.ptp(table, axis=0)
    blocks = -(-tokens // kernels.LANES)
    small, unit = (
        np.zeros((blocks, 11, kernels.LANES), np.uint8),
        np.zeros(blocks * kernels.LANES, np.float32),
    )
    unit[:tokens] = reach / 127
    kernels.to_bytes(table, lowest, (127 / reach).astype(np.float32), small)
    rows = np.moveaxis(small, 0, 1).reshape(11, -1)
    np.testing.assert_allclose(
        rows[:, :tokens] * unit[:tokens] + lowest, table, atol=float(reach.max() / 250)
    )
    out = np.empty(8, np.float32)
    kernels.centroid_scores(small.view(np.uint64), unit.reshape(blocks, -1), codes, starts, ends, out)
    expected = [table[codes[s:e]].max(axis=0).sum() for s, e in zip(starts, ends, strict=True)]
    assert np.abs(out + lowest.sum() - expected).max() <= reach.sum() / 250


@few
@given(seeds, st.sampled_from([(3, 1), (4, 2), (2, 8)]))
def test_full_scores_add_both_parts(seed: int, shape: tuple[int, int]) -> None:
    generator = np.random.default_rng(seed)
    width, parts = shape
    starts, ends = bounds_of(generator, 7)
    wanted = np.array([5, 1, 2])
    packed = generator.integers(0, 256, (ends[-1], width)).astype(np.uint8)
    meaning = generator.standard_normal((parts, width, 256)).astype(np.float32)
    rows = int((ends - starts)[wanted].sum())
    out = np.zeros((rows, parts, width), np.float32)
    kernels.unpack_residuals(packed, meaning, starts[wanted], ends[wanted], out)
    expected = [
        [[meaning[part, i, packed[v, i]] for i in range(width)] for part in range(parts)]
        for p in wanted
        for v in range(starts[p], ends[p])
    ]
    np.testing.assert_array_equal(out, expected)

    codes, lengths = generator.integers(0, 5, ends[-1]).astype(np.uint16), packed[:, 0].copy()
    table = generator.standard_normal((5, 3)).astype(np.float32)
    scales = generator.uniform(0.1, 2, 256).astype(np.float32)
    products = generator.standard_normal((rows, 3)).astype(np.float32)
    scores = np.empty(3, np.float32)
    kernels.full_scores(products, table, codes, lengths, scales, starts[wanted], ends[wanted], scores)
    row = 0
    for p, score in zip(wanted, scores, strict=True):
        v = np.arange(starts[p], ends[p])
        each = table[codes[v]] + scales[lengths[v]][:, None] * products[row : row + len(v)]
        assert score == pytest.approx(each.max(axis=0).sum(), rel=1e-5, abs=1e-5)
        row += len(v)


@pytest.mark.parametrize("size", [0, 1, 7, 100_003])
def test_work_is_shared_without_gap_or_overlap(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMCOLBERT_THREADS", "3")
    assert thread_count() == 3
    touched = np.zeros(size, np.int64)

    def work(begin: int, end: int) -> None:
        touched[begin:end] += 1

    in_parallel(work, size, 10)
    assert (touched == 1).all()


def test_an_error_in_a_part_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMCOLBERT_THREADS", "2")

    def work(begin: int, end: int) -> None:
        if begin:
            raise ValueError("second half")

    with pytest.raises(ValueError, match="second half"):
        in_parallel(work, 100, 1)


def test_kernels_compile_where_no_cache_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    import numba

    real = numba.njit

    def refusing(*args: object, **options: object) -> object:
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return real(*args, **options)

    monkeypatch.setattr(numba, "njit", refusing)

    @kernel
    def twice(x: int) -> int:
        return x + x

    assert twice(21) == 42
