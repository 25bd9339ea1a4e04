"""`numcolbert bench engines`: flat, plaid and fast-plaid side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numcolbert.cli.bench import engine_gate, engine_vectors
from numcolbert.cli.output import JsonOption, print_json, print_table
from numcolbert.errors import UsageError

if TYPE_CHECKING:
    from numcolbert.index.bench import EngineReport, Ratio

_COLUMNS = (
    "passages", "engine", "nbits", "build s", "MB", "of fp32", "p50 ms", "p95 ms", "cpu ms", "recall@10",
    "recall@10 gated", "nDCG@10", "nDCG@10 gated", "gated/plain", "with encoding", "build peak MB",
    "search peak MB", "open s",
)  # fmt: skip


def engines(
    corpus: Annotated[
        Path | None, typer.Option(help="Documents to encode: jsonl, csv, tsv, txt; .gz and .xz too.")
    ] = None,
    vectors: Annotated[
        Path | None, typer.Option(help="A folder of vectors from an earlier run, instead of a corpus.")
    ] = None,
    benchmark: Annotated[
        Path | None,
        typer.Option(help="A folder with corpus.jsonl, queries.jsonl and qrels.trec: measures nDCG@10 too."),
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
    queries: Annotated[
        int | None, typer.Option(help="Queries to measure; 100, or all of a benchmark, if left out.")
    ] = None,
    rounds: Annotated[int, typer.Option(help="Times each query is asked; the fastest counts.")] = 5,
    flat_up_to: Annotated[
        int, typer.Option(help="Largest collection that flat, and so recall, is measured on.")
    ] = 100_000,
    fastplaid_python: Annotated[
        Path | None, typer.Option(help="Python of an environment with fast-plaid, to measure it too.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw latency against size into this file.")] = None,
    plot_quality: Annotated[
        Path | None, typer.Option(help="Draw nDCG@10 against bits into this file; needs --benchmark.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare engines on the same vectors: build, size, latency, recall against flat, memory.

    Example: [bold]numcolbert bench engines --corpus docs.jsonl --passages 20000[/bold]
    """
    from numcolbert.index.bench import Job, compare

    if sum(source is not None for source in (corpus, vectors, benchmark)) != 1:
        raise UsageError(
            "The engines need vectors.",
            hint="give one of --corpus FILE, --benchmark FOLDER and --vectors FOLDER",
        )
    if benchmark is None and plot_quality is not None:
        raise UsageError(
            "Quality needs judgements.", hint="give --benchmark FOLDER, or leave --plot-quality out"
        )
    sizes, made_up = passages or ([] if synthetic else [20_000]), synthetic or []
    largest = max(sizes, default=20_000)
    judge = encoding = None
    if benchmark is not None:
        real, judged = engine_vectors.from_benchmark(benchmark, model, largest)
        queries = min(queries or len(judged.queries), len(judged.queries))
        judged = judged.first(queries)
        judge, encoding = judged.ndcg, engine_gate.encoding_seconds(model, judged.texts, rounds)
    elif corpus is not None:
        real = engine_vectors.from_corpus(corpus, model, largest)
    elif vectors is not None:
        real = vectors
    reports: list[EngineReport] = []
    try:
        for size in [*sizes, *made_up]:
            job = Job(
                vectors=real if size in sizes else engine_vectors.imitated(real, size),
                passages=size,
                nbits=nbits or (8, 4, 2, 1),
                queries=queries or 100,
                rounds=rounds,
                fastplaid_python=fastplaid_python,
                flat=size <= flat_up_to,
                judge=judge if size in sizes else None,
                encoding=encoding,
            )
            for report in compare(job):
                reports.append(report)
    finally:  # what was measured before a failure is worth having
        if as_json:
            print_json(reports)
        elif reports:
            print_table(_COLUMNS, [_row(report) for report in reports])
    if plot:
        from numcolbert.report.figures import latency_curve

        latency_curve(_curves(reports), plot)
    if plot_quality:
        from numcolbert.report.figures import nbits_curve

        nbits_curve(_quality_curves(reports, largest), "nDCG@10", plot_quality)


def _row(report: EngineReport) -> tuple[object, ...]:
    def digits(value: float | None, count: int) -> str:
        return "" if value is None else f"{value:.{count}f}"

    return (
        report.passages, report.engine, report.nbits, digits(report.build_s, 1),
        digits(report.bytes / 1e6, 1), digits(report.ratio, 3), digits(report.p50_ms, 1),
        digits(report.p95_ms, 1), digits(report.cpu_ms, 1), digits(report.recall, 3),
        digits(report.recall_gated, 3), digits(report.ndcg, 4),
        digits(report.ndcg_gated, 4), _ratio(report.gated), _ratio(report.gated_end_to_end),
        digits(report.build_peak / 1e6, 0), digits(report.search_peak / 1e6, 0), digits(report.open_s, 3),
    )  # fmt: skip


def _ratio(ratio: Ratio | None) -> str:
    return "" if ratio is None else f"{ratio.value:.3f} ({ratio.low:.3f} to {ratio.high:.3f})"


def _curves(reports: list[EngineReport]) -> dict[str, dict[int, float]]:
    """Engine -> passages -> seconds a query."""
    curves: dict[str, dict[int, float]] = {}
    for report in reports:
        name = report.engine if report.nbits is None else f"{report.engine} {report.nbits} bits"
        curves.setdefault(name, {})[report.passages] = report.p50_ms / 1000
    return curves


def _quality_curves(reports: list[EngineReport], passages: int) -> dict[str, dict[int, float]]:
    """Kind of query -> bits a coordinate -> nDCG@10; flat stores 16 bits."""
    curves: dict[str, dict[int, float]] = {"gated": {}, "without gate": {}}
    for report in reports:
        if report.passages == passages and report.engine != "fast-plaid":
            for name, value in (("gated", report.ndcg_gated), ("without gate", report.ndcg)):
                if value is not None:
                    curves[name][report.nbits or 16] = value
    return curves
