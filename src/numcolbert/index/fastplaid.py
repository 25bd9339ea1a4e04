"""fast-plaid for people with a GPU: it proposes, exact vectors decide.

fast-plaid forgets which document is which when one is deleted, takes in NaN, and cannot be changed and
abandoned. So the exact engine holds the documents and everything that is promised about them, and fast-plaid
a copy from which it names the candidates of a query; those get their exact score. The copy is made anew when
too much has been added since; until then new documents are candidates of every query.
"""

from __future__ import annotations

import shutil
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numcolbert.config import settings_from
from numcolbert.errors import (
    DamagedIndexError,
    UsageError,
)
from numcolbert.files import storage_errors
from numcolbert.index.adapter_state import read_state, state_bytes, write_state
from numcolbert.index.base import Scored
from numcolbert.index.checks import checked_k, checked_query
from numcolbert.index.columns import STATE
from numcolbert.index.flat import FlatEngine

EXACT = "exact"
"""Folder of the exact engine."""
_COPY, _KEYS = "copy", "keys.npy"
_UNPROPOSED = 4096
"""Documents that may be missing in fast-plaid's copy, or a quarter of those in it if that is more."""
_SMALLEST = 256
"""Documents below which there is no copy: the exact engine is faster alone."""
_CANDIDATES = 4
"""Candidates for each document that is wanted."""


@dataclass(frozen=True, slots=True)
class FastPlaidSettings:
    device: str | None = None
    """'cuda', 'cuda:1', 'cpu'. None: the GPUs where there are any."""
    nbits: int = 4
    nprobe: int = 8
    candidates: int = 4096
    """Documents that fast-plaid itself scores in full."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.nbits not in (1, 2, 4, 8):
            raise UsageError(f"nbits is {self.nbits}.", hint="choose 1, 2, 4 or 8")
        if self.nprobe < 1 or self.candidates < 1:
            raise UsageError("nprobe and candidates must be at least 1.", hint="leave them out")


class FastPlaidEngine:
    """`Engine` whose candidates come from fast-plaid."""

    KIND = "fastplaid"

    def __init__(
        self, folder: Path, settings: FastPlaidSettings, exact: FlatEngine, copy: str | None
    ) -> None:
        self._folder, self._settings, self._exact = folder, settings, exact
        self._changing = threading.RLock()
        self._proposer = None if copy is None else _Proposer(folder / copy, settings)

    @classmethod
    def create(cls, folder: Path, dim: int, settings: FastPlaidSettings | None = None) -> FastPlaidEngine:
        settings = settings or FastPlaidSettings()
        engine = cls(folder, settings, FlatEngine.create(folder / EXACT, dim), None)
        engine._write_state()
        return engine

    @classmethod
    def open(cls, folder: Path) -> FastPlaidEngine:
        state = read_state(folder, cls.KIND, "settings", "copy")
        settings = settings_from(FastPlaidSettings, state["settings"], str(folder / STATE))
        exact = FlatEngine.open(folder / EXACT)
        return cls(folder, settings, exact, state["copy"])

    @property
    def dim(self) -> int:
        return self._exact.dim

    @property
    def count(self) -> int:
        return self._exact.count

    def keys(self) -> NDArray[np.int64]:
        return self._exact.keys()

    def add(self, keys: Sequence[int], vectors: Sequence[NDArray[np.float32]]) -> None:
        self._exact.add(keys, vectors)

    def delete(self, keys: Sequence[int]) -> None:
        self._exact.delete(keys)

    def search(
        self, query: NDArray[np.float32], k: int, *, allowed: NDArray[np.int64] | None = None
    ) -> Scored:
        query, k, proposer = checked_query(query, self.dim), checked_k(k), self._proposer
        searchable = self._exact.keys()
        if allowed is not None:
            searchable = searchable[np.isin(searchable, allowed)]
        if proposer is None or len(searchable) <= _CANDIDATES * k:
            return self._exact.search(query, k, allowed=searchable)
        copied = np.isin(searchable, proposer.keys)
        proposed = proposer.propose(query, _CANDIDATES * k, searchable[copied])
        if len(proposed) < k:  # fast-plaid found nothing near: look at everything
            return self._exact.search(query, k, allowed=searchable)
        return self._exact.search(query, k, allowed=np.concatenate([proposed, searchable[~copied]]))

    def token_scores(self, query: NDArray[np.float32], key: int) -> NDArray[np.float32]:
        return self._exact.token_scores(query, key)

    def vectors(self, key: int) -> NDArray[np.float32]:
        return self._exact.vectors(key)

    def commit(self) -> None:
        with self._changing:
            self._exact.commit()
            keys, proposer = self._exact.keys(), self._proposer
            copied = 0 if proposer is None else int(np.isin(keys, proposer.keys).sum())
            bearable = max(_UNPROPOSED, copied // 4) if copied else _SMALLEST
            if len(keys) - copied > bearable:
                self._copy(keys)
            self._write_state()

    def compact(self) -> None:
        with self._changing:
            self._exact.compact()
            keys, proposer = self._exact.keys(), self._proposer
            if proposer is not None and not np.isin(proposer.keys, keys).all():
                self._proposer = None
                if len(keys) > _SMALLEST:
                    self._copy(keys)

    def files(self) -> Mapping[str, int]:
        """Without fast-plaid's copy, which can be made again."""
        exact = {f"{EXACT}/{name}": size for name, size in self._exact.files().items() if name != STATE}
        return {STATE: state_bytes(self._folder), **exact}

    def stats(self) -> dict[str, Any]:
        proposer = self._proposer
        return {
            **self._exact.stats(),
            "engine": self.KIND,
            "copied": 0 if proposer is None else len(proposer.keys),
            "nbits": self._settings.nbits,
            "device": self._settings.device or "automatic",
        }

    def close(self) -> None:
        self._proposer = None
        self._exact.close()

    def _copy(self, keys: NDArray[np.int64]) -> None:
        path = self._folder / f"{_COPY}-{uuid.uuid4().hex[:8]}"
        self._proposer = _Proposer.make(
            path, self._settings, keys, [self._exact.vectors(k) for k in keys.tolist()]
        )

    def _write_state(self) -> None:
        copy = None if self._proposer is None else self._proposer.path.name
        write_state(self._folder, self.KIND, settings=asdict(self._settings), copy=copy)
        for old in self._folder.glob(f"{_COPY}-*"):
            if old.name != copy:  # who has it open keeps it: its files stay mapped
                shutil.rmtree(old, ignore_errors=True)


