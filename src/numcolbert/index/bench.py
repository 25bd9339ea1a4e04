"""Engines side by side: the same vectors, one after the other, each step in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numcolbert.errors import NumColBERTError, UsageError
from numcolbert.progress import track


@dataclass(frozen=True, slots=True)
class Ratio:
    """Of two sums over the same queries, with its 95 % interval over queries drawn with replacement."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, above: NDArray[np.float64], below: NDArray[np.float64]) -> Ratio:
        drawn = np.random.default_rng(0).integers(0, len(below), (2000, len(below)))
        low, high = np.percentile(above[drawn].sum(axis=1) / below[drawn].sum(axis=1), [2.5, 97.5])
        return cls(float(above.sum() / below.sum()), float(low), float(high))


@dataclass(frozen=True, slots=True)
class QuerySeconds:
    """Of each query, without and with the gate."""

    plain: NDArray[np.float64]
    gated: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class EngineReport:
    """One row of the table."""

    engine: str
    nbits: int | None
    passages: int
    build_s: float
    bytes: int
    ratio: float
    """To raw float32."""
    p50_ms: float
    p95_ms: float
    cpu_ms: float | None
    """Processor time a query over all cores, median: depends less on what else the machine does."""
    recall: float | None
    """recall@10 against flat, plain queries."""
    recall_gated: float | None
    ndcg: float | None
    """nDCG@10 of plain queries, where there are judgements."""
    ndcg_gated: float | None
    gated: Ratio | None
    """Search time of gated queries over that of plain ones."""
    gated_end_to_end: Ratio | None
    """The same with the time to encode them, where that was measured."""
    build_peak: int
    search_peak: int
    open_s: float | None = None
    first_s: float | None = None
    """From opening to the first answer, compiled code loaded."""


@dataclass(frozen=True, slots=True)
class Job:
    """What to measure."""

    vectors: Path
    passages: int
    nbits: Sequence[int] = (8, 4, 2, 1)
    queries: int = 100
    rounds: int = 5
    fastplaid_python: Path | None = None
    """Interpreter of an environment with fast-plaid; None leaves it out."""
    flat: bool = True
    """Measure flat, and with it recall; at some hundred thousand passages it takes seconds a query."""
    judge: Callable[[Sequence[Sequence[int]]], float] | None = None
    """From what was found for each query, the passages' places best first, to nDCG@10."""
    encoding: QuerySeconds | None = None
    """How long encoding takes, to compare gated and plain queries end to end."""


def compare(job: Job) -> Iterator[EngineReport]:
    """One report after the other, so that a failure late in a long run takes nothing away."""
    if not shutil.which(sys.executable):
        raise UsageError("This Python cannot start another one.", hint="run it from a normal installation")
    with tempfile.TemporaryDirectory(prefix="numcolbert-bench-", dir=job.vectors.parent) as folder:
        truth: dict[str, Any] = {}
        planned = list(_planned(job))
        for engine, nbits in track(planned, f"engines at {job.passages:,} passages", unit="engines"):
            home = Path(folder) / f"{engine}-{nbits}"
            raw = _fastplaid(job, home) if engine == "fast-plaid" else _ours(job, engine, nbits, home)
            shutil.rmtree(home, ignore_errors=True)
            if engine == "flat":
                truth = raw
            yield _report(engine, nbits, job, raw, truth)


def _planned(job: Job) -> Iterator[tuple[str, int | None]]:
    if job.flat:
        yield "flat", None
    for nbits in job.nbits:
        yield "plaid", nbits
    if job.fastplaid_python:
        yield "fast-plaid", 4


