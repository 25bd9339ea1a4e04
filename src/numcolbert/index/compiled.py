"""How kernels are compiled, and how one query uses several cores.

Kernels are plain numba functions that release the GIL, run by a pool of threads. numba's own `parallel=True`
is not used: its default threading layer ends the process when two threads of a server enter it at once, and
it makes compiling several times slower.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

_pool: ThreadPoolExecutor | None = None
_pool_lock = threading.Lock()


def kernel(function: Function) -> Function:
    """Compile at the first call; later processes load the machine code.

    numba keeps it beside the source file or, where that is read-only, in the user's cache folder
    (`NUMBA_CACHE_DIR` names another). Where neither can be written, each process compiles anew.
    """
    # No fast-math flag may assume away NaN or infinity: -inf is what a maximum starts from.
    options: dict[str, Any] = {
        "nogil": True,
        "fastmath": {"contract", "reassoc", "nsz"},
        "error_model": "numpy",
    }
    try:
        compiled: Function = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no place for a cache
        compiled = numba.njit(**options)(function)
    return compiled


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
