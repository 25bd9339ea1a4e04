"""`numcolbert baseline ...`: rank a benchmark with one of the compared systems."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from numcolbert.cli.output import JsonOption, print_json
from numcolbert.errors import ConflictError, UsageError
from numcolbert.files import refuse_existing

app = typer.Typer(help="Rank a benchmark with one of the compared systems.", no_args_is_help=True)

FirstOption = Annotated[
    Path | None, typer.Option("--first", help="TREC run of the system whose hits are ranked again.")
]
OutOption = Annotated[Path, typer.Option("--out", "-o", help="TREC run file to write.")]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace the run file if it exists.")]


@app.command("rank")
def rank(
    system: Annotated[str, typer.Argument(help="bm25, bm25-concept, qbm25, qcolbert, qsplade, ...")],
    benchmark: Annotated[Path, typer.Argument(help="Benchmark folder.")],
    out: OutOption,
    first: FirstOption = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Hits a query.")] = 1000,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Rank a benchmark and write a TREC run.

    Example: [bold]numcolbert baseline rank qbm25 bench/openfinquant -o qbm25.run[/bold]
    """
    from numcolbert.baselines.collection import read_documents, read_queries
    from numcolbert.evaluate.trec import read_run, write_run
    from numcolbert.reproduce.systems import find_system
    from numcolbert.train.benchmarks import read_benchmark

    _refuse_overwrite(out, overwrite)
    chosen = find_system(system)
    if chosen.needs_first and first is None:
        raise UsageError(f"'{system}' stands on another system's run.", hint="name it with --first RUN")
    if first is not None and not chosen.needs_first:
        raise UsageError(f"'{system}' stands on no other system's run.", hint="leave out --first")
    judged = read_benchmark(benchmark)
    ranker = chosen.build(read_run(first) if first else {})
    ranker.index(read_documents(judged.corpus_path))
    run = ranker.search(read_queries(judged), k)
    write_run(out, run, system)
    if as_json:
        print_json({"system": system, "run": str(out), "queries": len(run)})


@app.command("llm")
def llm(
    benchmark: Annotated[Path, typer.Argument(help="Benchmark folder.")],
    first: Annotated[Path, typer.Option("--first", help="TREC run whose first hits are graded.")],
    out: OutOption,
    model: Annotated[str, typer.Option("--model", help="Name of the model.")] = "gpt-4o-mini",
    endpoint: Annotated[
        str, typer.Option("--endpoint", help="OpenAI-compatible address.")
    ] = "https://api.openai.com/v1",
    key_variable: Annotated[
        str, typer.Option("--key-variable", help="Environment variable that holds the API key.")
    ] = "OPENAI_API_KEY",
    depth: Annotated[int, typer.Option("--depth", min=1, help="Hits graded a query.")] = 100,
    concurrency: Annotated[int, typer.Option("--concurrency", help="Questions at the same time.")] = 8,
    input_price: Annotated[float, typer.Option("--input-price", help="Dollars per million tokens.")] = 0.15,
    output_price: Annotated[float, typer.Option("--output-price", help="Dollars per million tokens.")] = 0.60,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would cost.")] = False,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Let a language model grade the first hits of a run from 1 to 5.

    Example: [bold]numcolbert baseline llm bench/openfinquant --first bm25.run -o llm.run --dry-run[/bold]
    """
    from numcolbert.baselines.collection import read_documents, read_queries
    from numcolbert.baselines.llm import LLMJudge, LLMSettings
    from numcolbert.baselines.quantity_rerank import RunRanker
    from numcolbert.baselines.rerank import Reranker
    from numcolbert.evaluate.trec import read_run, write_run
    from numcolbert.files import cache_folder
    from numcolbert.train.benchmarks import read_benchmark

    if not dry_run:
        _refuse_overwrite(out, overwrite)
    settings = LLMSettings(
        endpoint=endpoint,
        model=model,
        api_key=os.environ.get(key_variable, ""),
        concurrency=concurrency,
        dollars_per_million_input=input_price,
        dollars_per_million_output=output_price,
    )
    judge = LLMJudge(settings, cache_folder() / "llm-answers.sqlite")
    judged = read_benchmark(benchmark)
    reranker = Reranker(RunRanker(read_run(first)), judge, depth)
    reranker.index(read_documents(judged.corpus_path))
    queries = read_queries(judged)
    estimate = judge.estimate(reranker.pairs(queries))
    if dry_run:
        if as_json:
            print_json(estimate)
        else:
            typer.echo(
                f"{estimate.calls:,} questions ({estimate.cached:,} answered before), about "
                f"{estimate.input_tokens:,} tokens, {estimate.dollars:.2f} dollars"
            )
        return
    typer.echo(f"{estimate.calls:,} questions, about {estimate.dollars:.2f} dollars", err=True)
    run = reranker.search(queries, depth)
    write_run(out, run, model)
    if as_json:
        print_json({"system": model, "run": str(out), "queries": len(run), "estimate": estimate})


def _refuse_overwrite(out: Path, overwrite: bool) -> None:
    if out.is_dir():
        raise ConflictError(f"'{out}' is a folder.", hint="name the run file to write, as in bm25.run")
    refuse_existing(out, "file", overwrite=overwrite)
