"""Query to hits."""

from __future__ import annotations

from numcolbert.index.collection import Collection
from numcolbert.index.encoding import TextEncoder
from numcolbert.search.results import Results
from numcolbert.types import QueryEncoding


def search(
    collection: Collection,
    encoder: TextEncoder,
    query: str | QueryEncoding,
    k: int = 10,
    *,
    where: str | None = None,
    verify: bool = False,
    gate: bool = True,
) -> Results:
    raise NotImplementedError
