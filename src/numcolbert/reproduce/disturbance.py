"""How much of the machine others used while something was timed."""

from __future__ import annotations

import os
import time
from pathlib import Path

_STAT = Path("/proc/stat")
_IDLE = (3, 4)
"""Columns of /proc/stat in which a processor had nothing to do: idle, waiting for a disk."""


class Disturbance:
    """Started when it is made; `share` is asked for at the end."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._busy, self._own = _busy_seconds(), _own_seconds()

    def share(self) -> float | None:
        """Processors that others kept busy since the start, 0.5 for half of one; None where the system does
        not tell."""
        now = _busy_seconds()
        if self._busy is None or now is None:
            return None
        others = (now - self._busy) - (_own_seconds() - self._own)
        return max(0.0, others / max(time.perf_counter() - self._began, 1e-9))


def _busy_seconds() -> float | None:
    """Of all processors and processes since the machine started."""
    try:
        columns = _STAT.read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]
    except OSError:
        return None
    ticks = [int(column) for column in columns]  # user, nice, system, idle, iowait, irq, softirq, steal
    return sum(count for place, count in enumerate(ticks) if place not in _IDLE) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    spent = os.times()
    return spent.user + spent.system
