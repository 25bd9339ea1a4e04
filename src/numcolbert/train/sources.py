"""Where a worker's triples come from: an endless stream mined from pools, or a file. No torch here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from numcolbert.data.held_out import HeldOut
from numcolbert.data.pool import Pool
from numcolbert.data.triple import OPERATORS, Passage, PassageQuantity, QueryCondition, Triple
from numcolbert.data.triple_settings import TripleSettings
from numcolbert.errors import InputError
from numcolbert.files import open_binary, require_file


@dataclass(frozen=True)
class DataSettings:
    pools: tuple[Path, ...] = ()
    held_out: tuple[Path, ...] = ()
    general: tuple[Path, ...] = ()
    mix: dict[str, float] | None = None
    triples: Path | None = None
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
    stream: Source = _open_stream(settings, seed, worker, start)
    return stream


def unit_count(settings: DataSettings) -> int:
    """How many units the labels of these triples can name."""
    if settings.triples is not None:
        found = [c.unit for t in read_triples(settings.triples) for c in t.conditions]
        return max(found, default=-1) + 1
    return len(_open_stream(settings, 0, 0, 0).units)


def _open_stream(settings: DataSettings, seed: int, worker: int, start: int) -> Any:
    from numcolbert.data.triples import TripleStream

    return TripleStream(
        [Pool.load(path) for path in settings.pools],
        seed=seed,
        worker=worker,
        workers=worker + 1,
        held_out=HeldOut.read(settings.held_out),
        mix=settings.mix,
        settings=settings.stream,
        general=settings.general,
        start=start,
    )


class FileSource:
    """The triples of a JSON Lines file, in a new order each time round."""

    def __init__(self, path: Path, seed: int, worker: int, start: int = 0) -> None:
        self._triples = read_triples(path)
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


def read_triples(path: Path) -> list[Triple]:
    """One triple a line, as `write_triples` writes them."""
    require_file(path, "file of triples")
    triples = []
    with open_binary(path) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                triples.append(_triple(json.loads(line)))
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(
                    f"Line {number} of '{path}' is not a triple: {error}.",
                    hint="each line holds query, conditions, positive and negative; see the training guide",
                ) from error
    if not triples:
        raise InputError(f"The file of triples '{path}' is empty.", hint="write some triples into it")
    return triples


def write_triples(path: Path, triples: list[Triple]) -> None:
    path.write_text("".join(f"{line}\n" for line in _lines(triples)), encoding="utf-8")


def _lines(triples: list[Triple]) -> Iterator[str]:
    for triple in triples:
        yield json.dumps(asdict(triple), ensure_ascii=False)


def _triple(values: dict[str, Any]) -> Triple:
    conditions = []
    for condition in values.get("conditions", ()):
        if condition["operator"] not in OPERATORS:
            raise ValueError(f"the operator {condition['operator']!r} is none of {', '.join(OPERATORS)}")
        start, end = condition["span"]
        conditions.append(QueryCondition(**{**condition, "span": (int(start), int(end))}))
    return Triple(values["query"], conditions, _passage(values["positive"]), _passage(values["negative"]))


def _passage(values: dict[str, Any]) -> Passage:
    return Passage(str(values["text"]), [PassageQuantity(**q) for q in values.get("quantities", ())])
