"""What an engine refuses, in one place: the same sentences for every engine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from numcolbert.errors import InputError, UsageError


def checked_query(query: NDArray[np.float32], dim: int) -> NDArray[np.float32]:
    """The query as contiguous float32 `[tokens, dim]`."""
    rows = np.ascontiguousarray(query, np.float32)
    if rows.ndim != 2 or rows.shape[1] != dim or not len(rows):
        raise InputError(
            f"The query's vectors have the shape {rows.shape}, the index needs (tokens, {dim}).",
            hint="encode the query with the model the index was built with",
        )
    if not np.isfinite(rows).all():
        raise InputError("The query's vectors hold NaN or infinity.", hint="check the model and its weights")
    return rows


def checked_k(k: int) -> int:
    if not isinstance(k, int | np.integer) or isinstance(k, bool):
        raise UsageError(f"k is {k!r}.", hint="give a whole number, at least 1")
    if k < 1:
        raise UsageError(f"k is {k}.", hint="ask for at least one document")
    return k


def checked_documents(
    keys: Sequence[int], vectors: Sequence[NDArray[np.float32]], dim: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Keys `[documents]`, lengths `[documents]` and all vectors below one another `[tokens, dim]`."""
    if len(keys) != len(vectors):
        raise UsageError(f"{len(keys)} keys for {len(vectors)} documents.", hint="give one key a document")
    for key, rows in zip(keys, vectors, strict=True):
        if rows.ndim != 2 or rows.shape[1] != dim:
            raise InputError(
                f"Document {key} has vectors of shape {rows.shape}, the index needs (tokens, {dim}).",
                hint="encode it with the model the index was built with",
            )
        if not len(rows):
            raise InputError(
                f"Document {key} has no vectors.", hint="leave documents without text out of the index"
            )
    key_array = np.asarray(keys, np.int64).reshape(-1)
    unique, counts = np.unique(key_array, return_counts=True)
    if len(unique) != len(key_array):
        raise InputError(
            f"The key {unique[counts > 1][0]} is given twice.", hint="give each document a key of its own"
        )
    lengths = np.fromiter((len(rows) for rows in vectors), np.int64, len(vectors))
    joined = _joined(vectors, dim)
    # Half precision ends at 65504; both comparisons are false for NaN.
    usable = (joined.max(axis=1, initial=-np.inf) <= 65504) & (joined.min(axis=1, initial=np.inf) >= -65504)
    if not usable.all():
        at = int(np.searchsorted(np.cumsum(lengths), int(np.argmin(usable)), side="right"))
        raise InputError(
            f"Document {keys[at]} has a vector with NaN or infinity.", hint="check the model and its weights"
        )
    return key_array, lengths, joined


def _joined(vectors: Sequence[NDArray[np.float32]], dim: int) -> NDArray[np.float32]:
    """All below one another; a single array, perhaps a large sample, is not copied."""
    if len(vectors) == 1:
        return np.ascontiguousarray(vectors[0], np.float32)
    return np.concatenate(vectors, dtype=np.float32) if len(vectors) else np.empty((0, dim), np.float32)
