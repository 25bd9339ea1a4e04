"""What an index needs of an encoder, and how documents pass through it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Protocol, TypeVar

from numcolbert.errors import InputError, UsageError
from numcolbert.types import Document, DocumentEncoding, QueryEncoding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Item = TypeVar("Item")

BATCHES_A_WINDOW = 16
"""Batches that are sorted by length together: enough for little padding, few enough to stay in memory."""


class TextEncoder(Protocol):
    """The part of `model.encoder.Encoder` that an index and a search use."""

    @property
    def dim(self) -> int: ...

    @property
    def name(self) -> str:
        """What loads this model again: 'default', a folder or a model id."""
        ...

    @property
    def fingerprint(self) -> str:
        """A hash that two encoders share exactly when their vectors may be compared."""
        ...

    def encode_queries(self, texts: list[str]) -> list[QueryEncoding]: ...

    def encode_documents(self, texts: list[str], batch_size: int = 32) -> list[DocumentEncoding]: ...


def encode_vectors(
    encoder: TextEncoder, texts: Sequence[str], batch_size: int = 32, stop: threading.Event | None = None
) -> list[NDArray[np.float32]]:
    """One `[tokens, dim]` array a text, in the order given.

    Texts are encoded in order of length, so that a batch holds little padding, and put back afterwards. When
    `stop` is set, the work ends after the present batch, without a result.
    """
    import numpy as np

    require_batch(batch_size)
    order = sorted(range(len(texts)), key=lambda position: len(texts[position]))
    vectors: list[NDArray[np.float32]] = [np.empty((0, encoder.dim), np.float32)] * len(texts)
    for start in range(0, len(order), batch_size):
        if stop is not None and stop.is_set():
            return []
        batch = order[start : start + batch_size]
        encoded = encoder.encode_documents([texts[position] for position in batch], batch_size=batch_size)
        for position, encoding in zip(batch, encoded, strict=True):
            vectors[position] = _usable(encoding.vectors, encoder.dim, texts[position])
    return vectors


def require_batch(size: int) -> None:
    if not isinstance(size, int) or size < 1:
        raise UsageError(f"batch_size is {size!r}.", hint="choose a whole number, at least 1")


def _usable(vectors: NDArray[np.float32], dim: int, text: str) -> NDArray[np.float32]:
    import numpy as np

    found = np.ascontiguousarray(vectors, dtype=np.float32)
    if found.ndim != 2 or found.shape[1] != dim or not len(found) or not np.isfinite(found).all():
        raise InputError(
            f"The encoder gave unusable vectors for the text '{text[:60]}'.",
            hint="check the model: a text needs at least one vector, finite and of the model's dimension",
        )
    return found


def windows(items: Iterable[Item], batch_size: int) -> Iterator[list[Item]]:
    """Consecutive items, as many at a time as `encode_vectors` should see together."""
    require_batch(batch_size)
    iterator = iter(items)
    while window := list(islice(iterator, batch_size * BATCHES_A_WINDOW)):
        yield window


def encoded_windows(
    encoder: TextEncoder, documents: Iterable[Document], batch_size: int
) -> Iterator[tuple[list[Document], list[NDArray[np.float32]]]]:
    """Documents with their vectors. The next window is encoded while the caller works on this one."""
    stop = threading.Event()
    with ThreadPoolExecutor(1, "encode") as pool:
        try:
            ahead: tuple[list[Document], Future[list[NDArray[np.float32]]]] | None = None
            for window in windows(documents, batch_size):
                encoding = pool.submit(encode_vectors, encoder, [d.text for d in window], batch_size, stop)
                if ahead is not None:
                    yield ahead[0], ahead[1].result()
                ahead = window, encoding
            if ahead is not None:
                yield ahead[0], ahead[1].result()
        finally:
            stop.set()  # so that an interruption does not wait for the rest of a window
