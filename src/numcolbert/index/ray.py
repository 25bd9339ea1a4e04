"""Shards of plaid on a Ray cluster: each node searches its part, this process merges by score.

The scores of different shards compare as they are, because a score depends on the query and one passage
only. The shards are ordinary plaid folders below the engine's own (a document of key `k` lies in shard
`k modulo shards`), which every node must see under the same path; this process writes them, the nodes read
what is committed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numcolbert.config import settings_from
from numcolbert.errors import (
    InputError,
    NotFoundError,
    StorageError,
    UsageError,
)
from numcolbert.files import storage_errors
from numcolbert.index.adapter_state import read_state, state_bytes, write_state
from numcolbert.index.base import Scored
from numcolbert.index.checks import checked_documents, checked_k, checked_query
from numcolbert.index.columns import STATE
from numcolbert.index.plaid import PlaidEngine
from numcolbert.index.plaid_settings import PlaidSettings


@dataclass(frozen=True, slots=True)
class RaySettings:
    shards: int = 2
    """Parts that are searched side by side: as many as the cluster has nodes, or a multiple of that."""
    address: str | None = None
    """Of the cluster. None: the one that `RAY_ADDRESS` names or that runs here, else a new one here."""
    timeout: int = 60
    """Seconds after which shards that do not answer are given up."""
    nbits: int = 4
    centroids: int | None = None
    nprobe: int | None = None
    candidates: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.shards < 1 or self.timeout < 1:
            raise UsageError(
                f"shards is {self.shards} and timeout {self.timeout}.", hint="give at least 1 for both"
            )
        self.plaid()

    def plaid(self) -> PlaidSettings:
        """What each shard is set to; see `PlaidSettings`."""
        return PlaidSettings(self.nbits, self.centroids, self.nprobe, self.candidates, self.seed)


class RayEngine:
    """`Engine` on a Ray cluster.

    Changes that are not committed are known to this process alone, so it searches the shards itself until
    they are.
    """

    KIND = "ray"

    def __init__(self, folder: Path, settings: RaySettings, shards: list[PlaidEngine]) -> None:
        self._folder, self._settings, self._shards = folder, settings, shards
        self._changing = threading.RLock()
        self._pending = False
        self._cluster: _Cluster | None = None

    @classmethod
    def create(
        cls,
        folder: Path,
        dim: int,
        settings: RaySettings | None = None,
        *,
        sample: NDArray[np.float32] | None = None,
        expected_vectors: int | None = None,
    ) -> RayEngine:
        """Make empty shards; `sample` and `expected_vectors` are those of `PlaidEngine.create`."""
        settings = settings or RaySettings()
        with storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        share = None if expected_vectors is None else -(-expected_vectors // settings.shards)
        shards = [
            PlaidEngine.create(path, dim, settings.plaid(), sample=sample, expected_vectors=share)
            for path in _paths(folder, settings.shards)
        ]
        write_state(folder, cls.KIND, settings=asdict(settings))
        return cls(folder, settings, shards)

    @classmethod
    def open(cls, folder: Path) -> RayEngine:
        state = read_state(folder, cls.KIND, "settings")
        settings = settings_from(RaySettings, state["settings"], str(folder / STATE))
        return cls(folder, settings, [PlaidEngine.open(path) for path in _paths(folder, settings.shards)])

    @property
    def dim(self) -> int:
        return self._shards[0].dim

    @property
    def count(self) -> int:
        return sum(shard.count for shard in self._shards)

    def keys(self) -> NDArray[np.int64]:
        return np.sort(np.concatenate([shard.keys() for shard in self._shards]))

    def add(self, keys: Sequence[int], vectors: Sequence[NDArray[np.float32]]) -> None:
        numbers = checked_documents(keys, vectors, self.dim)[0]
        with self._changing:
            known = np.isin(numbers, self.keys())
            if known.any():
                raise InputError(
                    f"There already is a document with key {numbers[known][0]}.",
                    hint="delete it first, or choose a new key",
                )
            self._pending = True
            for shard, places in self._by_shard(numbers):
                shard.add(numbers[places].tolist(), [vectors[at] for at in places.tolist()])

    def delete(self, keys: Sequence[int]) -> None:
        numbers = np.asarray(keys, np.int64).reshape(-1)
        with self._changing:
            known = np.isin(numbers, self.keys())
            if not known.all():
                raise NotFoundError(
                    f"There is no document with key {numbers[~known][0]}.", hint="it may have been deleted"
                )
            self._pending = True
            for shard, places in self._by_shard(numbers):
                shard.delete(numbers[places].tolist())

    def _by_shard(self, keys: NDArray[np.int64]) -> Iterator[tuple[PlaidEngine, NDArray[np.int64]]]:
        """Each shard that some of the keys belong to, with their places among `keys`."""
        for number, shard in enumerate(self._shards):
            places = np.flatnonzero(keys % len(self._shards) == number)
            if len(places):
                yield shard, places

    def search(
        self, query: NDArray[np.float32], k: int, *, allowed: NDArray[np.int64] | None = None
    ) -> Scored:
        query, k = checked_query(query, self.dim), checked_k(k)
        parts = [
            None if allowed is None else allowed[allowed % len(self._shards) == number]
            for number in range(len(self._shards))
        ]
        if self._pending:
            found = [s.search(query, k, allowed=part) for s, part in zip(self._shards, parts, strict=True)]
        else:
            found = self._on_cluster(query, k, parts)
        return _merged(found, k)

    def _on_cluster(
        self, query: NDArray[np.float32], k: int, parts: Sequence[NDArray[np.int64] | None]
    ) -> list[Scored]:
        with self._changing:
            if self._cluster is None:
                self._cluster = _Cluster(_paths(self._folder, len(self._shards)), self._settings)
            cluster = self._cluster
        return cluster.search(query, k, parts)

    def token_scores(self, query: NDArray[np.float32], key: int) -> NDArray[np.float32]:
        return self._shard_of(key).token_scores(query, key)

    def vectors(self, key: int) -> NDArray[np.float32]:
        return self._shard_of(key).vectors(key)

    def _shard_of(self, key: int) -> PlaidEngine:
        return self._shards[key % len(self._shards)]

    def commit(self) -> None:
        with self._changing:
            for shard in self._shards:
                shard.commit()
            self._pending = False
            self._cluster = None  # its nodes hold the state before; the next search opens the shards anew

    def compact(self) -> None:
        with self._changing:
            self._pending = True
            for shard in self._shards:
                shard.compact()

    def files(self) -> Mapping[str, int]:
        """Without the shards' own state files: those are replaced with every commit, not grown."""
        found = {STATE: state_bytes(self._folder)}
        for path, shard in zip(_paths(self._folder, len(self._shards)), self._shards, strict=True):
            found |= {f"{path.name}/{name}": size for name, size in shard.files().items() if name != STATE}
        return found

    def stats(self) -> dict[str, Any]:
        parts = [shard.stats() for shard in self._shards]
        sums = {
            name: sum(part[name] for part in parts) for name in ("documents", "deleted", "vectors", "bytes")
        }
        return {
            "engine": self.KIND,
            **sums,
            "dim": self.dim,
            "nbits": self._settings.nbits,
            "shards": len(parts),
            "drift": max(part["drift"] for part in parts),
            "advice": next((part["advice"] for part in parts if part["advice"]), None),
            "ratio_to_fp32": sums["bytes"] / max(1, 4 * self.dim * sums["vectors"]),
        }

    def close(self) -> None:
        self._cluster = None
        for shard in self._shards:
            shard.close()


