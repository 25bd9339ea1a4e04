"""What every engine can do. Small on purpose: an adapter is one short file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Scored:
    """The best documents of one query, best first; ties by key."""

    keys: NDArray[np.int64]
    scores: NDArray[np.float32]


class Engine(Protocol):
    """MaxSim over token vectors: score(Q, D) = sum_i max_j q_i . d_j, with a plain dot product.

    Query vectors are gated and may be longer than 1, so an engine that normalises them is wrong.
    Documents are known by an integer key that the caller chooses and never reuses.
    """

    def add(self, keys: Sequence[int], vectors: Sequence[NDArray[np.float32]]) -> None: ...

    def delete(self, keys: Sequence[int]) -> None: ...

    def search(
        self, query: NDArray[np.float32], k: int, *, allowed: NDArray[np.int64] | None = None
    ) -> Scored:
        """The best `k` documents, only among `allowed` keys where given."""
        ...

    def token_scores(self, query: NDArray[np.float32], key: int) -> NDArray[np.float32]:
        """The matrix q_i . d_j of one document, [query tokens, document tokens]."""
        ...

    def stats(self) -> dict[str, Any]: ...

    def close(self) -> None: ...
