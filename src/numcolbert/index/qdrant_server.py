"""What the engine `qdrant` talks to: the client that all its engines share, and collections that fit."""

from __future__ import annotations

import atexit
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numcolbert.errors import ConflictError, StorageError, UsageError
from numcolbert.files import storage_errors

EMBEDDED = "qdrant"
"""Folder of Qdrant's own files where no server is named."""
KEY_VARIABLE = "QDRANT_API_KEY"
"""Where the server's key comes from; it is never written into an index."""


@dataclass(frozen=True, slots=True)
class QdrantSettings:
    url: str | None = None
    """Of the server. None: Qdrant's files lie in the index folder, for one process at a time."""
    collection: str | None = None
    """A new one, or an empty one that was made for this. None: a new name."""
    exact: bool = False
    """Whether a server compares every point instead of following its graph."""
    on_disk: bool = False
    """Whether a server leaves the vectors on disk."""
    timeout: int = 60
    """Seconds after which a server that does not answer is given up."""

    def __post_init__(self) -> None:
        if self.url is not None and not self.url.startswith(("http://", "https://")):
            raise UsageError(
                f"'{self.url}' is no address of a Qdrant server.", hint="write it as http://host:6333"
            )
        if self.timeout < 1:
            raise UsageError(f"timeout is {self.timeout}.", hint="give at least one second")


class Connection:
    """One client, shared by all engines of this process that work on the same collection."""

    def __init__(self, place: str, client: Any, *, embedded: bool) -> None:
        self.place = place
        self.client = client
        self.users = 0
        self._turn = threading.RLock() if embedded else None  # Qdrant's files bear one call at a time

    @contextmanager
    def use(self) -> Iterator[Any]:
        """The client, for one call; what Qdrant refuses becomes one sentence and a hint."""
        from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

        with self._turn or nullcontext():
            try:
                yield self.client
            except ResponseHandlingException as error:
                raise StorageError(
                    f"The Qdrant server at {self.place} does not answer: {error}.",
                    hint="start it, or check the address",
                ) from error
            except UnexpectedResponse as error:
                said = " ".join(error.content.decode("utf-8", "replace").split())[:200]
                raise StorageError(
                    f"The Qdrant server at {self.place} refuses: {error.status_code} {said}.",
                    hint=f"check its log and, where it asks for a key, {KEY_VARIABLE}",
                ) from error


_connections: dict[str, Connection] = {}
_connecting = threading.Lock()


@atexit.register
def _disconnect_all() -> None:
    """Qdrant's client cannot close itself any more once the interpreter is being taken down."""
    while _connections:
        _connections.popitem()[1].client.close()


def connect(folder: Path, uid: str, settings: QdrantSettings) -> Connection:
    """The connection of the index `uid`, made where this process has none yet."""
    import qdrant_client

    with _connecting:
        connection = _connections.get(uid)
        if connection is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it advises a server, which our guide does too
                if settings.url is None:
                    client = _open_files(qdrant_client, folder / EMBEDDED)
                else:
                    key = os.environ.get(KEY_VARIABLE) or None
                    client = qdrant_client.QdrantClient(
                        url=settings.url, api_key=key, timeout=settings.timeout, check_compatibility=False
                    )
            place = settings.url or f"'{folder / EMBEDDED}'"
            connection = _connections[uid] = Connection(place, client, embedded=settings.url is None)
        connection.users += 1
        return connection


def _open_files(qdrant_client: Any, path: Path) -> Any:
    try:
        with storage_errors(path):
            return qdrant_client.QdrantClient(path=str(path), force_disable_check_same_thread=True)
    except RuntimeError as error:
        raise ConflictError(
            f"The Qdrant files in '{path}' are open in another process.",
            hint="end that one, or run a Qdrant server and name its url",
        ) from error


def disconnect(uid: str) -> None:
    with _connecting:
        connection = _connections.get(uid)
        if connection is None:
            return
        connection.users -= 1
        if not connection.users:
            del _connections[uid]
            connection.client.close()


def create_collection(client: Any, name: str, dim: int, settings: QdrantSettings) -> None:
    from qdrant_client import models

    client.create_collection(
        name,
        vectors_config=models.VectorParams(
            size=dim,
            distance=models.Distance.DOT,
            multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM),
            on_disk=settings.on_disk or None,
        ),
    )


def require_suitable(client: Any, name: str, dim: int) -> None:
    """Refuse a collection whose scores would not be ours."""
    from qdrant_client import models

    hint = f"make one with size {dim}, distance Dot and the multivector comparator max_sim"
    params = client.get_collection(name).config.params.vectors
    if not isinstance(params, models.VectorParams):
        raise UsageError(f"The Qdrant collection '{name}' has named vectors.", hint=hint)
    if params.distance != models.Distance.DOT:
        raise UsageError(
            f"The Qdrant collection '{name}' compares by {params.distance.value}, which undoes the gate.",
            hint=hint,
        )
    if params.multivector_config is None:
        raise UsageError(f"The Qdrant collection '{name}' holds one vector a point.", hint=hint)
    if params.size != dim:
        raise UsageError(
            f"The Qdrant collection '{name}' has vectors of {params.size} numbers, not {dim}.", hint=hint
        )


def require_empty(client: Any, name: str) -> None:
    if client.count(name, exact=True).count:
        raise ConflictError(
            f"The Qdrant collection '{name}' already holds points.",
            hint="choose another name, or delete the collection in Qdrant",
        )
