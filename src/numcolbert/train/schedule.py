"""How far a run is, and the learning rate that belongs there."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal


@dataclass
class Budget:
    """Steps, seconds, or both: whichever is used up first ends the run.

    Seconds count from the making of the `Budget`, so loading and compiling are inside; the learning rate
    is tied to the seconds between the first step and the end.
    """

    steps: int = 0
    seconds: float = 0.0
    used_before: float = 0.0
    """Seconds a resumed run had spent already."""
    clock: Callable[[], float] = time.monotonic
    _start: float = field(init=False)
    _first_step: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._start = self.clock()

    @property
    def used(self) -> float:
        return self.used_before + self.clock() - self._start

    def progress(self, step: float) -> float:
        """Share of the budget used before step number `step`, from 0 to 1."""
        share = step / self.steps if self.steps else 0.0
        if self.seconds:
            if self._first_step is None:
                self._first_step = 0.0 if self.used_before else self.used
            span = max(self.seconds - self._first_step, 1e-9)
            share = max(share, (self.used - self._first_step) / span)
        return min(max(share, 0.0), 1.0)


def lr_factor(progress: float, warmup: float, decay: Literal["linear", "cosine", "constant"]) -> float:
    """Rises from 0 to 1 during the warm-up, then falls to 0 at the end of the budget."""
    if progress < warmup:
        return progress / warmup
    left = (1.0 - progress) / max(1.0 - warmup, 1e-9)
    if decay == "linear":
        return left
    if decay == "cosine":
        return 0.5 * (1.0 - math.cos(math.pi * left))
    return 1.0
