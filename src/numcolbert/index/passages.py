"""Which passages there are: key, place of the vectors, deleted or not. The same for every engine of ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numcolbert.errors import DamagedIndexError, InputError, NotFoundError
from numcolbert.index.base import Scored
from numcolbert.index.columns import Column, Columns

PASSAGE_COLUMNS = {
    "keys": Column("<i8", 0),  # one a passage, in order of arrival
    "ends": Column("<i8", 0),  # where its vectors end; they begin where those of the one before end
    "deleted": Column("<i8", 0),  # positions of deleted passages, in order of deletion
}

_PASSAGES_AT_A_TIME = 4096


@dataclass(frozen=True)
class Passages:
    """A snapshot of the passages. A *position* is its rank in order of arrival, deleted ones counted."""

    keys: NDArray[np.int64]  # [positions]
    ends: NDArray[np.int64]  # [positions]
    deleted: NDArray[np.int64]

    @classmethod
    def of(cls, columns: Columns) -> Passages:
        return cls(columns.array("keys"), columns.array("ends"), columns.array("deleted"))

    def refuse_damaged(self, vectors: int, folder: Path) -> None:
        """Raise unless every passage has its own of `vectors` vectors: kernels follow this blindly."""
        ends, deleted = self.ends, self.deleted
        sound = (
            len(self.keys) == len(ends)
            and (int(ends[-1]) if len(ends) else 0) == vectors
            and (not len(ends) or int(ends[0]) > 0)
            and bool((ends[1:] > ends[:-1]).all())
            and (not len(deleted) or (int(deleted.min()) >= 0 and int(deleted.max()) < len(ends)))
            and len(np.unique(deleted)) == len(deleted)
        )
        if not sound:
            raise DamagedIndexError(
                f"The passages in '{folder}' do not fit their vectors.",
                hint="copy the folder again or rebuild it",
            )

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        return np.concatenate([np.zeros(1, np.int64), self.ends[:-1]]) if len(self.ends) else self.ends

    @cached_property
    def live(self) -> NDArray[np.bool_]:
        """Which positions can be found; read-only."""
        mask = np.ones(len(self.keys), np.bool_)
        mask[self.deleted] = False
        mask.flags.writeable = False
        return mask

    @property
    def count(self) -> int:
        return len(self.keys) - len(self.deleted)

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Live keys ascending, and their positions."""
        positions = np.flatnonzero(self.live)
        keys = self.keys[positions]
        if len(keys) > 1 and not (keys[1:] > keys[:-1]).all():
            order = np.argsort(keys)
            keys, positions = keys[order], positions[order]
        return keys, positions

    def sorted_keys(self) -> NDArray[np.int64]:
        return self._sorted[0].copy()

    def find(self, keys: Sequence[int] | NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Position of each key, and whether there is a live passage of that key at all."""
        wanted = np.asarray(keys, np.int64).reshape(-1)
        known, positions = self._sorted
        if not len(known):
            return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return positions[at], known[at] == wanted

    def positions(self, keys: Sequence[int]) -> NDArray[np.int64]:
        """Position of each key; all of them must be there."""
        positions, found = self.find(keys)
        if not found.all():
            missing = np.asarray(keys, np.int64).reshape(-1)[~found][0]
            raise NotFoundError(f"There is no document with key {missing}.", hint="it may have been deleted")
        return positions

    def refuse_known(self, keys: NDArray[np.int64]) -> None:
        found = self.find(keys)[1]
        if found.any():
            raise InputError(
                f"There already is a document with key {keys[found][0]}.",
                hint="delete it first, or choose a new key",
            )

    def searchable(self, allowed: NDArray[np.int64] | None) -> NDArray[np.bool_]:
        """Which positions may be in a result."""
        if allowed is None:
            return self.live
        mask = np.zeros(len(self.keys), np.bool_)
        positions, found = self.find(allowed)
        mask[positions[found]] = True
        return mask

    def compacted(self) -> dict[str, list[NDArray[np.int64]]]:
        """The columns without deleted passages."""
        ends = np.cumsum((self.ends - self.starts)[self.live])
        return {"keys": [self.keys[self.live]], "ends": [ends], "deleted": []}

    def live_rows(self, rows: NDArray[Any]) -> Iterator[NDArray[Any]]:
        """The rows of live passages from an array with one row a vector, in parts of bounded size."""
        for begin in range(0, len(self.keys), _PASSAGES_AT_A_TIME):
            some = slice(begin, begin + _PASSAGES_AT_A_TIME)
            kept = np.repeat(self.live[some], self.ends[some] - self.starts[some])
            yield rows[self.starts[begin] : self.ends[some][-1]][kept]

    def best(self, positions: NDArray[np.int64], scores: NDArray[np.float32], k: int) -> Scored:
        """The best `k` of scored positions; equal scores in order of key."""
        if len(scores) > k:
            threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
            kept = scores >= threshold  # all that tie with the last place, so that keys decide
            positions, scores = positions[kept], scores[kept]
        keys = self.keys[positions]
        order = np.lexsort((keys, -scores))[:k]
        return Scored(keys[order], scores[order].astype(np.float32, copy=False))
