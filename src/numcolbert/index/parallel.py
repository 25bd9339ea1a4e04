"""How one query uses several cores: a pool of threads, for work that releases Python's lock."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

_pool: ThreadPoolExecutor | None = None
_pool_lock = threading.Lock()


def thread_count() -> int:
    """Cores this process may use; `NUMCOLBERT_THREADS` sets another number."""
    chosen = os.environ.get("NUMCOLBERT_THREADS", "")
    if chosen.isdigit() and int(chosen) > 0:
        return int(chosen)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_parallel(work: Callable[[int, int], Any], size: int, grain: int) -> None:
    """Call `work(begin, end)` for parts of `range(size)` on all cores; parts are no smaller than `grain`."""
    parts = max(1, min(thread_count(), size // max(1, grain)))
    if parts == 1:
        work(0, size)
        return
    edges = [size * part // parts for part in range(parts + 1)]
    others = [_threads().submit(work, begin, end) for begin, end in pairwise(edges[1:])]
    work(edges[0], edges[1])  # this thread would only wait
    for other in others:
        other.result()


def _threads() -> ThreadPoolExecutor:
    global _pool
    with _pool_lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(max(1, thread_count() - 1), thread_name_prefix="numcolbert")
        return _pool


def _forget_pool() -> None:
    """A forked child has no threads of its parent."""
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
