"""What can be set about a plaid index, and the values it chooses by itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

from numcolbert.errors import UsageError
from numcolbert.index.codec import BITS

MOST_CENTROIDS = 65_536
"""Their numbers are stored in two bytes."""
_SAMPLE_A_CENTROID = 32


@dataclass(frozen=True, slots=True)
class PlaidSettings:
    nbits: int = 4
    """Bits a coordinate: 1, 2, 4 or 8."""
    centroids: int | None = None
    """None: by the number of vectors."""
    nprobe: int | None = None
    """Centroids looked up for each query token. None: by the number of centroids."""
    candidates: int | None = None
    """Passages that get their full score, or up to four times as many where scores are close. None: by `k`
    and the number of passages."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.nbits not in BITS:
            raise UsageError(f"nbits is {self.nbits}.", hint="choose 1, 2, 4 or 8")
        for name in ("centroids", "nprobe", "candidates"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name} is {value}.", hint="give at least 1, or leave it to be chosen")
        if self.centroids is not None and self.centroids > MOST_CENTROIDS:
            raise UsageError(f"centroids is {self.centroids}.", hint=f"give at most {MOST_CENTROIDS}")


def automatic_centroids(vectors: int) -> int:
    """Grows with the square root, so that the work of a query grows slower than the collection."""
    return max(1, min(MOST_CENTROIDS, round(10 * math.sqrt(vectors))))


def sample_size(settings: PlaidSettings, vectors: int) -> int:
    """How many vectors the centroids of a collection of `vectors` are trained on."""
    return min(vectors, _SAMPLE_A_CENTROID * (settings.centroids or automatic_centroids(vectors)))


def automatic_probes(centroids: int) -> int:
    """More than 8 finds no further passage of the ten best, on 20,000 passages of real text."""
    return min(centroids, 8)


def automatic_candidates(k: int, passages: int) -> int:
    """Enough for most queries; grows with the square root, like the passages near a query."""
    return max(512, 4 * k, round(3.6 * math.sqrt(passages)))
