"""Counters and latencies in Prometheus' text format."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import defaultdict

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Metrics:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, str, int], int] = defaultdict(int)
        self._buckets: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))
        self._seconds: dict[str, float] = defaultdict(float)

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        with self._lock:
            self._requests[method, route, status] += 1
            self._buckets[route][bisect_left(BUCKETS, seconds)] += 1
            self._seconds[route] += seconds

    def render(self, gauges: dict[str, float]) -> str:
        lines = ["# TYPE numcolbert_requests_total counter"]
        with self._lock:
            for (method, route, status), count in sorted(self._requests.items()):
                labels = f'method="{method}",route="{route}",status="{status}"'
                lines.append(f"numcolbert_requests_total{{{labels}}} {count}")
            lines.append("# TYPE numcolbert_request_seconds histogram")
            for route, counts in sorted(self._buckets.items()):
                total = 0
                for bound, count in zip((*BUCKETS, "+Inf"), counts, strict=True):
                    total += count
                    lines.append(f'numcolbert_request_seconds_bucket{{route="{route}",le="{bound}"}} {total}')
                lines.append(f'numcolbert_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}')
                lines.append(f'numcolbert_request_seconds_count{{route="{route}"}} {total}')
        for name, value in gauges.items():
            lines += [f"# TYPE numcolbert_{name} gauge", f"numcolbert_{name} {value:g}"]
        return "\n".join(lines) + "\n"