def _ours(job: Job, engine: str, nbits: int | None, home: Path) -> dict[str, Any]:
    request = {
        "engine": engine, "nbits": nbits, "folder": str(home), "vectors": str(job.vectors),
        "passages": job.passages, "queries": job.queries,
        # The exact engine is the slow one, and its times vary little.
        "rounds": max(1, job.rounds // 3) if engine == "flat" else job.rounds,
    }  # fmt: skip
    command = [sys.executable, "-m", "numcolbert.index.bench_worker"]
    built = _run(command, {**request, "task": "build"})
    searched = _run(command, {**request, "task": "search"})
    return {**built, **searched, "build_peak": built["peak_bytes"], "search_peak": searched["peak_bytes"]}


def _fastplaid(job: Job, home: Path) -> dict[str, Any]:
    request = {
        "vectors": str(job.vectors), "passages": job.passages, "queries": job.queries, "folder": str(home),
        "rounds": max(1, job.rounds // 3),  # as for flat
    }  # fmt: skip
    raw = _run([str(job.fastplaid_python), "-c", FASTPLAID_RUNNER], request)
    return {**raw, "build_peak": raw["peak_bytes"], "search_peak": raw["peak_bytes"]}


def _run(command: list[str], request: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run(
        command, input=json.dumps(request), capture_output=True, text=True, env={**os.environ}, check=False
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise _told(last) or NumColBERTError(
            f"The measurement of '{request.get('engine', 'fast-plaid')}' failed: {last}.",
            hint="is there memory and disk space enough? a smaller --passages needs less",
        )
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


def _told(line: str) -> NumColBERTError | None:
    """The error that a worker of ours ended with, where it knew one."""
    try:
        told = json.loads(line)
        return NumColBERTError(told["message"], hint=told["hint"])
    except (ValueError, KeyError, TypeError):
        return None


def _report(
    engine: str, nbits: int | None, job: Job, raw: dict[str, Any], truth: dict[str, Any]
) -> EngineReport:
    return EngineReport(
        engine=engine,
        nbits=nbits,
        passages=job.passages,
        build_s=raw["build_s"],
        bytes=raw["bytes"],
        ratio=raw["ratio"],
        p50_ms=raw["p50_ms"],
        p95_ms=raw["p95_ms"],
        cpu_ms=raw.get("cpu_ms"),
        recall=_recall(raw["found"], truth.get("found")),
        recall_gated=_recall(raw.get("found_gated"), truth.get("found_gated")),
        ndcg=_quality(job, raw["found"]),
        ndcg_gated=_quality(job, raw.get("found_gated")),
        **_gated(job, raw),
        build_peak=raw["build_peak"],
        search_peak=raw["search_peak"],
        open_s=raw.get("open_s"),
        first_s=raw.get("first_s"),
    )


def _gated(job: Job, raw: dict[str, Any]) -> dict[str, Ratio | None]:
    if "seconds" not in raw:
        return {"gated": None, "gated_end_to_end": None}
    plain, gated = np.asarray(raw["seconds"])
    whole = Ratio.of(job.encoding.gated + gated, job.encoding.plain + plain) if job.encoding else None
    return {"gated": Ratio.of(gated, plain), "gated_end_to_end": whole}


def _recall(found: list[list[int]] | None, right: list[list[int]] | None) -> float | None:
    if not found or not right:
        return None
    shares = [len({*a} & {*b}) / len(b) for a, b in zip(found, right, strict=True)]
    return sum(shares) / len(shares)


def _quality(job: Job, found: list[list[int]] | None) -> float | None:
    return job.judge(found) if job.judge and found else None


# Runs in an environment that has fast-plaid and numpy but not this package.
FASTPLAID_RUNNER = """
import json, pathlib, resource, sys, time
from fast_plaid import search
import numpy as np, torch
job = json.load(sys.stdin)
folder = pathlib.Path(job["vectors"])
lengths = np.fromfile(folder / "lengths.i32", np.int32)[: job["passages"]]
saved = np.load(folder / "queries.npz")
queries = np.split(saved["vectors"].astype(np.float32), np.cumsum(saved["lengths"])[:-1])[: job["queries"]]
dim = queries[0].shape[1]
rows = np.fromfile(folder / "vectors.f16", np.float16, int(lengths.sum()) * dim).reshape(-1, dim)
documents = [torch.from_numpy(d.astype(np.float32)) for d in np.split(rows, np.cumsum(lengths)[:-1])]
begin = time.perf_counter()
index = search.FastPlaid(index=job["folder"], device="cpu")
index.create(documents_embeddings=documents, nbits=4)
build_s = time.perf_counter() - begin
size = sum(f.stat().st_size for f in pathlib.Path(job["folder"]).rglob("*") if f.is_file())
index.search(queries_embeddings=torch.from_numpy(queries[0])[None], top_k=10)
times, busy = np.full((2, job["rounds"], len(queries)), np.inf)
for round_number in range(job["rounds"]):
    found = []
    for at, query in enumerate(queries):
        begin, begin_busy = time.perf_counter(), time.process_time()
        result = index.search(queries_embeddings=torch.from_numpy(query)[None], top_k=10)
        times[round_number, at] = 1000 * (time.perf_counter() - begin)
        busy[round_number, at] = 1000 * (time.process_time() - begin_busy)
        found.append([int(key) for key, _ in result[0]])
times = times.min(axis=0)
print(json.dumps({
    "build_s": build_s, "bytes": size, "ratio": size / (4 * dim * int(lengths.sum())),
    "p50_ms": float(np.percentile(times, 50)), "p95_ms": float(np.percentile(times, 95)), "found": found,
    "cpu_ms": float(np.percentile(busy.min(axis=0), 50)),
    "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
}))
"""
