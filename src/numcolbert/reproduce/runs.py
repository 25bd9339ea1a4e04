"""Runs on disk: found where they are still right, made where they are not.

    RUNS/<system>/<benchmark>.trec        the run
    RUNS/<system>/<benchmark>.json        how it was made, with a hash of everything it depends on

Runs made elsewhere (on a training machine) lie anywhere below RUNS/<system>/ as <benchmark>.trec,
<benchmark>.gated.trec or <benchmark>.plain.trec. Where a .made-on.json beside one says that it belongs to
another edition of the benchmark, it is passed over.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from numcolbert.baselines.collection import read_documents, read_queries
from numcolbert.baselines.ranker import Ranker
from numcolbert.evaluate.trec import read_run, write_run
from numcolbert.files import replacing_file, sha256
from numcolbert.reproduce.systems import find_system
from numcolbert.train.benchmarks import Benchmark
from numcolbert.train.fingerprint import fingerprint, made_on
from numcolbert.types import Document

DEPTH = 1000
_VARIANTS = ("", ".gated", ".plain")


@dataclass(frozen=True, slots=True)
class RunFile:
    path: Path
    reused: bool
    seconds: float
    """What making it took, now or then."""


class Workshop:
    """Keeps the last corpus and the last ranker: a benchmark and its suites share both."""

    def __init__(self) -> None:
        self._corpus: tuple[Path, list[Document]] | None = None
        self._ranker: tuple[tuple[str, Path], Ranker] | None = None

    def ranker(self, system: str, benchmark: Benchmark, first: Path | None) -> Ranker:
        """A ranker over the benchmark's corpus, ready to search."""
        wanted = (system, benchmark.corpus_path)
        if self._ranker and self._ranker[0] == wanted and first is None:
            return self._ranker[1]
        ranker = find_system(system).build(read_run(first) if first else {})
        ranker.index(self._documents(benchmark.corpus_path))
        self._ranker = (wanted, ranker) if first is None else None
        return ranker

    def _documents(self, path: Path) -> list[Document]:
        if self._corpus is None or self._corpus[0] != path:
            self._corpus = (path, read_documents(path))
        return self._corpus[1]


def file_name(benchmark: Benchmark) -> str:
    return benchmark.name.replace("/", "-")


def find_run(folder: Path, system: str, benchmark: Benchmark) -> Path | None:
    """A run of `system` made elsewhere, on this edition of the benchmark as far as its note says."""
    found = found_runs(folder, system, benchmark)
    return next((path for path in found if made_on(path) in (None, fingerprint(benchmark))), None)


def found_runs(folder: Path, system: str, benchmark: Benchmark) -> list[Path]:
    """All runs with the right name, whatever they were made on."""
    names = [f"{file_name(benchmark)}{variant}.trec" for variant in _VARIANTS]
    return [path for name in names for path in sorted((folder / system).rglob(name))]


def made_run(
    folder: Path, system: str, benchmark: Benchmark, workshop: Workshop, first: Path | None = None
) -> RunFile:
    """The run of a registered system: the saved one if nothing it depends on has changed, else a new one."""
    saved = saved_run(folder, system, benchmark, first)
    if saved is not None:
        return saved
    path = _place(folder, system, benchmark)
    start = time.monotonic()
    run = workshop.ranker(system, benchmark, first).search(read_queries(benchmark), DEPTH)
    seconds = round(time.monotonic() - start, 2)
    write_run(path, run, system)
    how = {
        "system": system,
        "benchmark": benchmark.name,
        "key": _key(system, benchmark, first),
        "sha256": sha256(path),
        "seconds": seconds,
    }
    with replacing_file(path.with_suffix(".json")) as aside:
        aside.write_text(json.dumps(how, indent=1), encoding="utf-8")
    return RunFile(path, False, seconds)


def saved_run(folder: Path, system: str, benchmark: Benchmark, first: Path | None = None) -> RunFile | None:
    """The run `made_run` left, if nothing it depends on has changed since."""
    path = _place(folder, system, benchmark)
    note = path.with_suffix(".json")
    if not path.is_file() or not note.is_file():
        return None
    try:
        saved = json.loads(note.read_text(encoding="utf-8"))
        key, content, seconds = saved["key"], saved["sha256"], float(saved["seconds"])
    except (ValueError, KeyError, TypeError):  # a damaged note vouches for nothing
        return None
    if key != _key(system, benchmark, first) or content != sha256(path):
        return None
    return RunFile(path, True, seconds)


def was_made_here(run: Path) -> bool:
    """Whether `made_run` wrote it, now or once."""
    return run.with_suffix(".json").is_file()


def _place(folder: Path, system: str, benchmark: Benchmark) -> Path:
    return folder / system / f"{file_name(benchmark)}.trec"


def _key(system: str, benchmark: Benchmark, first: Path | None) -> str:
    queries = [
        (query, text, benchmark.attributes.get(query))
        for query, text in zip(benchmark.query_ids, benchmark.query_texts, strict=True)
    ]
    parts = [
        system,
        find_system(system).revision,
        DEPTH,
        _hash(benchmark.corpus_path),
        queries,
        _hash(first) if first else None,
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _hash(path: Path) -> str:
    """The file's hash, computed once while the file stays as it is: all rows share a corpus."""
    state = path.stat()
    return _hash_of_state(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=64)
def _hash_of_state(path: Path, _modified: int, _size: int) -> str:
    return sha256(path)
