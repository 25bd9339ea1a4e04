"""What the engine benchmark measured, as rows of the report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from numcolbert.errors import InputError
from numcolbert.files import require_file
from numcolbert.report.grid import Entry, Grid

ENGINES_FILE = "engines.json"
"""In a report: the rows it shows."""


@dataclass(frozen=True, slots=True)
class EngineRow:
    engine: str
    nbits: int | None
    passages: int
    megabytes: float
    p50_ms: float
    p95_ms: float
    recall: float | None
    """Of the exact engine's first ten."""
    gated: float | None
    """Time of gated queries over time of plain ones."""

    @property
    def label(self) -> str:
        return self.engine if self.nbits is None else f"{self.engine} {self.nbits} bits"


def read_engines(path: Path) -> list[EngineRow]:
    """Read the output of `numcolbert bench engines --json`."""
    require_file(path, "engine benchmark")
    try:
        return [
            EngineRow(
                engine=str(row["engine"]),
                nbits=row["nbits"],
                passages=int(row["passages"]),
                megabytes=row["bytes"] / 1e6,
                p50_ms=float(row["p50_ms"]),
                p95_ms=float(row["p95_ms"]),
                recall=row["recall"],
                gated=row["gated"] and float(row["gated"]["value"]),
            )
            for row in json.loads(path.read_text(encoding="utf-8"))
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"'{path}' is not the output of the engine benchmark: {error!r}.",
            hint="make it with 'numcolbert bench engines --json'",
        ) from error


def engines_json(rows: Sequence[EngineRow]) -> str:
    """What `read_engines` takes from the benchmark's output, in the same form."""
    values = [
        {
            "engine": row.engine,
            "nbits": row.nbits,
            "passages": row.passages,
            "bytes": round(row.megabytes * 1e6),
            "p50_ms": row.p50_ms,
            "p95_ms": row.p95_ms,
            "recall": row.recall,
            "gated": row.gated and {"value": row.gated},
        }
        for row in rows
    ]
    return json.dumps(values, indent=1)


def engine_grid(rows: Sequence[EngineRow]) -> Grid:
    def digits(value: float | None, count: int) -> Entry:
        return Entry("" if value is None else f"{value:,.{count}f}")

    cells = [
        [
            Entry(row.label),
            Entry(f"{row.passages:,}"),
            digits(row.megabytes, 1),
            digits(row.p50_ms, 1),
            digits(row.p95_ms, 1),
            digits(row.recall, 3),
            digits(row.gated, 3),
        ]
        for row in rows
    ]
    columns = ["engine", "passages", "MB", "p50 ms", "p95 ms", "recall@10", "gated/plain time"]
    notes = [
        "Measured by numcolbert bench engines; sizes it was asked for with --synthetic are made up in the "
        "likeness of real passages. Recall is of the exact engine's first ten, for queries without a gate."
    ]
    return Grid("Engines on the same vectors", columns, cells, notes)
