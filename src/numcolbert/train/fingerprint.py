"""What a run was made on, so that a run of another edition of a benchmark is never taken for one of this."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path

from numcolbert.config import read_json
from numcolbert.errors import InputError
from numcolbert.files import open_binary, replacing_file
from numcolbert.train.benchmarks import Benchmark


def fingerprint(benchmark: Benchmark) -> str:
    """Of the collection and the queries; the same whether the corpus is compressed or not."""
    path = benchmark.corpus_path
    state = path.stat()
    queries = [*zip(benchmark.query_ids, benchmark.query_texts, strict=True)]
    parts = [_content(path, state.st_mtime_ns, state.st_size), queries]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@lru_cache(maxsize=16)
def _content(path: Path, _modified: int, _size: int) -> str:
    digest = hashlib.sha256()
    with open_binary(path) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def note_of(run: Path) -> Path:
    return run.with_name(run.name.removesuffix(".trec") + ".made-on.json")


def write_note(run: Path, benchmark: Benchmark) -> None:
    """Say beside a run file what it was made on."""
    with replacing_file(note_of(run)) as aside:
        aside.write_text(
            json.dumps({"benchmark": benchmark.name, "fingerprint": fingerprint(benchmark)}), encoding="utf-8"
        )


def made_on(run: Path) -> str | None:
    """The fingerprint beside a run file, None where there is none."""
    note = note_of(run)
    if not note.is_file():
        return None
    hint = "copy it again from where the run was made"
    found = read_json(note, "note on a run", hint=hint)
    if "fingerprint" not in found:
        raise InputError(f"'{note}' does not say what the run was made on.", hint=hint)
    return str(found["fingerprint"])
