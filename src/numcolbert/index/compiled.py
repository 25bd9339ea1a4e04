"""How kernels are compiled.

Kernels are plain numba functions that release Python's lock, run by a pool of threads (`parallel.py`).
numba's own `parallel=True` is not used: its default threading layer ends the process when two threads of a
server enter it at once, and it makes compiling several times slower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


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
