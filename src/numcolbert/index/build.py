"""Building an index: streaming, resumable, aside and then renamed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from numcolbert.index.encoding import TextEncoder
from numcolbert.types import Document


def build(
    documents: Iterable[Document | Mapping[str, Any] | str],
    target: Path,
    encoder: TextEncoder,
    *,
    engine: str = "auto",
    settings: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    batch_size: int = 32,
) -> None:
    raise NotImplementedError
