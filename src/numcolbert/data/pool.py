"""The mined corpus: sentences, the quantities in them and the concept each quantity describes.

A pool is what benchmarks and triples are made from. On disk it is numpy and JSON only, so that it can be
used on a training machine that has neither spaCy nor pint.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numcolbert.errors import InputError, NotFoundError
from numcolbert.files import replacing_folder

FORMAT = 1
HEADER = "pool.json"


@dataclass(frozen=True, slots=True)
class Unit:
    """A canonical unit with what is needed to convert and to write it without a unit library."""

    name: str
    dimension: str
    factor: float
    """base value = value * factor + offset"""
    offset: float = 0.0
    surfaces: tuple[str, ...] = ()
    """How people write it after a number ("km", "kilometres"), or before it where `prefix` says so."""
    prefixes: tuple[str, ...] = ()
    """Surfaces that stand before the number ("$", "US$")."""


@dataclass(frozen=True, slots=True)
class Concept:
    name: str
    """The canonical phrase, lower case."""
    variants: tuple[str, ...] = ()
    """Other phrases for the same thing: plural, acronym, long form, head noun, synonym, hypernym."""
    surfaces: tuple[str, ...] = ()
    """Phrases that stand verbatim in the corpus for it."""


@dataclass(slots=True)
class Mentions:
    """One row per extracted quantity, column by column; -1 (or NaN) where there is none."""

    sentence: NDArray[np.int32]
    concept: NDArray[np.int32]
    unit: NDArray[np.int32]
    value: NDArray[np.float64]
    base_value: NDArray[np.float64]
    base_low: NDArray[np.float64]
    base_high: NDArray[np.float64]
    approximate: NDArray[np.bool_]
    span: NDArray[np.int32]  # [n, 2] characters of the whole quantity
    value_span: NDArray[np.int32]  # [n, 2] characters of the value with its scale word
    unit_span: NDArray[np.int32]  # [n, 2]

    def __len__(self) -> int:
        return len(self.sentence)


@dataclass(slots=True)
class Texts:
    """Many strings in two arrays: UTF-8 bytes end to end, and where each begins."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]  # [n + 1]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        encoded = [text.encode() for text in texts]
        starts = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(e) for e in encoded], out=starts[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, row: int) -> str:
        return self.data[self.starts[row] : self.starts[row + 1]].tobytes().decode()

    def followed_by(self, texts: Sequence[str]) -> Texts:
        more = Texts.of(texts)
        starts = np.concatenate([self.starts, self.starts[-1] + more.starts[1:]])
        return Texts(np.concatenate([self.data, more.data]), starts)


@dataclass
class Pool:
    name: str
    units: list[Unit]
    concepts: list[Concept]
    sentences: Texts
    sentence_ids: Texts
    mentions: Mentions
    notes: dict[str, Any] = field(default_factory=dict)
    """How it was made: sources, seed, versions, counts."""

    @cached_property
    def dimensions(self) -> list[str]:
        return sorted({unit.dimension for unit in self.units})

    @cached_property
    def unit_dimension(self) -> NDArray[np.int32]:
        """For each unit, the position of its dimension in `dimensions`."""
        position = {name: i for i, name in enumerate(self.dimensions)}
        return np.array([position[unit.dimension] for unit in self.units], np.int32)

    @cached_property
    def pairs(self) -> dict[tuple[int, int], NDArray[np.int32]]:
        """(concept, dimension) -> rows of `mentions`, in order of base value."""
        mentions = self.mentions
        rows = np.flatnonzero((mentions.concept >= 0) & (mentions.unit >= 0)).astype(np.int32)
        dimension = self.unit_dimension[mentions.unit[rows]]
        order = np.lexsort((mentions.base_value[rows], dimension, mentions.concept[rows]))
        rows, dimension = rows[order], dimension[order]
        concept = mentions.concept[rows]
        cuts = np.flatnonzero((np.diff(concept) != 0) | (np.diff(dimension) != 0)) + 1
        groups = np.split(rows, cuts) if len(rows) else []
        return {
            (int(mentions.concept[g[0]]), int(self.unit_dimension[mentions.unit[g[0]]])): g for g in groups
        }

    def save(self, folder: Path, *, overwrite: bool = False) -> None:
        with replacing_folder(folder, overwrite=overwrite, mark=HEADER) as aside:
            header = {
                "format": FORMAT,
                "name": self.name,
                "units": [asdict(unit) for unit in self.units],
                "concepts": [asdict(concept) for concept in self.concepts],
                "notes": self.notes,
            }
            (aside / HEADER).write_text(json.dumps(header, ensure_ascii=False), encoding="utf-8")
            columns = {f.name: getattr(self.mentions, f.name) for f in fields(Mentions)}
            np.savez_compressed(aside / "mentions.npz", **columns)
            for name in ("sentences", "sentence_ids"):
                texts: Texts = getattr(self, name)
                np.savez_compressed(aside / f"{name}.npz", data=texts.data, starts=texts.starts)

    @classmethod
    def load(cls, folder: Path) -> Pool:
        header_file = folder / HEADER
        if not header_file.is_file():
            raise NotFoundError(
                f"'{folder}' is not a pool: it has no {HEADER}.", hint="make one with 'numcolbert data mine'"
            )
        try:
            header = json.loads(header_file.read_text(encoding="utf-8"))
            if header["format"] != FORMAT:
                raise InputError(
                    f"The pool '{folder}' has format {header['format']}, this version reads {FORMAT}.",
                    hint="make it again with 'numcolbert data mine'",
                )
            with np.load(folder / "mentions.npz") as columns:
                mentions = Mentions(**{f.name: columns[f.name] for f in fields(Mentions)})
            texts = {}
            for name in ("sentences", "sentence_ids"):
                with np.load(folder / f"{name}.npz") as arrays:
                    texts[name] = Texts(arrays["data"], arrays["starts"])
        except (ValueError, KeyError, OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            raise InputError(
                f"The pool '{folder}' cannot be read: {error}.",
                hint="make it again with 'numcolbert data mine'",
            ) from error
        return cls(
            name=header["name"],
            units=[
                Unit(**{**u, "surfaces": tuple(u["surfaces"]), "prefixes": tuple(u["prefixes"])})
                for u in header["units"]
            ],
            concepts=[
                Concept(c["name"], tuple(c["variants"]), tuple(c["surfaces"])) for c in header["concepts"]
            ],
            mentions=mentions,
            notes=header["notes"],
            **texts,
        )
