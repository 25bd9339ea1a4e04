"""Documents, their metadata and quantities, in one SQLite file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Selection:
    """A condition on a row of `documents` (named `d`), with the values it binds."""

    sql: str
    parameters: tuple[Any, ...]
