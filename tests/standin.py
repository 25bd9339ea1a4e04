"""A tiny deterministic encoder with the interface of the real one, for tests of everything around it.

Every word and every number gets a unit vector of its own, drawn from a hash of it, so passages rank by shared
words; number tokens of a query are gated with 3.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from numcolbert.types import DocumentEncoding, QueryEncoding, Span

GATE = 3.0
LONGEST = 64


class StandIn:
    def __init__(self, dim: int = 32, name: str = "stand-in") -> None:
        self.dim = dim
        self.name = name
        self.fingerprint = hashlib.sha256(f"{name}/{dim}".encode()).hexdigest()
        self.encoded = 0
        """Documents encoded so far, for tests of what is encoded again."""

    def encode_queries(self, texts: list[str]) -> list[QueryEncoding]:
        return [self._query(text) for text in texts]

    def encode_documents(self, texts: list[str], batch_size: int = 32) -> list[DocumentEncoding]:
        self.encoded += len(texts)
        found = []
        for text in texts:
            tokens, spans = _tokens("[D]", text)
            found.append(DocumentEncoding(self._vectors(tokens), tokens, spans))
        return found

    def _query(self, text: str) -> QueryEncoding:
        tokens, spans = _tokens("[Q]", text)
        numeric = np.array([any(c.isdigit() for c in token) for token in tokens])
        gates = np.where(numeric, GATE, 1.0).astype(np.float32)
        vectors = self._vectors(tokens) * gates[:, None]
        return QueryEncoding(
            text, vectors, tokens, spans, np.where(numeric, 0.9, 0.1).astype(np.float32), gates
        )

    def _vectors(self, tokens: tuple[str, ...]) -> NDArray[np.float32]:
        rows = np.stack([self._vector(token) for token in tokens])
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)

    def _vector(self, token: str) -> NDArray[np.float64]:
        return _drawn(token, self.dim)


@lru_cache(maxsize=100_000)
def _drawn(token: str, dim: int) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.blake2b(token.encode(), digest_size=8).digest(), "big")
    return np.random.default_rng(seed).standard_normal(dim)


def _tokens(marker: str, text: str) -> tuple[tuple[str, ...], tuple[Span | None, ...]]:
    words = list(re.finditer(r"\d+(?:[.,]\d+)*|[^\W\d]+|[^\w\s]", text.lower()))[:LONGEST]
    return (marker, *(word[0] for word in words)), (None, *(word.span() for word in words))
