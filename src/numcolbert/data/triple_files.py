"""Triples on disk: one compressed numpy file with a JSON header, or JSON lines for people."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from numcolbert.data.pool import Texts, Unit
from numcolbert.data.triple import OPERATORS, Passage, PassageQuantity, QueryCondition, Triple
from numcolbert.errors import InputError
from numcolbert.files import refuse_existing, replacing_file, require_file

FORMAT = 1


class Vocabularies(Protocol):
    """What a `TripleStream` knows about the integers in its triples."""

    @property
    def units(self) -> list[Unit]: ...
    @property
    def dimensions(self) -> list[str]: ...
    @property
    def pairs(self) -> list[tuple[str, str]]: ...


@dataclass(slots=True)
class StoredTriples:
    triples: list[Triple]
    units: list[Unit]
    dimensions: list[str]
    pairs: list[tuple[str, str]]


def write_triples(
    path: Path, triples: Sequence[Triple], names: Vocabularies, *, overwrite: bool = False
) -> None:
    """Write the compact form; `read_triples` gives back equal triples."""
    header = {
        "format": FORMAT,
        "units": [asdict(unit) for unit in names.units],
        "dimensions": names.dimensions,
        "pairs": names.pairs,
    }
    passages = [p for t in triples for p in (t.positive, t.negative)]
    conditions = [c for t in triples for c in t.conditions]
    quantities = [q for p in passages for q in p.quantities]
    queries, texts = Texts.of([t.query for t in triples]), Texts.of([p.text for p in passages])
    columns: dict[str, NDArray[Any]] = {
        "header": np.frombuffer(json.dumps(header, ensure_ascii=False).encode(), np.uint8),
        "query_data": queries.data,
        "query_starts": queries.starts,
        "passage_data": texts.data,  # positive, negative, positive ...
        "passage_starts": texts.starts,
        "condition_count": np.array([len(t.conditions) for t in triples], np.int32),
        "condition_whole": np.array(
            [[OPERATORS.index(c.operator), c.pair, c.unit, c.dimension, *c.span] for c in conditions],
            np.int32,
        ).reshape(-1, 6),
        "condition_value": np.array(
            [[c.value, c.base_value, c.base_high] for c in conditions], np.float64
        ).reshape(-1, 3),
        "quantity_count": np.array([len(p.quantities) for p in passages], np.int32),
        "quantity_whole": np.array([[q.pair, q.unit, q.dimension] for q in quantities], np.int32).reshape(
            -1, 3
        ),
        "quantity_value": np.array([q.base_value for q in quantities], np.float64),
    }
    refuse_existing(path, "file", overwrite=overwrite)
    with replacing_file(path) as aside, aside.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **columns)


def read_triples(path: Path) -> StoredTriples:
    require_file(path, "file of triples")
    hint = "make one with 'numcolbert data triples -o FILE.npz'"
    if not zipfile.is_zipfile(path):
        raise InputError(f"'{path}' is not a compact file of triples.", hint=hint)
    try:
        with np.load(path) as columns:
            return _rebuilt({name: columns[name] for name in columns.files})
    except (ValueError, LookupError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"The file of triples '{path}' cannot be read: {error}.", hint=hint) from error


def _rebuilt(columns: dict[str, NDArray[Any]]) -> StoredTriples:
    header = json.loads(columns["header"].tobytes())
    if header["format"] != FORMAT:
        raise ValueError(f"format {header['format']}, this version reads {FORMAT}")
    queries = Texts(columns["query_data"], columns["query_starts"])
    texts = Texts(columns["passage_data"], columns["passage_starts"])
    conditions = [
        QueryCondition(OPERATORS[o], pair, unit, dimension, value, low, high, (start, end))
        for (o, pair, unit, dimension, start, end), (value, low, high) in zip(
            columns["condition_whole"].tolist(), columns["condition_value"].tolist(), strict=True
        )
    ]
    quantities = [
        PassageQuantity(pair, unit, dimension, value)
        for (pair, unit, dimension), value in zip(
            columns["quantity_whole"].tolist(), columns["quantity_value"].tolist(), strict=True
        )
    ]
    of_query = _bounds(columns["condition_count"])
    of_passage = _bounds(columns["quantity_count"])
    passages = [Passage(texts[i], quantities[of_passage[i] : of_passage[i + 1]]) for i in range(len(texts))]
    triples = [
        Triple(queries[i], conditions[of_query[i] : of_query[i + 1]], passages[2 * i], passages[2 * i + 1])
        for i in range(len(queries))
    ]
    units = [
        Unit(**{**u, "surfaces": tuple(u["surfaces"]), "prefixes": tuple(u["prefixes"])})
        for u in header["units"]
    ]
    return StoredTriples(triples, units, header["dimensions"], [(c, d) for c, d in header["pairs"]])


def _bounds(counts: NDArray[Any]) -> list[int]:
    return [0, *np.cumsum(counts).tolist()]


def json_line(triple: Triple, names: Vocabularies) -> str:
    """One triple as JSON: its fields as they are, and under `reading` what the numbers mean."""

    def concept(pair: int) -> str:
        return names.pairs[pair][0] if pair >= 0 else "?"

    def said(passage: Passage) -> list[str]:
        return [
            f"{concept(q.pair)}: {q.base_value:g} [{names.dimensions[q.dimension]}]"
            for q in passage.quantities
        ]

    reading = {
        "conditions": [
            f"{concept(c.pair)} {c.operator} {c.value:g} {names.units[c.unit].name}"
            for c in triple.conditions
        ],
        "positive": said(triple.positive),
        "negative": said(triple.negative),
    }
    return json.dumps({**asdict(triple), "reading": reading}, ensure_ascii=False)


def write_json_lines(
    path: Path, triples: Iterable[Triple], names: Vocabularies, *, overwrite: bool = False
) -> None:
    refuse_existing(path, "file", overwrite=overwrite)
    with replacing_file(path) as aside, aside.open("w", encoding="utf-8") as file:
        file.writelines(json_line(triple, names) + "\n" for triple in triples)
