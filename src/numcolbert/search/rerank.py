"""Scoring passages at hand, without an index."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from numcolbert.index.encoding import TextEncoder
from numcolbert.search.results import Results
from numcolbert.types import Document, QueryEncoding


def rerank(
    encoder: TextEncoder,
    query: str | QueryEncoding,
    passages: Iterable[Document | Mapping[str, Any] | str],
    *,
    k: int | None = None,
    gate: bool = True,
) -> Results:
    raise NotImplementedError
