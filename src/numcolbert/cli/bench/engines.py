"""`numcolbert bench engines`: flat, plaid and fast-plaid side by side."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numcolbert.cli.output import JsonOption, print_json, print_table
from numcolbert.errors import InputError, UsageError
from numcolbert.files import cache_folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from numcolbert.index.bench import EngineReport

_QUERIES = 300
_COLUMNS = (
    "passages", "engine", "nbits", "build s", "MB", "of fp32", "p50 ms", "p95 ms", "cpu ms", "recall@10",
    "recall@10 gated", "gated/plain", "build peak MB", "search peak MB", "open s",
)  # fmt: skip


def engines(
    corpus: Annotated[
        Path | None, typer.Option(help="Documents to encode: jsonl, csv, tsv, txt; .gz and .xz too.")
    ] = None,
    vectors: Annotated[
        Path | None, typer.Option(help="A folder of vectors from an earlier run, instead of a corpus.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Model to encode with; the shipped one if left out.")
    ] = None,
    passages: Annotated[list[int] | None, typer.Option(help="Collection size; may be repeated.")] = None,
    synthetic: Annotated[
        list[int] | None,
        typer.Option(help="Further sizes, with made-up vectors in the likeness of the real ones."),
    ] = None,
    nbits: Annotated[list[int] | None, typer.Option(help="Bits a coordinate; may be repeated.")] = None,
    queries: Annotated[int, typer.Option(help="Queries to measure, at most 300.")] = 100,
    rounds: Annotated[int, typer.Option(help="Times each query is asked; the fastest counts.")] = 5,
    flat_up_to: Annotated[
        int, typer.Option(help="Largest collection that flat, and so recall, is measured on.")
    ] = 100_000,
    fastplaid_python: Annotated[
        Path | None, typer.Option(help="Python of an environment with fast-plaid, to measure it too.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw latency against size into this file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare engines on the same vectors: build, size, latency, recall against flat, memory.

    Example: [bold]numcolbert bench engines --corpus docs.jsonl --passages 20000[/bold]
    """
    from numcolbert.index.bench import Job, compare

    sizes, made_up = passages or ([] if synthetic else [20_000]), synthetic or []
    real = _real_vectors(corpus, vectors, model, max(sizes, default=20_000))
    reports: list[EngineReport] = []
    for size in [*sizes, *made_up]:
        folder = real if size in sizes else _imitation(real, size)
        reports += compare(
            Job(
                vectors=folder,
                passages=size,
                nbits=nbits or (8, 4, 2, 1),
                queries=queries,
                rounds=rounds,
                fastplaid_python=fastplaid_python,
                flat=size <= flat_up_to,
            )
        )
    if plot:
        from numcolbert.report.figures import latency_curve

        latency_curve(_curves(reports), plot)
    if as_json:
        print_json(reports)
    else:
        print_table(_COLUMNS, [_row(report) for report in reports])


def _row(report: EngineReport) -> tuple[object, ...]:
    def digits(value: float | None, count: int) -> str:
        return "" if value is None else f"{value:.{count}f}"

    return (
        report.passages, report.engine, report.nbits, digits(report.build_s, 1),
        digits(report.bytes / 1e6, 1), digits(report.ratio, 3), digits(report.p50_ms, 1),
        digits(report.p95_ms, 1), digits(report.cpu_ms, 1), digits(report.recall, 3),
        digits(report.recall_gated, 3), digits(report.gated, 3), digits(report.build_peak / 1e6, 0),
        digits(report.search_peak / 1e6, 0), digits(report.open_s, 3),
    )  # fmt: skip


def _curves(reports: list[EngineReport]) -> dict[str, dict[int, float]]:
    """Engine -> passages -> seconds a query."""
    curves: dict[str, dict[int, float]] = {}
    for report in reports:
        name = report.engine if report.nbits is None else f"{report.engine} {report.nbits} bits"
        curves.setdefault(name, {})[report.passages] = report.p50_ms / 1000
    return curves


def _real_vectors(corpus: Path | None, vectors: Path | None, model: str | None, count: int) -> Path:
    """The folder of vectors: as given, from the cache, or encoded now."""
    if vectors is not None and corpus is None:
        return vectors
    if corpus is None or vectors is not None:
        raise UsageError("The engines need vectors.", hint="give either --corpus FILE or --vectors FOLDER")
    from numcolbert.data.corpora import read
    from numcolbert.index.bench_vectors import save
    from numcolbert.model.encoder import Encoder

    encoder = Encoder.load(model)
    name = hashlib.sha256(f"{corpus.resolve()}|{corpus.stat().st_mtime_ns}".encode()).hexdigest()[:12]
    folder = cache_folder() / "bench" / f"{name}-{encoder.fingerprint[:12]}-{count}"
    if folder.is_dir():
        return folder
    texts = [document.text for document in islice(read(corpus), count + _QUERIES)]
    if len(texts) < count + _QUERIES:
        raise InputError(
            f"'{corpus}' holds {len(texts):,} documents; asked for are {count:,} and {_QUERIES} queries.",
            hint="ask for fewer with --passages, and more with --synthetic",
        )
    step = len(texts) // _QUERIES  # queries from all over the corpus, each the beginning of a document
    asked = [" ".join(text.split()[:18]) for text in texts[::step][:_QUERIES]]
    held_out = set(range(0, step * _QUERIES, step))
    stored = [text for at, text in enumerate(texts) if at not in held_out][:count]
    questions = [encoding.ungated() for encoding in encoder.encode_queries(asked)]

    def passages() -> Iterator[NDArray[np.float32]]:
        for begin in range(0, len(stored), 256):
            for encoding in encoder.encode_documents(stored[begin : begin + 256]):
                yield encoding.vectors

    save(folder, passages(), questions, len(stored))
    return folder


def _imitation(real: Path, count: int) -> Path:
    from numcolbert.index.bench_vectors import VectorSet, imitate, save

    folder = real.with_name(f"{real.name}-imitated-{count}")
    if not folder.is_dir():
        original = VectorSet.load(real)
        save(folder, imitate(original, count), original.queries, count)
    return folder
