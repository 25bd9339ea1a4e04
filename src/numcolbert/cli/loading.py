"""Where commands get their encoder from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numcolbert.api import Index, NumColBERT


def load_model(model: str | None) -> NumColBERT:
    from numcolbert.api import NumColBERT

    return NumColBERT.load(model)


def open_index(path: Path, model: str | None) -> Index:
    """The index with the model it was built with, or with `model`."""
    from numcolbert import api

    return api.open(path, model=model)
