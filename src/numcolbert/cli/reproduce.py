"""`numcolbert reproduce`: the paper's tables, measured here, the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numcolbert.cli.evaluate import print_grids
from numcolbert.cli.output import JsonOption, print_json
from numcolbert.errors import UsageError

if TYPE_CHECKING:
    from numcolbert.model.encoder import Encoder
    from numcolbert.reproduce.engines import EngineRow
    from numcolbert.reproduce.pictures import Draw
    from numcolbert.reproduce.spec import TableSpec
    from numcolbert.reproduce.table import BenchmarkTable


def reproduce(
    table: Annotated[
        str,
        typer.Argument(
            help="main, facts, taught, variants, ablation, ablation-early, positives, general, efficiency, "
            "efficiency-whole, operators or all."
        ),
    ],
    benchmarks: Annotated[
        Path, typer.Option("--benchmarks", help="Folder that holds the benchmark folders.")
    ] = Path("benchmarks"),
    runs: Annotated[Path, typer.Option("--runs", help="Folder of run files, one folder a system.")] = Path(
        "runs"
    ),
    kept: Annotated[
        Path | None,
        typer.Option(
            "--kept", help="Report folder: its measures.json stands in for runs and benchmarks not here."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write report.html, tables.md, measures.json here.")
    ] = None,
    finquant: Annotated[
        Path | None, typer.Option("--finquant", help="The authors' FinQuant folder, to be measured as well.")
    ] = None,
    medquant: Annotated[
        Path | None, typer.Option("--medquant", help="The authors' MedQuant folder, to be measured as well.")
    ] = None,
    train: Annotated[
        str | None,
        typer.Option("--train", help="Recipe to train on the authors' sentences, where runs are missing."),
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="Change the recipe: section.key=value; may be repeated.")
    ] = None,
    general: Annotated[
        Path | None, typer.Option("--general", help="Folder of the general sets, for the table 'general'.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="Draw the number tokens of this exported model by t-SNE.")
    ] = None,
    training_logs: Annotated[
        list[Path] | None,
        typer.Option(
            "--training-log",
            help="Draw this log of losses (JSON lines); repeat it for trainings that went on from it.",
        ),
    ] = None,
    engines: Annotated[
        Path | None, typer.Option("--engines", help="Output of 'numcolbert bench engines --json'.")
    ] = None,
    note: Annotated[
        str, typer.Option("--note", help="A sentence to put before the summary of the report.")
    ] = "",
    saved_only: Annotated[
        bool, typer.Option("--saved-only", help="Run nothing: use the runs that are there.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the report if it exists.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Make a table of the paper: run what is missing, reuse what is there, say what could not be run.

    With --kept nothing else is needed: the tables of a report are made again from the measures it keeps.

    Example: [bold]numcolbert reproduce main --benchmarks bench --runs runs -o report[/bold]
    """
    from numcolbert.files import refuse_existing, require_file
    from numcolbert.reproduce.engines import ENGINES_FILE, read_engines
    from numcolbert.reproduce.general import import_general
    from numcolbert.reproduce.kept_file import read_kept
    from numcolbert.reproduce.measured import Kept
    from numcolbert.reproduce.original import import_original
    from numcolbert.reproduce.page import run_lines, table_section
    from numcolbert.reproduce.report import PAGE, as_values, write_report
    from numcolbert.reproduce.runs import Workshop
    from numcolbert.reproduce.spec import TABLES, load_table
    from numcolbert.reproduce.table import kept_tables, make_tables
    from numcolbert.train.benchmarks import read_benchmark, with_suites

    # What can be refused is refused first: it must not cost the runs.
    if changes and train is None:
        raise UsageError("--set changes a recipe, and none is trained.", hint="name it with --train")
    names = TABLES if table == "all" else (table,)
    specs = [load_table(name) for name in names]
    if out is not None:
        refuse_existing(out, "folder", overwrite=overwrite, mark=PAGE)
    for log in training_logs or ():
        require_file(log, "training log")
    encoder = _encoder(model)
    known = read_kept(kept) if kept else Kept()
    if engines is None and kept is not None and (kept / ENGINES_FILE).is_file():
        engines = kept / ENGINES_FILE
    measured = read_engines(engines) if engines else []
    if train is not None and finquant is None and medquant is None:
        raise UsageError("There is nothing to train on.", hint="name --finquant or --medquant")
    for name, folder in (("finquant", finquant), ("medquant", medquant)):
        if folder is not None:
            import_original(folder, benchmarks / name)
            if train is not None:
                from numcolbert.reproduce.training import train_systems

                train_systems(benchmarks / name, runs, train, changes or ())
    if general is not None:
        import_general(general, benchmarks)
    workshop = Workshop()
    made: list[tuple[TableSpec, list[BenchmarkTable]]] = []
    for spec in specs:
        tables: list[BenchmarkTable] = []
        for name in spec.benchmarks:
            folder = benchmarks / name
            if folder.is_dir():
                parts = with_suites(folder) if spec.suites else [read_benchmark(folder)]
                tables += make_tables(spec, parts, runs, workshop, run_missing=not saved_only, kept=known)
            elif name in known.query_sets:
                sets = known.with_suites(name) if spec.suites else [known.query_sets[name]]
                tables += kept_tables(spec, sets, known)
            elif name not in ("finquant", "medquant"):
                typer.echo(f"{spec.title}: no folder '{folder}', left out", err=True)
        for one in tables:
            for line in run_lines(one, runs):
                typer.echo(line, err=True)
        made.append((spec, tables))
    if not any(tables for _, tables in made):
        wanted = ", ".join(dict.fromkeys(name for spec in specs for name in spec.benchmarks))
        raise UsageError(
            f"'{benchmarks}' holds none of the benchmarks of the table: {wanted}.",
            hint="build them with 'numcolbert data benchmark', name their folder with --benchmarks, or a "
            "report's with --kept",
        )
    if out is not None:
        drawings = _drawings(benchmarks, encoder, training_logs or (), measured, kept)
        write_report(
            made, out, drawings=drawings, engines=measured, note=note, kept=known, overwrite=overwrite
        )
    if as_json:
        print_json(as_values(made))
    else:
        sections = [table_section(spec, tables) for spec, tables in made]
        print_grids(
            [grid for section in sections for grid in section.grids],
            notes=[note for section in sections for note in section.notes],
        )


def _encoder(model: str | None) -> Encoder | None:
    if model is None:
        return None
    from numcolbert.model.encoder import Encoder

    return Encoder.load(model)


def _drawings(
    benchmarks: Path,
    encoder: Encoder | None,
    training_logs: Sequence[Path],
    engines: list[EngineRow],
    kept: Path | None,
) -> list[Draw]:
    """The figures that need more than runs; without that, those of the report that is kept."""
    from numcolbert.reproduce.pictures import earlier_training, earlier_tsne, latency, training, tsne
    from numcolbert.train.benchmarks import read_benchmark

    drawings = []
    if encoder is not None:
        folders = [benchmarks / name for name in ("openfinquant", "openmedquant")]
        drawings += [tsne(read_benchmark(f), encoder.encode_queries) for f in folders if f.is_dir()]
    elif kept is not None:
        drawings += earlier_tsne(kept)
    if training_logs:
        drawings.append(training(training_logs))
    elif kept is not None:
        drawings += earlier_training(kept)
    if engines:
        drawings.append(latency(engines))
    return drawings
