"""Figures of a measured table."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from numcolbert.errors import InputError
from numcolbert.report.figures import (
    latency_curve,
    nbits_curve,
    operator_bars,
    training_curve,
    tsne_scatter,
)
from numcolbert.report.html import Picture
from numcolbert.reproduce.engines import EngineRow
from numcolbert.reproduce.table import BenchmarkTable
from numcolbert.train.benchmarks import Benchmark
from numcolbert.types import QueryEncoding

Draw = Callable[[Path], Picture]
"""Makes a figure in the folder given."""
FIGURES = "figures"
"""The folder of a report that they are made in."""
TRAINING, TSNE = "training.png", "tsne-"
_TRAINING_CAPTION = "Losses during training"


def operator_pictures(table: BenchmarkTable, folder: Path) -> list[Picture]:
    """Bars by operator, one figure a measure; none for tables without operators."""
    comparison = table.comparison
    parts = comparison.tables[1:] if comparison is not None else []
    if comparison is None or not parts:
        return []
    pictures = []
    for measure in comparison.measures:
        values = {
            row.system: {part.name: part.rows[i].cells[measure].mean for part in parts}
            for i, row in enumerate(comparison.overall.rows)
            if measure in row.cells
        }
        if not values:
            continue  # kept measures may lack this one
        name = f"operators-{table.benchmark.replace('/', '-')}-{measure.replace('@', '')}"
        path = operator_bars(values, measure, folder / f"{name}.png", subject=table.spec.subject)
        pictures.append(Picture(path, f"{table.benchmark}: {measure} by operator"))
    return pictures


_BITS = re.compile(r"(?P<model>.+), (?:(?P<bits>\d+) bits?|exact)")
EXACT_BITS = 16
"""What the exact engine stores."""


def nbits_pictures(table: BenchmarkTable, folder: Path) -> list[Picture]:
    """Quality against bits, one curve a model; none for tables whose rows name no bits."""
    if table.comparison is None:
        return []
    measure = table.comparison.measures[0]
    curves: dict[str, dict[int, float]] = {}
    for row in table.comparison.overall.rows:
        found = _BITS.fullmatch(row.system)
        if found and measure in row.cells:
            bits = int(found["bits"]) if found["bits"] else EXACT_BITS
            curves.setdefault(found["model"], {})[bits] = row.cells[measure].mean
    if not any(len(curve) > 1 for curve in curves.values()):
        return []
    path = nbits_curve(curves, measure, folder / f"{table.spec.name}-{table.benchmark}.png")
    passages = {int(state.facts["passages"]) for state in table.states if "passages" in state.facts}
    size = f", {passages.pop():,} passages" if len(passages) == 1 else ""
    return [Picture(path, f"{table.benchmark}{size}: {measure} against bits per value (16: exact)")]


def number_tokens(
    encodings: Sequence[QueryEncoding], operators: Sequence[str], threshold: float = 0.5
) -> tuple[NDArray[np.float32], list[str]]:
    """Ungated vectors of the tokens the detector takes for numbers, with the operator of their query."""
    vectors, labels = [], []
    for encoding, operator in zip(encodings, operators, strict=True):
        detected = np.flatnonzero(encoding.probabilities > threshold)
        vectors.append(encoding.ungated()[detected])
        labels += [operator] * len(detected)
    if not labels:
        raise InputError(
            "The model detects no number in these queries.",
            hint="draw this figure with a model that has a gate",
        )
    return np.concatenate(vectors), labels


def tsne(benchmark: Benchmark, encode: Callable[[Sequence[str]], Sequence[QueryEncoding]]) -> Draw:
    """t-SNE of the detected number tokens, coloured by operator."""

    def draw(folder: Path) -> Picture:
        operators = [str(benchmark.attributes[query]["operator"]) for query in benchmark.query_ids]
        vectors, labels = number_tokens(encode(benchmark.query_texts), operators)
        path = tsne_scatter(vectors, labels, folder / f"{TSNE}{benchmark.name}.png")
        return Picture(path, _tsne_caption(path))

    return draw


def training(logs: Sequence[Path]) -> Draw:
    """The losses of a training, and of those that went on from it."""

    def draw(folder: Path) -> Picture:
        return Picture(training_curve(logs, folder / TRAINING), _TRAINING_CAPTION)

    return draw


def earlier_training(report: Path) -> list[Draw]:
    """The losses as that report shows them, of which a log is too long to be kept."""
    figure = report / FIGURES / TRAINING
    return [_again(figure, _TRAINING_CAPTION)] if figure.is_file() else []


def earlier_tsne(report: Path) -> list[Draw]:
    """The number tokens as that report shows them."""
    return [_again(path, _tsne_caption(path)) for path in sorted((report / FIGURES).glob(f"{TSNE}*.png"))]


def _again(figure: Path, caption: str) -> Draw:
    def draw(folder: Path) -> Picture:
        folder.mkdir(parents=True, exist_ok=True)
        for file in figure.parent.glob(f"{figure.stem}.*"):  # its numbers stand beside it
            shutil.copyfile(file, folder / file.name)
        return Picture(folder / figure.name, caption)

    return draw


def _tsne_caption(path: Path) -> str:
    return f"{path.stem.removeprefix(TSNE)}: t-SNE of the detected number tokens by operator"


def latency(rows: Sequence[EngineRow]) -> Draw:
    """Milliseconds a query against collection size, one curve an engine."""

    def draw(folder: Path) -> Picture:
        curves: dict[str, dict[int, float]] = {}
        for row in rows:
            curves.setdefault(row.label, {})[row.passages] = row.p50_ms / 1000
        return Picture(latency_curve(curves, folder / "latency.png"), "Latency against collection size")

    return draw
