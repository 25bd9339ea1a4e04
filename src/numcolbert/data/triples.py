"""The endless stream of training triples.

    stream = TripleStream([Pool.load(path)], seed=7, held_out=HeldOut.read([benchmark]))
    for triple in stream: ...

The same seed, worker and sources give the same triples on every machine; different workers give different
ones. Needs numpy only, so it runs beside the training loop.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, Protocol

from numcolbert.data.attributes import AttributeSource
from numcolbert.data.corpus_source import CorpusSource
from numcolbert.data.dice import Dice
from numcolbert.data.general_source import GeneralSource
from numcolbert.data.held_out import HeldOut
from numcolbert.data.pool import Pool, Unit
from numcolbert.data.triple import Triple
from numcolbert.data.triple_settings import Drawing, TripleSettings
from numcolbert.data.vocabulary import Vocabulary
from numcolbert.errors import InputError, UsageError

BLOCK = 1024
"""Triples between two seeds: a stream can be entered at any multiple without making those before it."""

_PATIENCE = 8
"""Draws that come to nothing before a subject is given up."""
_GIVE_UP_AFTER = 2000
_ATTRIBUTE_SHARE = 0.3
_GENERAL_SHARE = 0.15

_NOTHING_HELD_OUT = HeldOut()
_DEFAULT_SETTINGS = TripleSettings()


class Source(Protocol):
    @property
    def name(self) -> str: ...

    def subject(self, rng: Random) -> Any:
        """What a few triples in a row are about: a pair, an attribute, or nothing in particular."""

    def neighbour(self, subject: Any, rng: Random) -> Any:
        """Another subject, easily taken for this one; None where there is none."""

    def draw(self, subject: Any, rng: Random) -> Triple | None: ...


class TripleStream:
    """An infinite, deterministic iterator of triples from pools, attribute sentences and general pairs.

    `mix` gives each source a weight by name: a pool's name, "attributes" or "general"; sources it leaves out
    take no part. Without it attribute sentences are 30 %, general pairs (where given) 15 %, and the pools
    share the rest alike. `start` is the number of triples this worker has already given.
    """

    def __init__(
        self,
        pools: Sequence[Pool],
        *,
        seed: int,
        worker: int = 0,
        workers: int = 1,
        held_out: HeldOut = _NOTHING_HELD_OUT,
        mix: Mapping[str, float] | None = None,
        settings: TripleSettings = _DEFAULT_SETTINGS,
        general: Sequence[Path] = (),
        start: int = 0,
    ) -> None:
        if not 0 <= worker < workers:
            raise UsageError(
                f"Worker {worker} of {workers} does not exist.", hint="workers count from 0 to workers - 1"
            )
        self.seed, self.worker, self.workers = seed, worker, workers
        self._vocabulary = Vocabulary()
        weights = mix_of([pool.name for pool in pools], mix, general=bool(general))
        sources: dict[str, Source] = {
            pool.name: CorpusSource(pool, self._vocabulary, held_out, settings) for pool in pools
        }
        # Registered always, so that a change of the mix leaves the numbers of units and pairs as they are.
        sources["attributes"] = AttributeSource(self._vocabulary, held_out, settings)
        if general:
            sources["general"] = GeneralSource(general)
        self._sources = {name: sources[name] for name, weight in weights.items() if weight > 0}
        self._choose = Drawing({name: weights[name] for name in self._sources})
        self._in_a_row, self._neighbours = settings.same_subject, settings.neighbours
        self._triples = self._generate(start)

    @property
    def units(self) -> list[Unit]:
        return self._vocabulary.units

    @property
    def dimensions(self) -> list[str]:
        return self._vocabulary.dimensions

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """(concept name, dimension)"""
        return self._vocabulary.pairs

    def __iter__(self) -> Iterator[Triple]:
        return self._triples

    def __next__(self) -> Triple:
        return next(self._triples)

    def next_block(self, count: int) -> list[Triple]:
        """The next `count` triples. Faster than iterating: nothing in a triple can form a cycle, so the
        collector, which would look at every new object several times, is held while they are made.
        """
        collecting = gc.isenabled()
        gc.disable()
        try:
            return list(islice(self._triples, count))
        finally:
            if collecting:
                gc.enable()

    def _generate(self, start: int) -> Iterator[Triple]:
        block, skipped = divmod(start, BLOCK)
        while True:
            rng = Dice(f"{self.seed}/{self.worker}/{block}")
            yield from islice(self._block(rng), skipped, None)
            block, skipped = block + 1, 0

    def _block(self, rng: Random) -> Iterator[Triple]:
        last: dict[str, Any] = {}
        for first in range(0, BLOCK, self._in_a_row):
            source = self._sources[self._choose(rng)]
            subject = None
            if source.name in last and self._neighbours and rng.random() < self._neighbours:
                subject = source.neighbour(last[source.name], rng)
            if subject is None:
                subject = source.subject(rng)
            last[source.name] = subject
            for _ in range(min(self._in_a_row, BLOCK - first)):
                for attempt in range(1, _GIVE_UP_AFTER + 1):
                    triple = source.draw(subject, rng)
                    if triple is not None:
                        break
                    if attempt % _PATIENCE == 0:
                        subject = source.subject(rng)
                else:
                    raise InputError(
                        f"'{source.name}' yields no triples under these settings.",
                        hint="mine a larger corpus or loosen the settings",
                    )
                yield triple


def mix_of(pools: Sequence[str], mix: Mapping[str, float] | None, *, general: bool) -> dict[str, float]:
    """The weight of each source; checks the names."""
    if len(set(pools)) < len(pools):
        raise UsageError(f"Two pools have the same name: {', '.join(pools)}.", hint="name them apart")
    if taken := [name for name in pools if name in ("attributes", "general")]:
        raise UsageError(
            f"A pool may not be called '{taken[0]}': another source is.", hint="mine it with another --name"
        )
    known = [*pools, "attributes", *(["general"] if general else [])]
    if mix is None:
        weights = {"attributes": _ATTRIBUTE_SHARE if pools else 1.0}
        if general:
            weights["general"] = _GENERAL_SHARE
        rest = 1.0 - sum(weights.values())
        return {**{name: rest / len(pools) for name in pools}, **weights}
    for name, weight in mix.items():
        if name not in known:
            raise UsageError(f"The mix names an unknown source '{name}'.", hint="known: " + ", ".join(known))
        if not 0 <= weight < float("inf"):
            raise UsageError(f"The weight of '{name}' is {weight}.", hint="weights are finite, and 0 or more")
    if not sum(mix.values()):
        raise UsageError("The mix gives every source the weight 0.", hint="give one a positive weight")
    return {name: mix.get(name, 0.0) for name in known}
