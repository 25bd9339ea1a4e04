"""`numcolbert data triples`: training triples from pools, into a file or as JSON lines."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numcolbert.cli.data import app
from numcolbert.cli.data.stream import (
    GeneralOption,
    HeldOutOption,
    MixOption,
    PoolsArgument,
    SeedOption,
    SettingsOption,
    open_stream,
)
from numcolbert.cli.output import JsonOption, print_json, print_table

if TYPE_CHECKING:
    from numcolbert.data.triple import Triple

_BLOCK = 4096


@app.command("triples")
def triples(
    pools: PoolsArgument = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="FILE.npz (compact) or FILE.jsonl; without it, lines on stdout."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="How many triples.")] = 1000,
    seed: SeedOption = 0,
    worker: Annotated[int, typer.Option(min=0, help="Which of the workers this is, from 0.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="How many workers there are.")] = 1,
    held_out: HeldOutOption = None,
    general: GeneralOption = None,
    mix: MixOption = None,
    settings: SettingsOption = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
    json: JsonOption = False,
) -> None:
    """Make training triples: a query with a condition, a passage that satisfies it and one that does not.

    Example: [bold]numcolbert data triples pools/fin --held-out bench/fin --count 100000 -o triples.npz[/bold]
    """
    from numcolbert.data.triple_files import json_line, write_json_lines, write_triples
    from numcolbert.errors import UsageError
    from numcolbert.files import refuse_existing
    from numcolbert.progress import Progress

    if output is not None:
        if output.suffix not in (".npz", ".jsonl"):
            raise UsageError(f"'{output}' has an unknown ending.", hint="choose .npz or .jsonl")
        refuse_existing(output, "file", overwrite=overwrite)
    stream = open_stream(
        pools, seed=seed, held_out=held_out, general=general, mix=mix, settings=settings,
        worker=worker, workers=workers,
    )  # fmt: skip
    if output is None:
        for triple, _ in zip(stream, range(count), strict=False):
            typer.echo(json_line(triple, stream))
        return
    start, start_cpu = time.perf_counter(), time.process_time()
    made: list[Triple] = []
    with Progress("triples", count, "triples") as progress:
        while len(made) < count:
            block = stream.next_block(min(_BLOCK, count - len(made)))
            made += block
            progress.advance(len(block))
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - start_cpu
    write = write_triples if output.suffix == ".npz" else write_json_lines
    write(output, made, stream, overwrite=overwrite)
    summary = {
        "file": str(output),
        "triples": count,
        "bytes": output.stat().st_size,
        "seconds": round(seconds, 3),
        "triples_per_second": round(count / seconds),
        "triples_per_cpu_second": round(count / cpu_seconds),
        "units": len(stream.units),
        "dimensions": len(stream.dimensions),
        "pairs": len(stream.pairs),
    }
    if json:
        print_json(summary)
    else:
        print_table(("", "value"), list(summary.items()))
