"""`numcolbert data benchmark`: a pool becomes a test set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from numcolbert.cli.data import app
from numcolbert.cli.output import JsonOption, print_json, print_table


@app.command("benchmark")
def benchmark(
    pool: Annotated[Path, typer.Argument(help="A pool made by 'numcolbert data mine'.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The test set's folder.")],
    name: Annotated[str, typer.Option(help="What to call it.")] = "openfinquant",
    queries: Annotated[int, typer.Option(min=3, help="Test queries, a multiple of three.")] = 420,
    development: Annotated[
        int, typer.Option(min=0, help="Development queries, a multiple of three; 0 for none.")
    ] = 102,
    suite: Annotated[int, typer.Option(min=0, help="Queries in each of the five suites; 0 for none.")] = 60,
    seed: Annotated[int, typer.Option(help="For every choice.")] = 13,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing test set.")] = False,
    json: JsonOption = False,
) -> None:
    """Draw judged queries with numerical conditions from a pool.

    Example: [bold]numcolbert data benchmark pools/mine -o benchmarks/mine --name mine[/bold]
    """
    from numcolbert.data.benchmark import BenchmarkSettings, build
    from numcolbert.data.benchmark_files import QUERIES, write
    from numcolbert.data.pool import Pool
    from numcolbert.files import refuse_existing
    from numcolbert.train.benchmarks import read_benchmark
    from numcolbert.train.fingerprint import fingerprint

    refuse_existing(output, "folder", overwrite=overwrite, mark=QUERIES)
    settings = BenchmarkSettings(name=name, queries=queries, development=development, suite=suite, seed=seed)
    mined = Pool.load(pool)
    counts = write(mined, build(mined, settings), output, overwrite=overwrite)
    counts["fingerprint"] = fingerprint(read_benchmark(output))[:12]  # as reports give it
    if json:
        print_json(counts)
    else:
        rows = [(key, value) for key, value in counts.items() if key not in ("suites", "fingerprint")]
        rows += [(f"suite {key}", value) for key, value in counts["suites"].items()]
        rows.append(("fingerprint", counts["fingerprint"]))
        print_table(["", "count"], rows)
