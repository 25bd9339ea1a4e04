"""Why a passage has its score."""

from __future__ import annotations

from numcolbert.index.collection import Collection
from numcolbert.index.encoding import TextEncoder
from numcolbert.search.results import Explanation
from numcolbert.types import QueryEncoding


def explain(collection: Collection, encoder: TextEncoder, query: str | QueryEncoding, id: str) -> Explanation:
    raise NotImplementedError
