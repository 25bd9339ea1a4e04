"""`numcolbert bench encode`: our runtime beside sentence-transformers, on the same texts and cores."""

from __future__ import annotations

import importlib.util
import json
import os
import time
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from numcolbert.cli.output import JsonOption, print_json, print_table
from numcolbert.errors import InputError, MissingDependencyError
from numcolbert.files import require_file

QUERIES = (
    "revenue above 2 billion dollars",
    "patients older than 65 years",
    "phones under 500 dollars",
    "operating margin of at least 12.5 percent in the third quarter",
    "trials with fewer than 100 participants",
    "bridges longer than 3 km",
    "dose between 5 and 10 mg",
    "companies that cut more than 1,000 jobs",
)


def encode(
    model: Annotated[
        Path | None, typer.Option("--model", help="An exported model; the packaged one if not given.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", help="Measure this checkpoint with sentence-transformers beside it."),
    ] = None,
    texts: Annotated[
        Path | None,
        typer.Option("--texts", help="One document a line; sentences of the demo corpus if not given."),
    ] = None,
    count: Annotated[int, typer.Option("--count", min=1, help="Documents a round.")] = 512,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="The best of so many counts.")] = 3,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Cores for each; all if not given.")
    ] = None,
    cpu_time: Annotated[
        bool, typer.Option("--cpu-time", help="Count processor time: for one thread on a busy machine.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure documents a second and milliseconds a query.

    Example: [bold]numcolbert bench encode --checkpoint models/numcolbert-minilm --threads 2[/bold]
    """
    from numcolbert.model.encoder import Encoder
    from numcolbert.model.speed import Contestant, race

    cores = threads or os.cpu_count() or 1
    encoder = Encoder.load(model, threads=cores)
    contestants = [Contestant("numcolbert, onnxruntime", encoder.encode_documents, encoder.encode_queries)]
    if checkpoint is not None:
        if importlib.util.find_spec("sentence_transformers") is None:
            raise MissingDependencyError.for_extra("sentence-transformers", "train", "--checkpoint")
        from numcolbert.train.encode_speed import stock_encoder

        contestants.insert(0, stock_encoder(checkpoint, cores))
    clock = time.process_time if cpu_time else time.perf_counter
    speeds = race(contestants, _documents(texts, count), QUERIES, rounds=rounds, clock=clock)
    if as_json:
        print_json(speeds)
        return
    first = speeds[0].documents_per_second
    print_table(
        ("encoder", "documents/s", "times", "query ms p50", "query ms p95"),
        [
            (
                speed.name,
                f"{speed.documents_per_second:,.0f}",
                f"{speed.documents_per_second / first:.2f}",
                f"{speed.query_ms_p50:.1f}",
                f"{speed.query_ms_p95:.1f}",
            )
            for speed in speeds
        ],
        f"{count} documents, {cores} threads, best of {rounds}",
    )


def _documents(file: Path | None, count: int) -> list[str]:
    if file is not None:
        lines = require_file(file, "text file").read_text(encoding="utf-8", errors="replace").splitlines()
        found = [line for line in lines if line.strip()]
    else:
        demo = resources.files("numcolbert") / "assets" / "demo.jsonl"
        found = [json.loads(line)["text"] for line in demo.read_text(encoding="utf-8").splitlines()]
    if not found:
        raise InputError(f"'{file}' holds no text.", hint="write one document a line")
    return [found[i % len(found)] for i in range(count)]
