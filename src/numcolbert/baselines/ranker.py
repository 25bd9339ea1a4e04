"""What every compared system offers: read a collection once, then rank it for many queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from numcolbert.errors import UsageError
from numcolbert.types import Condition, Document

Run = dict[str, dict[str, float]]
"""Query id -> document id -> score, best first: what a TREC run file holds."""


@dataclass(frozen=True, slots=True)
class Query:
    """One query as a baseline sees it."""

    id: str
    text: str
    concept: str | None = None
    """Its words without the condition, for systems that see nothing else."""
    condition: Condition | None = None
    """The gold condition, for upper bounds only; systems that parse the text themselves ignore it."""


class Ranker(Protocol):
    def index(self, corpus: Iterable[Document]) -> None: ...

    def search(self, queries: Sequence[Query], k: int) -> Run:
        """The best `k` documents of each query; a query without a match gets an empty ranking."""
        ...


def best(scores: Mapping[str, float], k: int) -> dict[str, float]:
    """The `k` highest scores, best first, ties by document id."""
    ordered = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    return dict(ordered[:k])


def require_indexed(ready: bool, system: str) -> None:
    if not ready:
        raise UsageError(f"{system} has no collection yet.", hint="call index(corpus) before search(...)")
