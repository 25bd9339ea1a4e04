"""`numcolbert bench extractor`: quantity extractors side by side on NewsQuant."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from numcolbert.cli.output import JsonOption, print_json, print_table
from numcolbert.quantities import evaluation
from numcolbert.quantities.evaluation import Outcome, Score

_COLUMNS = (
    "extractor",
    "sentences",
    "value P",
    "value R",
    "value F1",
    "+unit P",
    "+unit R",
    "+unit F1",
    "sentences/s",
)


def extractor(
    gold: Annotated[
        Path,
        typer.Option("--gold", help="NewsQuant.json of https://github.com/satya77/CQE_Evaluation."),
    ],
    skip_quantulum3: Annotated[
        bool, typer.Option("--skip-quantulum3", help="Leave out the slow run of quantulum3.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare extractors: precision, recall and F1 for the value, and for value and unit.

    Example: [bold]numcolbert bench extractor --gold NewsQuant.json[/bold]
    """
    sentences = evaluation.read_gold(gold)
    developed, unseen = evaluation.halves(sentences)
    rows: list[tuple[object, ...]] = []
    for label, run, part in (
        ("NumColBERT, loose", evaluation.ours(loose=True), sentences),
        ("  its development half", evaluation.ours(loose=True), developed),
        ("  its held-out half", evaluation.ours(loose=True), unseen),
        ("  noun phrases word by word", evaluation.ours(whole=True), evaluation.read_gold(gold, whole=True)),
        ("NumColBERT, as labels use it", evaluation.ours(loose=False), sentences),
    ):
        rows.append(_row(label, len(part), evaluation.measure(run, part)))
    if not skip_quantulum3:
        outcome = evaluation.measure(evaluation.quantulum3(), sentences)
        rows.append(_row("quantulum3, run here", len(sentences), outcome))
    for name, (value, unit) in evaluation.PUBLISHED.items():
        rows.append((f"{name}, published", len(sentences), "", "", value, "", "", unit, ""))
    if as_json:
        print_json([dict(zip(_COLUMNS, row, strict=True)) for row in rows])
    else:
        print_table(_COLUMNS, rows)


def _row(label: str, count: int, outcome: Outcome) -> tuple[object, ...]:
    def cells(score: Score) -> list[float]:
        return [round(100 * part, 1) for part in (score.precision, score.recall, score.f1)]

    speed = round(outcome.sentences_per_second)
    return (label, count, *cells(outcome.value), *cells(outcome.value_and_unit), speed)
