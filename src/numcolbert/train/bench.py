"""How fast a recipe trains, where the time goes, and the stock trainer beside it.

python -m numcolbert.train.bench RECIPE [--set section.key=value ...] [--seconds 10]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch
from torch import nn

from numcolbert.errors import NumColBERTError
from numcolbert.train.batches import Batch, BatchStream
from numcolbert.train.recipe import Recipe, load_recipe
from numcolbert.train.schedule import Budget
from numcolbert.train.stock_bench import stock_rate
from numcolbert.train.trainer import Trainer
from numcolbert.train.workers import Feed, FeedSettings


@dataclass
class Profile:
    """What was measured; rates are triples a second, parts milliseconds a step."""

    device: str
    attention: str
    compiled: bool
    batch: int
    tokens_per_triple: float
    triples_per_s: float = 0.0
    tokens_per_s: float = 0.0
    data_alone: float = 0.0
    parts_ms: dict[str, float] = field(default_factory=dict)
    gpu_share: float | None = None
    """Time in which a kernel ran over wall-clock time, with data flowing."""
    operations: list[tuple[str, float, float]] = field(default_factory=list)
    """Name, milliseconds a step, calls a step of the most expensive kernels."""
    stock: dict[str, float] = field(default_factory=dict)
    """Triples a second of sentence-transformers' own trainer and loss."""


def profile(recipe: Recipe, seconds: float = 10.0, *, stock: bool = True) -> Profile:
    """Measure a recipe: the data side alone, the parts of a step, whole steps with data flowing."""
    # No evaluation, and an output nobody needs: only the speed counts.
    run = replace(recipe.run, evaluate_during=(), evaluate_at_end=(), resume=False, steps=1_000_000)
    recipe = replace(recipe, run=run)
    trainer = Trainer(recipe, Budget(run.steps), writes=False)
    feed = FeedSettings(recipe.data, trainer.text, recipe.optimiser.batch, run.seed)
    encoder = trainer.module.encoder
    rate = data_rate(feed, seconds / 2)
    with BatchStream(feed, trainer.device, buckets=encoder.needs_buckets) as batches:
        batch = next(batches)
        found = Profile(
            device=_device_name(trainer.device),
            attention=type(encoder.attention).__name__,
            compiled=encoder.compiled,
            batch=recipe.optimiser.batch,
            tokens_per_triple=round(batch.real_tokens / batch.queries, 1),
            data_alone=round(rate, 1),
        )
        found.parts_ms = step_parts(trainer, batch)
        _steps(trainer, batches, seconds=min(5.0, seconds))  # warm: every shape compiled
        steps, tokens, wall = _steps(trainer, batches, seconds=seconds)
        found.triples_per_s = round(steps * found.batch / wall, 1)
        found.tokens_per_s = round(tokens / wall)
        if trainer.device.type == "cuda":
            found.gpu_share, found.operations = kernel_times(trainer, batches)
    if stock:
        found.stock = stock_rate(recipe, trainer.device, seconds)
    return found


def data_rate(settings: FeedSettings, seconds: float) -> float:
    """Triples a second that come out of the worker processes when nobody else uses them."""
    feed = Feed(settings)
    try:
        for _ in range(max(1, settings.data.workers)):
            next(feed)  # every worker has loaded its data
        for _ in range(settings.data.prefetch * max(1, settings.data.workers)):
            next(feed)  # and what was made meanwhile is used up
        start, count = time.monotonic(), 0
        while time.monotonic() - start < seconds:
            next(feed)
            count += 1
        return count * settings.batch / (time.monotonic() - start)
    finally:
        feed.close()


def _one_step(trainer: Trainer, batch: Batch) -> None:
    trainer.module(batch).loss.backward()
    nn.utils.clip_grad_norm_(trainer.parameters, 1.0, foreach=True)
    trainer.optimiser.step()
    trainer.optimiser.zero_grad(set_to_none=True)


def _steps(trainer: Trainer, batches: BatchStream, seconds: float) -> tuple[int, int, float]:
    _wait(trainer.device)
    start, steps, tokens = time.monotonic(), 0, 0
    while time.monotonic() - start < seconds:
        batch = next(batches)
        _one_step(trainer, batch)
        steps, tokens = steps + 1, tokens + batch.real_tokens
    _wait(trainer.device)
    return steps, tokens, time.monotonic() - start


