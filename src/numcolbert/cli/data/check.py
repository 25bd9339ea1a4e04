"""`numcolbert data check`: what is wrong with the training data, if anything."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from numcolbert.cli.data import app
from numcolbert.cli.data.stream import (
    GeneralOption,
    MixOption,
    PoolsArgument,
    SeedOption,
    SettingsOption,
    open_stream,
)
from numcolbert.cli.output import JsonOption, print_json, print_table

if TYPE_CHECKING:
    from numcolbert.data.checks import Report

_SHOWN = 12


@app.command("check")
def check(
    pools: PoolsArgument = None,
    benchmark: Annotated[
        list[Path] | None, typer.Option("--benchmark", "-b", help="Test sets that must not leak.")
    ] = None,
    triples: Annotated[
        Path | None, typer.Option("--triples", help="Check this .npz file instead of a stream.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="How many triples to make and look at.")] = 50_000,
    seed: SeedOption = 0,
    verify: Annotated[int, typer.Option(min=0, help="Read this many again with the extractor.")] = 2_000,
    tokenizer: Annotated[
        Path | None, typer.Option("--tokenizer", help="A tokenizer.json, to count tokens.")
    ] = None,
    general: GeneralOption = None,
    mix: MixOption = None,
    settings: SettingsOption = None,
    unguarded: Annotated[
        bool, typer.Option("--unguarded", help="Do not tell the stream what is held out.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Report duplicates, leakage, balance, label agreement and lengths; exit with 1 on leakage.

    Example: [bold]numcolbert data check pools/fin pools/med -b bench/fin -b bench/med[/bold]
    """
    from numcolbert.data.checks import check_triples, read_test_queries
    from numcolbert.data.held_out import HeldOut
    from numcolbert.data.triple_files import StoredTriples, read_triples
    from numcolbert.data.triples import TripleStream

    held_out = HeldOut.read(benchmark or [])
    test_queries: list[str] = []
    for place in benchmark or []:
        queries = read_test_queries([place])
        if not queries:
            typer.echo(f"'{place}' has no queries.jsonl: only pairs and thresholds are compared", err=True)
        test_queries += queries
    names: StoredTriples | TripleStream
    if triples is not None:
        names = read_triples(triples)
        made = names.triples
    else:
        names = open_stream(
            pools, seed=seed, held_out=None if unguarded else benchmark, general=general, mix=mix,
            settings=settings,
        )  # fmt: skip
        made = names.next_block(count)
    report = check_triples(
        made,
        names,
        held_out=held_out,
        test_queries=test_queries,
        verify=verify,
        tokenizer=tokenizer,
    )
    if json:
        print_json({**asdict(report), "leaks": report.leaks})
    else:
        _print(report)
    if report.leaks:
        raise typer.Exit(1)


def _print(report: Report) -> None:
    total = sum(report.operators.values()) or 1
    rows: list[tuple[str, str, str]] = [
        ("triples", "", f"{report.triples:,}"),
        ("duplicates", "triples", f"{report.duplicate_triples:,}"),
        ("duplicates", "queries", f"{report.duplicate_queries:,}"),
        ("leakage", "test queries", f"{len(report.leaked_queries):,}"),
        ("leakage", "test thresholds", f"{len(report.leaked_thresholds):,}"),
        ("leakage", "held-out pairs", f"{len(report.leaked_pairs):,}"),
        ("pairs asked", "", f"{report.pairs_asked:,}"),
    ]
    for what, counts in (("operator", report.operators), ("dimension", report.dimensions),
                         ("unit", report.units)):  # fmt: skip
        rows += [(what, name, f"{n:,} ({n / total:.1%})") for name, n in list(counts.items())[:_SHOWN]]
    rows += [("conditions", number, f"{n:,}") for number, n in report.conditions_per_query.items()]
    labels = report.labels
    if labels.conditions:
        rows += [
            (
                "extractor agrees",
                "query conditions",
                f"{labels.conditions_read:.1%} of {labels.conditions:,}",
            ),
            ("extractor agrees", "passage values", f"{labels.quantities_read:.1%} of {labels.quantities:,}"),
            ("extractor agrees", "positives", f"{labels.positives_confirmed:.1%} of {labels.positives:,}"),
        ]
    for name, lengths in report.lengths.items():
        rows += [(f"{name} tokens", measure, f"{value:g}") for measure, value in lengths.items()]
    examples = (*report.leaked_queries, *report.leaked_thresholds, *report.leaked_pairs)
    rows += [("leaked", "", example) for example in examples[:_SHOWN]]
    print_table(("what", "which", "value"), rows)
