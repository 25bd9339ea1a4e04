"""Search that understands numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numcolbert.types import Condition, Document, Hit, Quantity

if TYPE_CHECKING:
    from numcolbert.api import Index, NumColBERT, open

__version__ = "0.1.0"
__all__ = ["Condition", "Document", "Hit", "Index", "NumColBERT", "Quantity", "open"]


def __getattr__(name: str) -> Any:
    # Loaded on first use: numba, onnxruntime and pint cost more than a second together.
    if name in ("Index", "NumColBERT", "open"):
        from numcolbert import api

        return getattr(api, name)
    raise AttributeError(f"module 'numcolbert' has no attribute '{name}'")
