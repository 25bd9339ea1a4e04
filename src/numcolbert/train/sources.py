"""Where a worker's triples come from: an endless stream mined from pools, or a file. No torch here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from numcolbert.data.held_out import HeldOut
from numcolbert.data.pool import Pool
from numcolbert.data.triple import Triple
from numcolbert.data.triple_files import read_triples
from numcolbert.data.triple_settings import TripleSettings
from numcolbert.data.triples import TripleStream
from numcolbert.errors import InputError


@dataclass(frozen=True)
class DataSettings:
    pools: tuple[Path, ...] = ()
    held_out: tuple[Path, ...] = ()
    general: tuple[Path, ...] = ()
    mix: dict[str, float] | None = None
    triples: Path | None = None
    tape: Path | None = None
    """Batches that were drawn before, see `tape.py`; the other settings say what is on it."""
    stream: TripleSettings = field(default_factory=TripleSettings)
    mask_known: bool = True
    workers: int = 14
    prefetch: int = 4
    token_multiple: int = 2048
    quantities: int = 16


class Source(Protocol):
    def next_block(self, count: int) -> list[Triple]: ...


def open_source(settings: DataSettings, seed: int, worker: int, start: int = 0) -> Source:
    """The triples of one worker from number `start` on.

    Different workers see different triples, the same worker always the same ones.
    """
    if settings.triples is not None:
        return FileSource(settings.triples, seed, worker, start)
    return _open_stream(settings, seed, worker, start)


def unit_count(settings: DataSettings) -> int:
    """How many units the labels of these triples can name."""
    if settings.triples is not None:
        return len(read_triples(settings.triples).units)
    return len(_open_stream(settings, 0, 0, 0).units)


def _open_stream(settings: DataSettings, seed: int, worker: int, start: int) -> TripleStream:
    pools = [Pool.load(path) for path in settings.pools]
    return TripleStream(
        pools,
        seed=seed,
        worker=worker,
        workers=worker + 1,
        held_out=HeldOut.read(settings.held_out),
        mix=named_mix(settings.mix, [pool.name for pool in pools]),
        settings=settings.stream,
        general=settings.general,
        start=start,
    )


def named_mix(mix: dict[str, float] | None, pools: Sequence[str]) -> dict[str, float] | None:
    """The mix with the weight of "pools" shared among the pools it does not name: so that a recipe need not
    know what they are called."""
    if mix is None or "pools" not in mix or "pools" in pools:
        return mix
    others = [name for name in pools if name not in mix]
    rest = {name: weight for name, weight in mix.items() if name != "pools"}
    return rest | dict.fromkeys(others, mix["pools"] / max(len(others), 1))


class FileSource:
    """The triples of a file written by `numcolbert data triples`, in a new order each time round."""

    def __init__(self, path: Path, seed: int, worker: int, start: int = 0) -> None:
        self._triples = read_triples(path).triples
        if not self._triples:
            raise InputError(f"The file of triples '{path}' is empty.", hint="write some triples into it")
        self._key = (seed, worker)
        self._place = start

    def next_block(self, count: int) -> list[Triple]:
        rows: list[int] = []
        while len(rows) < count:
            # Each round has a generator of its own, so that any place can be reached without those before.
            round_number, place = divmod(self._place + len(rows), len(self._triples))
            order = np.random.default_rng((*self._key, round_number)).permutation(len(self._triples))
            rows += order[place : place + count - len(rows)].tolist()
        self._place += count
        return [self._triples[row] for row in rows]
