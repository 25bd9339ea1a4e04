"""The loops that make a search fast. Each has a slow, obvious twin in the tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numcolbert.index.compiled import kernel


@kernel
def sum_of_maxima(
    scores: NDArray[np.float32],  # [tokens, query tokens]
    starts: NDArray[np.int64],  # [passages], first row of each
    ends: NDArray[np.int64],  # [passages], one past its last row
    out: NDArray[np.float32],  # [passages]
) -> None:
    """MaxSim of passages whose token scores are known."""
    width = scores.shape[1]
    best = np.empty(width, np.float32)
    for passage in range(len(starts)):
        best[:] = -np.inf
        for row in range(starts[passage], ends[passage]):
            for column in range(width):
                if scores[row, column] > best[column]:
                    best[column] = scores[row, column]
        total = np.float32(0.0)
        for column in range(width):
            total += best[column]
        out[passage] = total
