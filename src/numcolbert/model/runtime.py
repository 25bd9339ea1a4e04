"""onnxruntime, which reports to no one unless it is told to."""

from __future__ import annotations

import os
from typing import Any


def onnxruntime() -> Any:
    """The module, imported on first use.

    As installed it sends events about models and machines to its makers, and keeps an identifier of this
    machine in the cache folder. It reads its environment once, when it is loaded, so this has to come first;
    `ORT_DISABLE_TELEMETRY=0` lets it.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime as module

    return module
