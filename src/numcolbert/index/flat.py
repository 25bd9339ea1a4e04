"""The exact engine: every vector in half precision, every passage scored. The measure of all others."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numcolbert.index.base import Scored
from numcolbert.index.checks import checked_documents, checked_k, checked_query
from numcolbert.index.columns import Column, Columns, Kind
from numcolbert.index.halves import widened
from numcolbert.index.parallel import in_parallel
from numcolbert.index.passages import PASSAGE_COLUMNS, Passages
from numcolbert.index.products import products

BLOCK = 2048
"""Vectors scored at a time: 1 MB of float32, which stays in a core's own cache."""


class FlatEngine:
    """`Engine` by brute force. Half precision costs a coordinate at most a relative 5e-4.

    Plain numpy throughout: compiled kernels would take longer to load than a small collection to search.
    """

    KIND = Kind("flat", 1)

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        columns.require_columns(_layout(columns["vectors"].width))
        self._changing = threading.RLock()
        self._snapshot = self._look()
        self._snapshot[0].refuse_damaged(columns["vectors"].rows, columns.folder)

    @classmethod
    def create(cls, folder: Path, dim: int) -> FlatEngine:
        return cls(Columns.create(folder, cls.KIND, _layout(dim), {}))

    @classmethod
    def open(cls, folder: Path) -> FlatEngine:
        return cls(Columns.open(folder, cls.KIND))

    def _look(self) -> tuple[Passages, NDArray[np.float16]]:
        """What a search works on: it stays valid while another thread changes the engine."""
        return Passages.of(self._columns), self._columns.array("vectors")

    @property
    def dim(self) -> int:
        return self._columns["vectors"].width

    @property
    def count(self) -> int:
        return self._snapshot[0].count

    def keys(self) -> NDArray[np.int64]:
        return self._snapshot[0].sorted_keys()

    def add(self, keys: Sequence[int], vectors: Sequence[NDArray[np.float32]]) -> None:
        key_array, lengths, joined = checked_documents(keys, vectors, self.dim)
        with self._changing:
            self._snapshot[0].refuse_known(key_array)
            ends = self._columns["vectors"].rows + np.cumsum(lengths)
            self._columns.append(vectors=joined, ends=ends, keys=key_array)
            self._snapshot = self._look()

    def delete(self, keys: Sequence[int]) -> None:
        with self._changing:
            positions = self._snapshot[0].positions(keys)
            self._columns.append(deleted=np.unique(positions))
            self._snapshot = self._look()

    def search(
        self, query: NDArray[np.float32], k: int, *, allowed: NDArray[np.int64] | None = None
    ) -> Scored:
        query, k = checked_query(query, self.dim), checked_k(k)
        passages, vectors = self._snapshot
        wanted = np.flatnonzero(passages.searchable(allowed))
        scores = np.empty(len(wanted), np.float32)
        starts, ends = passages.starts[wanted], passages.ends[wanted]
        blocks = _blocks(starts, ends)

        def work(first: int, last: int) -> None:
            for some in blocks[first:last]:
                _score_block(query, vectors, starts[some], ends[some], scores[some])

        in_parallel(work, len(blocks), 4)
        return passages.best(wanted, scores, k)

    def token_scores(self, query: NDArray[np.float32], key: int) -> NDArray[np.float32]:
        return checked_query(query, self.dim) @ self.vectors(key).T

    def vectors(self, key: int) -> NDArray[np.float32]:
        passages, vectors = self._snapshot
        position = int(passages.positions([key])[0])
        return widened(vectors[passages.starts[position] : passages.ends[position]])

    def commit(self) -> None:
        with self._changing:
            self._columns.commit()

    def compact(self) -> None:
        with self._changing:
            passages, vectors = self._snapshot
            if passages.count == len(passages.keys):
                return
            self._columns.replace(vectors=passages.live_rows(vectors), **passages.compacted())
            self._snapshot = self._look()

    def files(self) -> Mapping[str, int]:
        return self._columns.files()

    def stats(self) -> dict[str, Any]:
        passages, vectors = self._snapshot
        size = sum(self.files().values())
        return {
            "engine": self.KIND.engine,
            "documents": passages.count,
            "deleted": len(passages.deleted),
            "vectors": len(vectors),
            "dim": self.dim,
            "bytes": size,
            "ratio_to_fp32": size / max(1, 4 * self.dim * len(vectors)),
        }

    def close(self) -> None:
        self._columns.close()


def _layout(dim: int) -> dict[str, Column]:
    return {**PASSAGE_COLUMNS, "vectors": Column("<f2", dim)}


def _blocks(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> list[slice]:
    """Runs of passages whose vectors span at most `BLOCK` rows (one passage may be longer)."""
    blocks, begin = [], 0
    while begin < len(starts):
        end = max(begin + 1, int(np.searchsorted(ends, starts[begin] + BLOCK, side="right")))
        blocks.append(slice(begin, end))
        begin = end
    return blocks


def _score_block(
    query: NDArray[np.float32],
    vectors: NDArray[np.float16],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    out: NDArray[np.float32],
) -> None:
    first, last = int(starts[0]), int(ends[-1])
    if 2 * int((ends - starts).sum()) < last - first:  # a filter left little of this stretch: gather
        lengths = ends - starts
        rows = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
        block = vectors[rows]
        ends = np.cumsum(lengths)
        starts = ends - lengths
    else:
        block = vectors[first:last]
        starts, ends = starts - first, ends - first
    similarities = products(widened(block), query)  # [rows, query tokens]
    if (starts[1:] == ends[:-1]).all():
        maxima = np.maximum.reduceat(similarities, starts, axis=0)  # [passages, query tokens]
    else:  # every second stretch is one between passages
        edges = np.stack([starts, ends], axis=1).reshape(-1)[:-1]
        maxima = np.maximum.reduceat(similarities, edges, axis=0)[::2]
    maxima.sum(axis=1, out=out)
