"""Ask a server on this machine many searches at once, and say how fast and how reliably it answered.

numcolbert serve idx --port 8080 &
python scripts/load_test.py http://127.0.0.1:8080 --clients 16 --seconds 20

It speaks to this machine only and ends after `--seconds` or `--searches`, whichever comes first.
"""

from __future__ import annotations

import argparse
import http.client
import ipaddress
import json
import sys
import threading
import time
import urllib.parse
from dataclasses import dataclass, field
from pathlib import Path

QUERIES = (
    "mountains higher than 8,000 metres",
    "elements that melt below 100 °C",
    "buildings that are 381 m tall",
    "phones that cost between 300 and 450 dollars",
    "rivers longer than 3,000 miles",
    "animals lighter than 5 grams",
    "companies with revenue above 2 billion dollars",
    "cars that reach 100 km/h in less than 4 seconds",
)
MOST_SECONDS, MOST_SEARCHES, MOST_CLIENTS = 300.0, 100_000, 64


@dataclass
class Tally:
    """What all clients saw together."""

    milliseconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    asked: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self, most: int) -> int | None:
        """The number of the next search, or None when there were enough."""
        with self.lock:
            if self.asked >= most:
                return None
            self.asked += 1
            return self.asked - 1

    def record(self, milliseconds: float, error: str | None) -> None:
        with self.lock:
            if error is None:
                self.milliseconds.append(milliseconds)
            else:
                self.errors.append(error)


def client(
    host: str, port: int, queries: list[str], k: int, tally: Tally, most: int, end: float, measured: float
) -> None:
    connection = http.client.HTTPConnection(host, port, timeout=30)
    while time.monotonic() < end and (number := tally.next(most)) is not None:
        body = json.dumps({"query": queries[number % len(queries)], "k": k})
        begin = time.monotonic()
        error = None
        try:
            connection.request("POST", "/v1/search", body, {"content-type": "application/json"})
            answer = connection.getresponse()
            read = answer.read()
            if answer.status != 200:
                error = f"{answer.status}: {read[:200].decode(errors='replace')}"
        except (OSError, http.client.HTTPException) as problem:
            error = f"{type(problem).__name__}: {problem}"
            connection.close()
        if begin >= measured:
            tally.record(1000 * (time.monotonic() - begin), error)
    connection.close()


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def measure(
    url: str,
    *,
    queries: list[str],
    clients: int = 16,
    seconds: float = 20.0,
    searches: int = MOST_SEARCHES,
    k: int = 10,
    warm: float = 1.0,
) -> dict[str, float]:
    """Searches a second, latencies in milliseconds, and errors, after `warm` seconds that do not count."""
    parts = urllib.parse.urlsplit(url)
    try:
        host, port = parts.hostname or "", parts.port or 80
    except ValueError:
        sys.exit(f"error: '{url}' is not an address\nhint: give one such as http://127.0.0.1:8080")
    if not queries or clients < 1:
        sys.exit("error: nobody asks anything\nhint: give one client or more, and a file with queries")
    if host != "localhost" and not _loopback(host):
        sys.exit(f"error: '{host}' is not this machine\nhint: give an address such as http://127.0.0.1:8080")
    tally = Tally()
    start = time.monotonic() + warm
    end = start + min(seconds, MOST_SECONDS)
    threads = [
        threading.Thread(
            target=client, args=(host, port, queries, k, tally, min(searches, MOST_SEARCHES), end, start)
        )
        for _ in range(min(clients, MOST_CLIENTS))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    elapsed = max(time.monotonic() - start, 1e-9)
    for error in tally.errors[:3]:
        print(error, file=sys.stderr)  # noqa: T201
    answered = tally.milliseconds or [float("nan")]
    return {
        "clients": len(threads),
        "seconds": round(elapsed, 2),
        "searches": len(tally.milliseconds),
        "searches_per_second": round(len(tally.milliseconds) / elapsed, 1),
        "p50_ms": round(percentile(answered, 0.5), 1),
        "p95_ms": round(percentile(answered, 0.95), 1),
        "p99_ms": round(percentile(answered, 0.99), 1),
        "errors": len(tally.errors),
    }


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("url", nargs="?", default="http://127.0.0.1:8080")
    parser.add_argument("--clients", type=int, default=16, help=f"at most {MOST_CLIENTS}")
    parser.add_argument("--seconds", type=float, default=20.0, help=f"at most {MOST_SECONDS:g}")
    parser.add_argument("--searches", type=int, default=MOST_SEARCHES, help=f"at most {MOST_SEARCHES:,}")
    parser.add_argument("-k", type=int, default=10, help="hits a search")
    parser.add_argument("--queries", type=Path, help="a file with one query a line")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    try:
        lines = given.queries.read_text(encoding="utf-8").splitlines() if given.queries else QUERIES
    except (OSError, UnicodeDecodeError) as problem:
        sys.exit(f"error: '{given.queries}' cannot be read: {problem}\nhint: name a text file")
    found = measure(
        given.url,
        queries=[line for line in lines if line.strip()],
        clients=given.clients,
        seconds=given.seconds,
        searches=given.searches,
        k=given.k,
    )
    if given.json:
        print(json.dumps(found))  # noqa: T201
    else:
        for name, value in found.items():
            print(f"{name}\t{value}")  # noqa: T201
    sys.exit(found["errors"] > 0 or not found["searches"])


if __name__ == "__main__":
    main()