def step_parts(trainer: Trainer, batch: Batch) -> dict[str, float]:
    """Milliseconds of the parts of one step, each alone, on one batch that lies on the device."""
    module, device = trainer.module, trainer.device

    def encoder() -> None:
        module.encoder(batch.tokens).sum().backward()

    with torch.no_grad():
        hidden = module.encoder.hidden(batch.tokens)
        vectors = module.encoder.project(hidden)

    def loss() -> None:
        encoded, labels, _ = module.compare(batch, hidden, vectors.detach().requires_grad_())
        module.loss(encoded, labels).total.backward()

    def optimiser() -> None:
        nn.utils.clip_grad_norm_(trainer.parameters, 1.0, foreach=True)
        trainer.optimiser.step()

    parts = {"encoder": timed(encoder, device), "MaxSim and losses": timed(loss, device)}
    _one_step(trainer, batch)
    module(batch).loss.backward()  # gradients for the optimiser to work on
    parts["optimiser"] = timed(optimiser, device)
    trainer.optimiser.zero_grad(set_to_none=True)
    parts["whole step"] = timed(lambda: _one_step(trainer, batch), device)
    return parts


def timed(work: Callable[[], None], device: torch.device, repeats: int = 10) -> float:
    """Median milliseconds after two warm-up calls."""
    times = []
    for turn in range(repeats + 2):
        _wait(device)
        start = time.perf_counter()
        work()
        _wait(device)
        if turn >= 2:
            times.append(1e3 * (time.perf_counter() - start))
    return round(statistics.median(times), 3)


def kernel_times(
    trainer: Trainer, batches: BatchStream, steps: int = 20
) -> tuple[float, list[tuple[str, float, float]]]:
    """Share of the wall-clock time in which a kernel ran, and the kernels that took most of it."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as recording

    with recording(activities=[ProfilerActivity.CUDA]) as recorded:
        _wait(trainer.device)
        start = time.monotonic()
        for _ in range(steps):
            _one_step(trainer, next(batches))
        _wait(trainer.device)
        wall = time.monotonic() - start
    rows: list[Any] = sorted(
        recorded.key_averages(), key=lambda row: row.self_device_time_total, reverse=True
    )
    busy = sum(row.self_device_time_total for row in rows) / 1e6
    top = [
        (row.key[:70], round(row.self_device_time_total / 1e3 / steps, 3), round(row.count / steps, 1))
        for row in rows[:15]
    ]
    return round(min(busy / wall, 1.0), 3), top


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def report(found: Profile) -> str:
    """Lines for people."""
    lines = [
        f"device            {found.device}, {found.attention}, compiled: {found.compiled}",
        f"batch             {found.batch} triples of {found.tokens_per_triple} tokens",
        f"training          {found.triples_per_s:,.0f} triples/s   {found.tokens_per_s:,.0f} tokens/s",
        f"data alone        {found.data_alone:,.0f} triples/s",
    ]
    lines += [f"{name:17} {value:.2f} ms" for name, value in found.parts_ms.items()]
    if found.gpu_share is not None:
        lines.append(f"GPU share         {found.gpu_share:.0%}")
    lines += [f"{name:17} {value:,.0f} triples/s" for name, value in found.stock.items()]
    if found.operations:
        lines.append(f"{'kernel':70} {'ms/step':>8} {'calls':>6}")
        lines += [f"{name:70} {ms:8.3f} {calls:6.1f}" for name, ms, calls in found.operations]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m numcolbert.train.bench", description=__doc__)
    parser.add_argument("recipe")
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="section.key=value")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each rate is measured")
    parser.add_argument("--no-stock", action="store_true", help="leave out sentence-transformers' trainer")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args(arguments)
    try:
        found = profile(load_recipe(chosen.recipe, chosen.changes), chosen.seconds, stock=not chosen.no_stock)
    except NumColBERTError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    sys.stdout.write((json.dumps(asdict(found), indent=1) if chosen.json else report(found)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
