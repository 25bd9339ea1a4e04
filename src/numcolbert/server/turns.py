"""Who searches when: queries are encoded together, then searched a few at a time, in order of arrival.

More searches at once than there are cores finish no sooner: their threads only take Python's lock and the
caches from one another. With 16 clients and two cores, taking turns answers more of them, and sooner.
"""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import replace
from functools import partial
from typing import Any

import anyio.to_thread

from numcolbert.api import Index, Results
from numcolbert.search.queries import check_query
from numcolbert.server.batching import BatchingEncoder


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Turns:
    def __init__(self, encoder: BatchingEncoder, at_once: int | None = None) -> None:
        self._encoder = encoder
        self._turn = anyio.CapacityLimiter(at_once or cores())

    async def search(self, index: Index, query: str, k: int, **options: Any) -> Results:
        """`index.search`; its `seconds` include the wait for a turn."""
        begin = time.perf_counter()
        check_query(query)
        encoding = await asyncio.wrap_future(self._encoder.submit(query))
        work = partial(index.search, encoding, k, **options)
        results = await anyio.to_thread.run_sync(work, limiter=self._turn)
        return replace(results, seconds=round(time.perf_counter() - begin, 6))
