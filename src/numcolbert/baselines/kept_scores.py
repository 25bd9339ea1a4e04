"""Scores of a slow scorer, kept on disk: an interrupted run goes on where it stopped."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from numcolbert.baselines.cache import open_cache
from numcolbert.baselines.rerank import Pair, Scorer
from numcolbert.progress import Progress

BLOCK = 1024
"""Pairs scored between two writes; enough of them for the scorer to sort by length."""


class KeptScores:
    """A `Scorer` that asks another one only for pairs it has not met. `name` tells models apart."""

    def __init__(self, scorer: Scorer, name: str, cache: Path) -> None:
        self._scorer, self._name = scorer, name
        self._database = open_cache(cache, "scores (key BLOB PRIMARY KEY, score REAL) WITHOUT ROWID")

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        keys = [self._key(pair) for pair in pairs]
        known = {key: score for key in dict.fromkeys(keys) if (score := self._remembered(key)) is not None}
        fresh = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in known}
        waiting = list(fresh)
        with Progress(self._name, len(waiting), "pairs") as progress:
            for start in range(0, len(waiting), BLOCK):
                block = waiting[start : start + BLOCK]
                scores = self._scorer.score([fresh[key] for key in block])
                found = dict(zip(block, scores, strict=True))
                with self._database:
                    self._database.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?)", found.items())
                known |= found
                progress.advance(len(block))
        return [known[key] for key in keys]

    def close(self) -> None:
        self._database.close()

    def _key(self, pair: Pair) -> bytes:
        return hashlib.blake2b("\0".join((self._name, *pair)).encode(), digest_size=16).digest()

    def _remembered(self, key: bytes) -> float | None:
        row = self._database.execute("SELECT score FROM scores WHERE key = ?", (key,)).fetchone()
        return None if row is None else float(row[0])
