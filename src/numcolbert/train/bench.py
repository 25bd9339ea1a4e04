"""How fast a recipe trains, where the time goes, and the stock trainer beside it.

python -m numcolbert.train.bench RECIPE [--set section.key=value ...] [--seconds 10] [--no-stock] [--profile]

What is measured is printed line by line on stderr while it runs, and together on stdout at the end.
"""

# No torch at the top: worker processes import the module a program was started with, and should start fast.
from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from numcolbert.errors import UsageError
from numcolbert.program import program

if TYPE_CHECKING:
    from numcolbert.train.recipe import Recipe

Say = Callable[[str], None]


@dataclass
class Profile:
    """What was measured; rates are triples a second, parts milliseconds a step."""

    device: str
    attention: str
    compiled: bool
    batch: int
    fused_maxsim: bool = False
    """Whether the best matches come from a kernel and not from matrix products."""
    tokens_per_triple: float = 0.0
    triples_per_s: float = 0.0
    tokens_per_s: float = 0.0
    data_alone: float = 0.0
    data_wait: float = 0.0
    """Share of the time in which the loop waited for the next batch."""
    replayed: float = 0.0
    """Share of the steps that were replayed from a recording."""
    unrecorded: float = 0.0
    """Triples a second with every kernel started from Python; only in a detailed profile."""
    parts_ms: dict[str, float] = field(default_factory=dict)
    gpu_share: float | None = None
    """Time in which a kernel ran over wall-clock time, with data flowing."""
    kernels_per_step: float = 0.0
    operations: list[tuple[str, float, float]] = field(default_factory=list)
    """Name, milliseconds a step, calls a step of the most expensive kernels."""
    host_operations: list[tuple[str, float, float]] = field(default_factory=list)
    """The same of what the processor does, in steps that are not replayed; only in a detailed profile."""
    stock: dict[str, float] = field(default_factory=dict)
    """Triples a second of sentence-transformers' own trainer and loss."""


def profile(
    recipe: Recipe,
    seconds: float = 10.0,
    *,
    stock: bool = True,
    detailed: bool = False,
    say: Say | None = None,
) -> Profile:
    """Measure a recipe: the data side alone, whole steps with data flowing, the parts of a step.

    Args:
        seconds: How long each rate is measured; no leg takes much longer, but for compiling.
        detailed: Also which kernels and which work of the processor take the time.
        say: Told each figure as soon as there is one.
    """
    if not seconds > 0:
        raise UsageError(f"Nothing can be measured in {seconds:g} seconds.", hint="give a positive number")
    from numcolbert.train.measure import measure

    return measure(recipe, seconds, stock=stock, detailed=detailed, say=say or (lambda _: None))


def report(found: Profile) -> str:
    """Lines for people."""
    lines = [
        f"device            {found.device}, {ways(found)}",
        f"batch             {found.batch} triples of {found.tokens_per_triple} tokens",
        f"training          {found.triples_per_s:,.0f} triples/s   {found.tokens_per_s:,.0f} tokens/s",
        f"data alone        {found.data_alone:,.0f} triples/s",
        f"waiting for data  {found.data_wait:.0%} of the time",
        f"replayed          {found.replayed:.0%} of the steps",
    ]
    if found.unrecorded:
        lines.append(f"not replayed      {found.unrecorded:,.0f} triples/s")
    lines += [f"{name:17} {value:.2f} ms" for name, value in found.parts_ms.items()]
    if found.gpu_share is not None:
        lines.append(f"GPU share         {found.gpu_share:.0%}, {found.kernels_per_step:,.0f} kernels a step")
    lines += [f"{name:17} {value:,.0f} triples/s" for name, value in found.stock.items()]
    for title, rows in (("kernel", found.operations), ("processor", found.host_operations)):
        if rows:
            lines.append(f"{title:70} {'ms/step':>8} {'calls':>6}")
            lines += [f"{name:70} {ms:8.3f} {calls:6.1f}" for name, ms, calls in rows]
    return "\n".join(lines)


def ways(found: Profile) -> str:
    """How the parts of a step are computed."""
    return f"{found.attention}, compiled: {found.compiled}, fused MaxSim: {found.fused_maxsim}"


def stopwatch() -> Say:
    """Writes lines to stderr, each with the seconds since now before it."""
    start = time.monotonic()

    def say(line: str) -> None:
        sys.stderr.write(f"{time.monotonic() - start:6.1f} s  {line}\n")
        sys.stderr.flush()

    return say


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m numcolbert.train.bench", description=__doc__)
    parser.add_argument("recipe")
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="section.key=value")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each rate is measured")
    parser.add_argument("--no-stock", action="store_true", help="leave out sentence-transformers' trainer")
    parser.add_argument(
        "--profile", action="store_true", help="say which kernels and functions take the time"
    )
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args(arguments)
    from numcolbert.train.recipe import load_recipe

    found = profile(
        load_recipe(chosen.recipe, chosen.changes),
        chosen.seconds,
        stock=not chosen.no_stock,
        detailed=chosen.profile,
        say=stopwatch(),
    )
    sys.stdout.write((json.dumps(asdict(found), indent=1) if chosen.json else report(found)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