class _Shard:
    """What runs on a node: one shard, as it was when it was opened."""

    def __init__(self, path: str) -> None:
        self._engine = PlaidEngine.open(Path(path))

    def search(
        self, query: NDArray[np.float32], k: int, allowed: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        found = self._engine.search(query, k, allowed=allowed)
        return found.keys, found.scores


class _Cluster:
    """The shards as Ray actors, spread over the nodes; they end when this object is forgotten."""

    def __init__(self, paths: Sequence[Path], settings: RaySettings) -> None:
        import ray

        self._ray = ray
        self._timeout = settings.timeout
        if not ray.is_initialized():
            try:
                ray.init(
                    address=settings.address,
                    include_dashboard=False if settings.address is None else None,
                    log_to_driver=False,
                    logging_level=logging.WARNING,
                )
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise StorageError(
                    f"There is no Ray cluster at {settings.address or 'hand'}: {error}.",
                    hint="start one with 'ray start --head', or check the address",
                ) from error
        # No core is reserved: a shard that found none free would wait for ever. A lost node's shards restart.
        remote = ray.remote(num_cpus=0, scheduling_strategy="SPREAD", max_restarts=-1, max_task_retries=2)(
            _Shard
        )
        self._actors = [remote.remote(str(path)) for path in paths]

    def search(
        self, query: NDArray[np.float32], k: int, parts: Sequence[NDArray[np.int64] | None]
    ) -> list[Scored]:
        asked = [actor.search.remote(query, k, part) for actor, part in zip(self._actors, parts, strict=True)]
        try:
            return [Scored(*found) for found in self._ray.get(asked, timeout=self._timeout)]
        except self._ray.exceptions.RayError as error:
            raise StorageError(
                f"A shard cannot be searched: {str(error).strip().splitlines()[-1]}",
                hint="see with 'ray status' whether the cluster runs; every node must see the index folder",
            ) from error


def _merged(parts: Sequence[Scored], k: int) -> Scored:
    keys = np.concatenate([part.keys for part in parts])
    scores = np.concatenate([part.scores for part in parts])
    order = np.lexsort((keys, -scores))[:k]
    return Scored(keys[order], scores[order])


def _paths(folder: Path, shards: int) -> list[Path]:
    return [folder.absolute() / f"shard-{number}" for number in range(shards)]
