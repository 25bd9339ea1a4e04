"""What every engine can do. Small on purpose: an adapter is one short file.

An engine keeps its files in a folder that the caller names: `SomeEngine.create(folder, dim, ...)` makes it,
`SomeEngine.open(folder)` opens what was committed.

**Commit.** `add`, `delete` and `compact` are seen by this engine object at once, and by everyone else after
`commit()`. A crash at any moment, also in the middle of a commit, leaves the last committed state readable:
data files only ever grow or are written anew beside the old ones, and one small state file, replaced in one
step, names the files and how much of each is valid.

**Readers and the writer.** An engine that was opened sees the state of that moment until it is opened again,
whatever a writer does meanwhile, compaction included. One writer at a time: the first change takes a lock on
the folder, `close()` gives it back, and a second writer gets a `ConflictError`.

**Refusal.** A call that raises has changed nothing.

**Threads.** Any number of threads may search one engine object while one thread changes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

    @property
    def dim(self) -> int:
        """Length of every vector."""
        ...

    @property
    def count(self) -> int:
        """How many documents can be found, deleted ones not counted."""
        ...

    def keys(self) -> NDArray[np.int64]:
        """The keys of these documents, ascending."""
        ...

    def add(self, keys: Sequence[int], vectors: Sequence[NDArray[np.float32]]) -> None:
        """Take in documents, each `[tokens, dim]`; refuses a key that is there, no tokens, NaN, infinity."""
        ...

    def delete(self, keys: Sequence[int]) -> None:
        """Forget documents; an unknown key is a `NotFoundError`."""
        ...

    def search(
        self, query: NDArray[np.float32], k: int, *, allowed: NDArray[np.int64] | None = None
    ) -> Scored:
        """The best `k` documents for `[tokens, dim]`, only among `allowed` keys where given.

        Unknown and deleted keys in `allowed` are passed over.
        """
        ...

    def token_scores(self, query: NDArray[np.float32], key: int) -> NDArray[np.float32]:
        """The matrix q_i . d_j of one document, [query tokens, document tokens]."""
        ...

    def vectors(self, key: int) -> NDArray[np.float32]:
        """The document's vectors as the engine holds them (after quantisation), [tokens, dim]."""
        ...

    def commit(self) -> None:
        """Make every change so far durable and visible to those who open the folder from now on."""
        ...

    def compact(self) -> None:
        """Give the space of deleted documents back; takes effect on disk with the next `commit`."""
        ...

    def files(self) -> Mapping[str, int]:
        """Every file of the committed state, by name in the folder, with the bytes of it that count."""
        ...

    def stats(self) -> dict[str, Any]: ...

    def close(self) -> None:
        """Let go of files and lock; what was not committed is lost."""
        ...
