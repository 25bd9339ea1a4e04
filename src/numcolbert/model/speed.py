"""How fast an encoder is: documents a second, and milliseconds a query."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Encode = Callable[[list[str]], Any]


@dataclass(frozen=True, slots=True)
class Contestant:
    name: str
    encode_documents: Encode
    encode_queries: Encode


@dataclass(frozen=True, slots=True)
class Speed:
    name: str
    documents_per_second: float
    query_ms_p50: float
    query_ms_p95: float


def race(
    contestants: Sequence[Contestant],
    documents: Sequence[str],
    queries: Sequence[str],
    *,
    rounds: int = 3,
    clock: Callable[[], float] = time.perf_counter,
) -> list[Speed]:
    """Measure all in turn, round after round, so that a busy moment of the machine hits all alike.

    The best round counts for documents, every single query for the percentiles.
    """
    rates: dict[str, list[float]] = {c.name: [] for c in contestants}
    waits: dict[str, list[float]] = {c.name: [] for c in contestants}
    for contestant in contestants:
        contestant.encode_documents(list(documents[:32]))
        contestant.encode_queries(list(queries[:3]))
    for _ in range(rounds):
        for contestant in contestants:
            start = clock()
            contestant.encode_documents(list(documents))
            rates[contestant.name].append(len(documents) / max(clock() - start, 1e-9))
            for query in queries:
                start = clock()
                contestant.encode_queries([query])
                waits[contestant.name].append(1000 * (clock() - start))
    return [
        Speed(
            c.name,
            max(rates[c.name]),
            statistics.median(waits[c.name]),
            sorted(waits[c.name])[int(0.95 * (len(waits[c.name]) - 1))],
        )
        for c in contestants
    ]
