"""Documents and vectors out of an index, for other tools."""

from __future__ import annotations

from pathlib import Path

from numcolbert.index.collection import Collection


def export(
    collection: Collection,
    target: Path,
    *,
    format: str | None = None,
    vectors: bool = True,
    overwrite: bool = False,
) -> int:
    raise NotImplementedError