class _Proposer:
    """fast-plaid's copy of the documents `keys`, which it knows by their position among these."""

    def __init__(self, path: Path, settings: FastPlaidSettings) -> None:
        self.path, self._settings = path, settings
        self._turn = threading.Lock()
        try:
            self.keys: NDArray[np.int64] = np.load(path / _KEYS)  # ascending
        except (OSError, ValueError) as error:
            raise DamagedIndexError(f"'{path}' is damaged.", hint="build the index again") from error
        self._index = _open(path, settings)

    @classmethod
    def make(
        cls,
        path: Path,
        settings: FastPlaidSettings,
        keys: NDArray[np.int64],
        vectors: list[NDArray[np.float32]],
    ) -> _Proposer:
        import torch

        index = _open(path, settings)
        index.create([torch.from_numpy(rows) for rows in vectors], nbits=settings.nbits, seed=settings.seed)
        index.close()
        with storage_errors(path):
            np.save(path / _KEYS, keys)
        return cls(path, settings)

    def propose(self, query: NDArray[np.float32], count: int, among: NDArray[np.int64]) -> NDArray[np.int64]:
        """About `count` keys that may be the best among those, all of which the copy holds."""
        import torch

        everything = len(among) == len(self.keys)
        with self._turn:
            found = self._index.search(
                torch.from_numpy(query)[None],
                top_k=min(count, len(among)),
                n_full_scores=max(count, self._settings.candidates),
                n_ivf_probe=self._settings.nprobe,
                show_progress=False,
                subset=None if everything else np.searchsorted(self.keys, among).tolist(),
            )
        return self.keys[[position for position, _ in found[0]]]


def _open(path: Path, settings: FastPlaidSettings) -> Any:
    from fast_plaid import search

    with storage_errors(path):
        path.mkdir(parents=True, exist_ok=True)
        return search.FastPlaid(index=str(path), device=settings.device)
