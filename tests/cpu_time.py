"""How much work something is: the least CPU time of several tries, which a busy machine does not stretch."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable


def least_seconds(work: Callable[[], object], tries: int = 3) -> float:
    def once() -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    return min(once() for _ in range(tries))


def least_seconds_in_a_new_process(statement: str, tries: int = 3) -> float:
    script = f"import time; start = time.process_time(); {statement}; print(time.process_time() - start)"
    command = [sys.executable, "-c", script]
    return min(
        float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for _ in range(tries)
    )
