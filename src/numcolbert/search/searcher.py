"""Query to hits."""

from __future__ import annotations

import time
from collections.abc import Sequence

from numcolbert.index.checks import checked_k
from numcolbert.index.collection import Collection, View
from numcolbert.index.encoding import TextEncoder
from numcolbert.index.store import Selection
from numcolbert.search.filters import filter_for
from numcolbert.search.judge import conditions_of, satisfied
from numcolbert.search.queries import Query, prepare
from numcolbert.search.results import Results
from numcolbert.types import Condition, Hit, QueryEncoding

VERIFY_FIRST = 4
"""How many times k passages `verify` looks at, before it looks at all that it ever will."""
VERIFY_DEPTH = 1_000
"""The rank at which it gives up: what satisfies a condition only below it is no answer to the query."""


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
    """The best `k` passages; see `api.Index.search`."""
    checked_k(k)
    begin = time.perf_counter()
    view = collection.view
    prepared = prepare(encoder, query, gate=gate)
    selection = None if where is None else filter_for(view, where)
    conditions = conditions_of(prepared.encoding.text)
    dropped = 0
    if verify and conditions:
        hits, dropped = _verified(collection, view, prepared, conditions, k, selection)
    else:
        hits = _ranked(collection, view, prepared, conditions, k, selection)
    return Results(
        prepared.encoding.text, tuple(hits), conditions, dropped, round(time.perf_counter() - begin, 6)
    )


def _ranked(
    collection: Collection,
    view: View,
    query: Query,
    conditions: Sequence[Condition],
    k: int,
    selection: Selection | None,
) -> list[Hit]:
    scored = collection.search(query.vectors, k, selection, view)
    keys = [int(key) for key in scored.keys]
    stored = view.store.fetch(keys)
    hits = []
    for key, score in zip(keys, scored.scores.tolist(), strict=True):
        if key not in stored:  # purged by a compaction after this view was taken
            continue
        document, quantities = stored[key].document, stored[key].quantities
        hits.append(
            Hit(
                id=document.id,
                text=document.text,
                score=score,
                relevance=query.relevance(score),
                metadata=document.metadata,
                quantities=quantities,
                satisfies=satisfied(document.text, quantities, conditions),
            )
        )
    return hits


def _verified(
    collection: Collection,
    view: View,
    query: Query,
    conditions: Sequence[Condition],
    k: int,
    selection: Selection | None,
) -> tuple[list[Hit], int]:
    """The best `k` whose quantities satisfy the condition, and how many did not: of those above the last
    or, where there are fewer than `k`, of all that were looked at."""
    deepest = max(k, VERIFY_DEPTH)
    for depth in (min(k * VERIFY_FIRST, deepest), deepest):
        ranked = _ranked(collection, view, query, conditions, depth, selection)
        good = [rank for rank, hit in enumerate(ranked) if hit.satisfies][:k]
        if len(good) == k:
            return [ranked[rank] for rank in good], good[-1] + 1 - k
        if len(ranked) < depth:  # there is no more
            break
    return [ranked[rank] for rank in good], len(ranked) - len(good)
