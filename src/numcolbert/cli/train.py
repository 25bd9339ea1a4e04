"""`numcolbert train RECIPE`: train a model."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from numcolbert.cli.output import JsonOption, print_json, print_table
from numcolbert.errors import MissingDependencyError
from numcolbert.program import INTERRUPTED

if TYPE_CHECKING:
    from numcolbert.train.trainer import Outcome

ChangesOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Change a key of the recipe; may be repeated."),
]


def require_torch() -> None:
    try:
        import numcolbert.train.model_setup  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("numcolbert"):
            raise
        raise MissingDependencyError.for_extra(error.name, "train", "Training") from error


def train(
    recipe: Annotated[str, typer.Argument(help="A .toml file or the name of a built-in recipe.")],
    changes: ChangesOption = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the model and checkpoint in the output folder.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Train a model by a recipe; evaluate it on the benchmarks the recipe names.

    Example: [bold]numcolbert train default --set 'data.pools=\\["pools/finance"]' --set run.steps=1000[/bold]
    """
    require_torch()
    from numcolbert.train.recipe import load_recipe
    from numcolbert.train.trainer import train as run

    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s", stream=sys.stderr)
    outcome = run(load_recipe(recipe, changes or []), overwrite=overwrite)
    if as_json:
        print_json(outcome)
    else:
        _show(outcome)
    if outcome.interrupted:
        typer.echo("interrupted: go on with --set run.resume=true", err=True)
        raise typer.Exit(INTERRUPTED)


def _show(outcome: Outcome) -> None:
    from numcolbert.train.measures import MEASURES

    rows = [
        (result.name, variant, *(f"{values[measure]:.4f}" for measure in MEASURES))
        for result in outcome.results
        for variant, values in result.scores.items()
    ]
    if rows:
        print_table(("benchmark", "variant", *MEASURES), rows)
    typer.echo(
        f"{outcome.step:,} steps, {outcome.triples:,} triples in {outcome.seconds:.0f} s "
        f"({outcome.triples_per_second:,.0f} triples/s). The model is in {outcome.output / 'model'}",
        err=True,
    )
