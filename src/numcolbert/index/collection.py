"""Store and engine of one index folder, kept in step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numcolbert.index.encoding import TextEncoder
from numcolbert.index.store import Selection
from numcolbert.types import Document

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class AddReport:
    added: int
    replaced: int
    skipped: int = 0


class Collection:
    path: Path
    model_name: str | None

    @classmethod
    def open(cls, path: Path) -> Collection:
        raise NotImplementedError

    def require_model(self, encoder: TextEncoder) -> None:
        raise NotImplementedError

    def add(
        self,
        documents: Iterable[Document | Mapping[str, Any] | str],
        encoder: TextEncoder,
        *,
        batch_size: int = 32,
        skip_bad: bool = False,
    ) -> AddReport:
        raise NotImplementedError

    def delete(self, ids: Sequence[str], *, ignore_missing: bool = False) -> int:
        raise NotImplementedError

    def compact(self) -> None:
        raise NotImplementedError

    def get(self, id: str) -> Document:
        raise NotImplementedError

    def has(self, id: str) -> bool:
        raise NotImplementedError

    def select(self, selection: Selection) -> NDArray[np.int64]:
        raise NotImplementedError

    def documents(self) -> Iterator[Document]:
        raise NotImplementedError

    def info(self) -> dict[str, Any]:
        raise NotImplementedError

    def verify(self) -> list[str]:
        raise NotImplementedError

    def refresh(self) -> bool:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError
