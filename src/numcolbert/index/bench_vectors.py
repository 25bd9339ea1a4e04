"""Sets of vectors to measure engines with: encoded once and kept, or made up in the likeness of others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from numcolbert.errors import InputError
from numcolbert.files import replacing_folder, require_file
from numcolbert.progress import Progress

Vectors = NDArray[np.float32]
_READ_AT_A_TIME = 131_072


@dataclass(frozen=True)
class VectorSet:
    """Passages and queries as vectors. On disk: `vectors.f16`, `lengths.i32` and `queries.npz`."""

    file: Path
    vectors: NDArray[np.float16]  # [vectors, dim], mapped
    ends: NDArray[np.int64]  # [passages]
    queries: list[Vectors]  # without gates
    gates: list[Vectors] | None  # [tokens] of each query, where a model has given them

    @classmethod
    def load(cls, folder: Path, passages: int | None = None) -> VectorSet:
        """The first `passages` of a folder."""
        lengths = np.fromfile(require_file(folder / "lengths.i32", "file"), np.int32)
        saved = np.load(require_file(folder / "queries.npz", "file"))
        queries = np.split(saved["vectors"].astype(np.float32), np.cumsum(saved["lengths"])[:-1])
        if passages is not None and passages > len(lengths):
            raise InputError(
                f"'{folder}' holds {len(lengths):,} passages, {passages:,} are asked for.",
                hint="ask for fewer, or make a larger set",
            )
        ends = np.cumsum(lengths[:passages], dtype=np.int64)
        file, dim = require_file(folder / "vectors.f16", "file"), queries[0].shape[1]
        mapped = np.memmap(file, np.float16, "r", shape=(int(ends[-1]), dim))
        known = "gates" in saved and len(saved["gates"]) > 0
        gates = np.split(saved["gates"], np.cumsum(saved["lengths"])[:-1]) if known else None
        return cls(file, np.asarray(mapped), ends, queries, gates)

    def gated_queries(self) -> list[Vectors]:
        """With the model's gates; without any, weighted the way a gate does."""
        if self.gates is None:
            return [gated(query, seed) for seed, query in enumerate(self.queries)]
        return [query * gate[:, None] for query, gate in zip(self.queries, self.gates, strict=True)]

    @property
    def count(self) -> int:
        return len(self.ends)

    def batches(self, size: int = 2000) -> Iterator[tuple[range, list[Vectors]]]:
        """Keys and passages, as many at a time as a build of an index takes."""
        starts = np.concatenate([[0], self.ends])
        for begin in range(0, self.count, size):
            end = min(begin + size, self.count)
            block = self._read(starts[begin], starts[end])
            yield range(begin, end), np.split(block, self.ends[begin : end - 1] - starts[begin])

    def sample(self, count: int, seed: int = 0) -> Vectors:
        total = len(self.vectors)
        rows = np.random.default_rng(seed).choice(total, min(count, total), replace=False)
        rows.sort()
        chosen = np.empty((len(rows), self.vectors.shape[1]), np.float32)
        for begin in range(0, total, _READ_AT_A_TIME):
            end = min(begin + _READ_AT_A_TIME, total)
            first, last = np.searchsorted(rows, [begin, end])
            chosen[first:last] = self._read(begin, end)[rows[first:last] - begin]
        return chosen

    def _read(self, begin: int, end: int) -> Vectors:
        """Not from the map: its pages would count as memory of the engine that is measured."""
        dim = self.vectors.shape[1]
        read = np.fromfile(self.file, np.float16, (end - begin) * dim, offset=2 * begin * dim)
        return read.reshape(-1, dim).astype(np.float32)


def gated(query: Vectors, seed: int) -> Vectors:
    """The query with two tokens weighted the way a gate does: one up, one down."""
    weights = np.ones(len(query), np.float32)
    chosen = np.random.default_rng(seed).permutation(len(query))[:2]
    weights[chosen] = [len(query) / 4, 0.3][: len(chosen)]
    return query * weights[:, None]


def save(
    folder: Path,
    passages: Iterable[Vectors],
    queries: list[Vectors],
    gates: list[Vectors] | None = None,
    total: int | None = None,
) -> None:
    """Write a set, passage by passage."""
    lengths = []
    with replacing_folder(folder) as aside:
        with (aside / "vectors.f16").open("wb") as file, Progress("encode", total, "passages") as progress:
            for rows in passages:
                file.write(rows.astype(np.float16).tobytes())
                lengths.append(len(rows))
                progress.advance()
        np.asarray(lengths, np.int32).tofile(aside / "lengths.i32")
        np.savez(
            aside / "queries.npz",
            lengths=[len(query) for query in queries],
            vectors=np.concatenate(queries),
            gates=np.concatenate(gates) if gates else np.empty(0, np.float32),
        )


def imitate(original: VectorSet, count: int, seed: int = 0) -> Iterator[Vectors]:
    """New passages with the lengths, the clusters and the neighbourhoods of the original ones.

    Each takes its tokens from two passages by turns and moves each of them a little, so that the nearest
    other vector is about as near as in real text.
    """
    generator = np.random.default_rng(seed)
    starts = np.concatenate([[0], original.ends[:-1]])
    for _ in range(count):
        one, other = generator.integers(0, original.count, 2)
        first = original.vectors[starts[one] : original.ends[one]].astype(np.float32)
        second = original.vectors[starts[other] : original.ends[other]].astype(np.float32)
        second = second[generator.integers(0, len(second), len(first))]
        mixed = np.where(generator.random((len(first), 1)) < 0.5, first, second)
        moved = mixed + generator.normal(0, 0.35 / np.sqrt(mixed.shape[1]), mixed.shape).astype(np.float32)
        yield moved / np.linalg.norm(moved, axis=1, keepdims=True)
