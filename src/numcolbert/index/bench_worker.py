"""One measurement in a process of its own, so that its peak memory is its own: a job in, a report out (JSON).

`python -m numcolbert.index.bench_worker` reads {"task": "build" | "search", "engine", "nbits", "folder",
"vectors", "passages", "queries", "rounds"} from stdin. What a person can mend stands in the last
line of stderr (JSON).
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from numcolbert.errors import NumColBERTError
from numcolbert.index.bench_vectors import VectorSet
from numcolbert.index.flat import FlatEngine
from numcolbert.index.plaid import PlaidEngine
from numcolbert.index.plaid_settings import PlaidSettings, sample_size

K = 10


def build(job: dict[str, Any], vectors: VectorSet) -> dict[str, Any]:
    folder, dim = Path(job["folder"]), vectors.vectors.shape[1]
    begin = time.perf_counter()
    engine: FlatEngine | PlaidEngine
    if job["engine"] == "flat":
        engine = FlatEngine.create(folder, dim)
    else:
        settings, total = PlaidSettings(nbits=job["nbits"]), len(vectors.vectors)
        sample = vectors.sample(sample_size(settings, total))
        engine = PlaidEngine.create(folder, dim, settings, sample=sample, expected_vectors=total)
        del sample
    for keys, passages in vectors.batches():
        engine.add(keys, passages)
    engine.commit()
    seconds = time.perf_counter() - begin
    stats = engine.stats()
    return {"build_s": seconds, "bytes": stats["bytes"], "ratio": stats["ratio_to_fp32"], "stats": stats}


def search(job: dict[str, Any], vectors: VectorSet) -> dict[str, Any]:
    begin = time.perf_counter()
    kind: Any = FlatEngine if job["engine"] == "flat" else PlaidEngine
    engine = kind.open(Path(job["folder"]))
    open_s = time.perf_counter() - begin
    plain = vectors.queries[: job["queries"]]
    variants = [plain, vectors.gated_queries()[: len(plain)]]
    engine.search(plain[0], K)  # compiling is not what is measured
    first_s = time.perf_counter() - begin
    times = np.full((2, job["rounds"], len(plain)), np.inf)
    busy = np.full((job["rounds"], len(plain)), np.inf)  # of all cores together, plain queries
    found: list[list[list[int]]] = [[], []]
    for round_number in range(job["rounds"]):
        for at in range(len(plain)):
            # Gated and plain by turns: what else runs on the machine hits both alike.
            for variant in (0, 1) if (round_number + at) % 2 else (1, 0):
                begin, begin_busy = time.perf_counter(), time.process_time()
                result = engine.search(variants[variant][at], K)
                times[variant, round_number, at] = time.perf_counter() - begin
                if not variant:
                    busy[round_number, at] = time.process_time() - begin_busy
                if not round_number:
                    found[variant].append(result.keys.tolist())
    best = times.min(axis=1)  # [variants, queries]: the least disturbed of the rounds
    return {
        "open_s": open_s,
        "first_s": first_s,
        "p50_ms": 1000 * float(np.percentile(best[0], 50)),
        "p95_ms": 1000 * float(np.percentile(best[0], 95)),
        "cpu_ms": 1000 * float(np.percentile(busy.min(axis=0), 50)),
        "seconds": best.tolist(),
        "found": found[0],
        "found_gated": found[1],
    }


def peak_bytes() -> int:
    """The most memory this process has held; pages of mapped files count while they are in memory."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> int:
    job = json.load(sys.stdin)
    try:
        vectors = VectorSet.load(Path(job["vectors"]), job["passages"])
        report = {"build": build, "search": search}[job["task"]](job, vectors)
    except NumColBERTError as error:
        sys.stderr.write(f"\n{json.dumps(error.as_dict())}\n")
        return error.exit_code
    json.dump({**report, "peak_bytes": peak_bytes()}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
