"""`numcolbert bench train`: how fast a recipe trains, and the stock trainer beside it."""

from __future__ import annotations

from typing import Annotated

import typer

from numcolbert.cli.output import JsonOption, print_json, print_table
from numcolbert.cli.train import ChangesOption, require_torch


def train(
    recipe: Annotated[str, typer.Argument(help="A .toml file or the name of a built-in recipe.")] = "default",
    changes: ChangesOption = None,
    seconds: Annotated[float, typer.Option(help="How long each rate is measured.")] = 10.0,
    stock: Annotated[bool, typer.Option(help="Measure sentence-transformers' trainer beside it.")] = True,
    detailed: Annotated[
        bool, typer.Option("--profile", help="Say which kernels and functions take the time.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure triples a second, the parts of a step, the GPU's share, and the stock trainer.

    Example: [bold]numcolbert bench train tiny-cpu --set model.backbone=models/minilm --seconds 5[/bold]
    """
    require_torch()
    from numcolbert.train.bench import profile, stopwatch
    from numcolbert.train.recipe import load_recipe

    found = profile(
        load_recipe(recipe, changes or []), seconds, stock=stock, detailed=detailed, say=stopwatch()
    )
    if as_json:
        print_json(found)
        return
    rows: list[tuple[str, str, str]] = [
        ("training, data flowing", f"{found.triples_per_s:,.0f}", "triples/s"),
        ("data alone", f"{found.data_alone:,.0f}", "triples/s"),
        ("waiting for data", f"{found.data_wait:.0%}", "of the time"),
        ("replayed", f"{found.replayed:.0%}", "of the steps"),
        *((name, f"{rate:,.0f}", "triples/s") for name, rate in found.stock.items()),
        *((name, f"{value:.2f}", "ms") for name, value in found.parts_ms.items()),
    ]
    if found.gpu_share is not None:
        rows.append(("GPU share", f"{found.gpu_share:.0%}", "of the time"))
        rows.append(("kernels", f"{found.kernels_per_step:,.0f}", "a step"))
    if found.unrecorded:
        rows.append(("without replaying", f"{found.unrecorded:,.0f}", "triples/s"))
    if detailed:
        rows += [(f"kernel {name}", f"{ms:.3f}", "ms/step") for name, ms, _ in found.operations]
        rows += [(f"processor {name}", f"{ms:.3f}", "ms/step") for name, ms, _ in found.host_operations]
    title = f"{found.device}, batch {found.batch}, {found.tokens_per_triple} tokens a triple"
    print_table(("what", "value", "unit"), rows, title)
