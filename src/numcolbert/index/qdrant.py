"""Vectors in Qdrant: a server, a cluster, or Qdrant's own files inside the index folder.

Documents stay in the index's store; Qdrant holds one point a document, whose id is the document's key and
whose vector is the list of its token vectors, compared by MaxSim over dot products. A collection that
compares by cosine divides every query vector by its length, which is what the gate says: it is refused.

What differs from our own engines: Qdrant makes a change durable and visible at once, so `commit` has only
counters left to write. The store decides which documents exist, hence nobody sees one before its time.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numcolbert.config import settings_from
from numcolbert.errors import (
    ConflictError,
    DamagedIndexError,
    InputError,
    NotFoundError,
    StorageError,
)
from numcolbert.files import storage_errors
from numcolbert.index.adapter_state import read_state, state_bytes, write_state
from numcolbert.index.base import Scored
from numcolbert.index.checks import checked_documents, checked_k, checked_query
from numcolbert.index.columns import STATE
from numcolbert.index.qdrant_server import (
    Connection,
    QdrantSettings,
    connect,
    create_collection,
    disconnect,
    require_empty,
    require_suitable,
)

_NUMBERS_A_REQUEST = 1_000_000
"""About 12 MB of JSON; Qdrant refuses bodies above 32 MB."""
_KEYS_A_REQUEST = 10_000


class QdrantEngine:
    """`Engine` on a Qdrant collection."""

    KIND = "qdrant"

    def __init__(self, folder: Path, state: Mapping[str, Any], connection: Connection) -> None:
        self._folder, self._connection = folder, connection
        self._settings = settings_from(QdrantSettings, state["settings"], STATE)
        self._uid, self._name, self._dim = str(state["uid"]), str(state["collection"]), int(state["dim"])
        self._vectors = int(state["vectors"])
        self._changing = threading.RLock()
        self._closed = False

    @classmethod
    def create(cls, folder: Path, dim: int, settings: QdrantSettings | None = None) -> QdrantEngine:
        settings = settings or QdrantSettings()
        with storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        if (folder / STATE).exists():
            raise ConflictError(
                f"'{folder}' already holds an engine.", hint="open it, or choose an empty folder"
            )
        uid = uuid.uuid4().hex
        name = settings.collection or f"numcolbert-{uid[:12]}"
        state = {"uid": uid, "settings": asdict(settings), "collection": name, "dim": dim, "vectors": 0}
        connection = connect(folder, uid, settings)
        try:
            with connection.use() as client:
                if client.collection_exists(name):
                    require_suitable(client, name, dim)
                    require_empty(client, name)
                else:
                    create_collection(client, name, dim, settings)
            engine = cls(folder, state, connection)
            engine.commit()
        except BaseException:
            disconnect(uid)
            raise
        return engine

    @classmethod
    def open(cls, folder: Path) -> QdrantEngine:
        state = read_state(folder, cls.KIND, "uid", "settings", "collection", "dim", "vectors")
        settings = settings_from(QdrantSettings, state["settings"], str(folder / STATE))
        uid = str(state["uid"])
        connection = connect(folder, uid, settings)
        try:
            with connection.use() as client:
                name = state["collection"]
                if not client.collection_exists(name):
                    raise DamagedIndexError(
                        f"Qdrant at {connection.place} has no collection '{name}'.",
                        hint="restore it there, or build the index again",
                    )
                require_suitable(client, name, int(state["dim"]))
            return cls(folder, state, connection)
        except BaseException:
            disconnect(uid)
            raise

    @property
    def dim(self) -> int:
        return self._dim

    @property
    def count(self) -> int:
        with self._connection.use() as client:
            return int(client.count(self._name, exact=True).count)

    def keys(self) -> NDArray[np.int64]:
        found: list[int] = []
        offset: Any = None
        while True:
            with self._connection.use() as client:
                points, offset = client.scroll(
                    self._name, limit=_KEYS_A_REQUEST, offset=offset, with_payload=False, with_vectors=False
                )
            found += [int(point.id) for point in points]
            if offset is None:
                return np.sort(np.array(found, np.int64))

    def add(self, keys: Sequence[int], vectors: Sequence[NDArray[np.float32]]) -> None:
        checked_documents(keys, vectors, self.dim)
        with self._changing:
            if known := self._known(keys):
                raise InputError(
                    f"There already is a document with key {min(known)}.",
                    hint="delete it first, or choose a new key",
                )
            sent: list[int] = []
            try:
                for some in _requests(vectors, self.dim):
                    sent += keys[some]
                    self._upsert(keys[some], vectors[some])
            except BaseException:
                self._take_back(sent)
                raise
            self._vectors += sum(map(len, vectors))

    def delete(self, keys: Sequence[int]) -> None:
        with self._changing:
            known = self._known(keys)
            if missing := [key for key in keys if key not in known]:
                raise NotFoundError(
                    f"There is no document with key {missing[0]}.", hint="it may have been deleted"
                )
            self._delete(list(known))
            self._vectors -= sum(known.values())

    def search(
        self, query: NDArray[np.float32], k: int, *, allowed: NDArray[np.int64] | None = None
    ) -> Scored:
        query, k = checked_query(query, self.dim), checked_k(k)
        if allowed is not None and not len(allowed):
            return _scored([])
        from qdrant_client import models

        # Embedded, every point is scored anyhow, and the choice among them is faster made here.
        here = self._settings.url is None and allowed is not None
        wanted = None
        if allowed is not None and not here:
            wanted = models.Filter(must=[models.HasIdCondition(has_id=allowed.tolist())])
        with self._connection.use() as client:
            points = client.query_points(
                self._name,
                query=query.tolist(),
                limit=max(1, client.count(self._name).count) if here else k,
                query_filter=wanted,
                search_params=models.SearchParams(exact=True) if self._settings.exact else None,
                with_payload=False,
            ).points
        found = [(int(point.id), float(point.score)) for point in points]
        if here:
            chosen = set(np.asarray(allowed).tolist())
            found = [item for item in found if item[0] in chosen][:k]
        return _scored(found)

    def token_scores(self, query: NDArray[np.float32], key: int) -> NDArray[np.float32]:
        return checked_query(query, self.dim) @ self.vectors(key).T

    def vectors(self, key: int) -> NDArray[np.float32]:
        with self._connection.use() as client:
            points = client.retrieve(self._name, [key], with_payload=False, with_vectors=True)
        if not points:
            raise NotFoundError(f"There is no document with key {key}.", hint="it may have been deleted")
        return np.array(points[0].vector, np.float32)

    def commit(self) -> None:
        with self._changing:
            write_state(
                self._folder,
                self.KIND,
                uid=self._uid,
                settings=asdict(self._settings),
                collection=self._name,
                dim=self._dim,
                vectors=self._vectors,
            )

    def compact(self) -> None:
        """Qdrant gives space back by itself."""

    def files(self) -> Mapping[str, int]:
        return {STATE: state_bytes(self._folder)}

    def stats(self) -> dict[str, Any]:
        return {
            "engine": self.KIND,
            "documents": self.count,
            "vectors": self._vectors,
            "dim": self.dim,
            "qdrant": self._connection.place,
            "collection": self._name,
        }

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            disconnect(self._uid)

    def _known(self, keys: Sequence[int]) -> dict[int, int]:
        """Which of the keys are there, with the number of their vectors."""
        found: dict[int, int] = {}
        for begin in range(0, len(keys), _KEYS_A_REQUEST):
            with self._connection.use() as client:
                points = client.retrieve(self._name, list(keys[begin : begin + _KEYS_A_REQUEST]))
            found |= {int(point.id): int((point.payload or {}).get("vectors", 0)) for point in points}
        return found

    def _upsert(self, keys: Sequence[int], vectors: Sequence[NDArray[np.float32]]) -> None:
        from qdrant_client import models

        batch = models.Batch(
            ids=list(keys),
            vectors=[rows.tolist() for rows in vectors],
            payloads=[{"vectors": len(rows)} for rows in vectors],
        )
        with self._connection.use() as client:
            client.upsert(self._name, batch, wait=True)

    def _delete(self, keys: list[int]) -> None:
        from qdrant_client import models

        if keys:
            with self._connection.use() as client:
                client.delete(self._name, models.PointIdsList(points=[*keys]), wait=True)

    def _take_back(self, keys: list[int]) -> None:
        """After a failure; where Qdrant no longer answers at all, the next writer drops what is unclaimed."""
        with suppress(StorageError):
            self._delete(keys)


def _scored(found: list[tuple[int, float]]) -> Scored:
    found.sort(key=lambda item: (-item[1], item[0]))
    return Scored(
        np.array([key for key, _ in found], np.int64), np.array([score for _, score in found], np.float32)
    )


def _requests(vectors: Sequence[NDArray[np.float32]], dim: int) -> Iterator[slice]:
    """Runs of documents that fit into one request."""
    begin = numbers = 0
    for at, rows in enumerate(vectors):
        if at > begin and numbers + len(rows) * dim > _NUMBERS_A_REQUEST:
            yield slice(begin, at)
            begin, numbers = at, 0
        numbers += len(rows) * dim
    if begin < len(vectors):
        yield slice(begin, len(vectors))
