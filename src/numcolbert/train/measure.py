"""Measures a recipe leg by leg for `bench.py`; each leg is bounded in time and told as soon as it is done."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from numcolbert.train.batches import Batch, BatchStream
from numcolbert.train.bench import Profile, Say, ways
from numcolbert.train.maxsim import match_kernel
from numcolbert.train.recipe import Recipe
from numcolbert.train.replay import GradientStep
from numcolbert.train.schedule import Budget
from numcolbert.train.stock_bench import stock_rate
from numcolbert.train.trainer import Trainer
from numcolbert.train.workers import FeedSettings

Rows = list[tuple[str, float, float]]

WARM_UP_SECONDS = 90.0
"""At most so long for compiling and recording, which are no part of the rate."""


def measure(recipe: Recipe, seconds: float, *, stock: bool, detailed: bool, say: Say) -> Profile:
    # No evaluation, and an output nobody needs: only the speed counts.
    run = replace(recipe.run, evaluate_during=(), evaluate_at_end=(), resume=False, steps=1_000_000)
    recipe = replace(recipe, run=run)
    trainer = Trainer(recipe, Budget(run.steps), writes=False)
    encoder, cuda = trainer.module.encoder, trainer.device.type == "cuda"
    found = Profile(
        device=torch.cuda.get_device_name(trainer.device) if cuda else "cpu",
        attention=type(encoder.attention).__name__,
        compiled=encoder.compiled,
        batch=recipe.optimiser.batch,
        fused_maxsim=match_kernel(trainer.device, encoder.dtype, encoder.dim) is not None,
    )
    say(f"model on {found.device}, {ways(found)}")
    feed = FeedSettings(recipe.data, trainer.text, recipe.optimiser.batch, run.seed)
    with BatchStream(feed, trainer.device) as batches:
        batch = next(batches)
        found.tokens_per_triple = round(batch.real_tokens / batch.queries, 1)
        say(f"first batch: {found.tokens_per_triple} tokens a triple, {batch.buffer.numel():,} bytes")
        found.data_alone = round(data_rate(batches, recipe.data.workers * recipe.data.prefetch, seconds / 2))
        say(f"data alone {found.data_alone:,.0f} triples/s")
        warmed = _warm_up(trainer, batches, WARM_UP_SECONDS if cuda else seconds / 2)
        say(f"warm after {warmed:.1f} s, {trainer.gradients.recordings} kinds of steps recorded")
        _train(trainer, batches, seconds, found)
        say(f"training {found.triples_per_s:,.0f} triples/s, waiting for data {found.data_wait:.0%}")
        if cuda:
            found.gpu_share, found.operations, found.kernels_per_step = kernel_times(trainer, batches)
            say(f"GPU share {found.gpu_share:.0%}, {found.kernels_per_step:,.0f} kernels a step")
        if detailed:
            _unrecorded(trainer, batches, min(5.0, seconds), found)
            say(f"without replaying {found.unrecorded:,.0f} triples/s")
        found.parts_ms = step_parts(trainer, batch, seconds)
        say(", ".join(f"{name} {value:.2f} ms" for name, value in found.parts_ms.items()))
    if stock:
        found.stock = stock_rate(recipe, trainer.device, seconds, say)
    return found


def data_rate(batches: BatchStream, ready: int, seconds: float) -> float:
    """Triples a second that arrive on the device when nothing is computed; `ready` batches lay waiting."""
    start = time.monotonic()
    for _ in range(ready):
        next(batches)
        if time.monotonic() - start > seconds:
            break
    start, count = time.monotonic(), 0
    while time.monotonic() - start < seconds:
        count += next(batches).queries
    return count / (time.monotonic() - start)


def _one_step(trainer: Trainer, batch: Batch) -> None:
    trainer.gradients(batch)
    _update(trainer)
    trainer.optimiser.zero_grad(set_to_none=True)


def _update(trainer: Trainer) -> None:
    nn.utils.clip_grad_norm_(trainer.parameters, 1.0, foreach=True)
    trainer.optimiser.step()


def _warm_up(trainer: Trainer, batches: BatchStream, limit: float, quiet: float = 2.0) -> float:
    """Train until nothing was compiled or recorded for a while; seconds it took."""
    start = last = time.monotonic()
    while (now := time.monotonic()) - start < limit and now - last < min(quiet, limit):
        before, recorded = time.monotonic(), trainer.gradients.recordings
        _one_step(trainer, next(batches))
        _wait(trainer.device)
        if trainer.gradients.recordings > recorded or time.monotonic() - before > 1.0:
            last = time.monotonic()
    return time.monotonic() - start


def _train(trainer: Trainer, batches: BatchStream, seconds: float, found: Profile) -> None:
    _wait(trainer.device)
    steps, tokens, waited, replays = 0, 0, 0.0, trainer.gradients.replays
    start = time.monotonic()
    while (now := time.monotonic()) - start < seconds:
        batch = next(batches)
        waited += time.monotonic() - now
        _one_step(trainer, batch)
        steps, tokens = steps + 1, tokens + batch.real_tokens
    _wait(trainer.device)
    wall = time.monotonic() - start
    found.triples_per_s = round(steps * found.batch / wall, 1)
    found.tokens_per_s = round(tokens / wall)
    found.data_wait = round(waited / wall, 3)
    found.replayed = round((trainer.gradients.replays - replays) / steps, 3)


def _unrecorded(trainer: Trainer, batches: BatchStream, seconds: float, found: Profile) -> None:
    """The same steps started kernel by kernel: their rate, and what the processor does in them."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as recording

    replaying = trainer.gradients
    trainer.gradients = GradientStep(trainer.module, trainer.parameters, records=False)
    try:
        plain = replace(found)
        _train(trainer, batches, seconds, plain)
        found.unrecorded = plain.triples_per_s
        steps = 5
        with recording(activities=[ProfilerActivity.CPU]) as recorded:
            for _ in range(steps):
                _one_step(trainer, next(batches))
            _wait(trainer.device)
    finally:
        trainer.gradients = replaying
    found.host_operations = _most(recorded, "self_cpu_time_total", steps)


def kernel_times(trainer: Trainer, batches: BatchStream, steps: int = 20) -> tuple[float, Rows, float]:
    """Share of the time in which a kernel ran, the kernels that took most of it, and kernels a step."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as recording

    with recording(activities=[ProfilerActivity.CUDA]) as recorded:
        _wait(trainer.device)
        start = time.monotonic()
        for _ in range(steps):
            _one_step(trainer, next(batches))
        _wait(trainer.device)
        wall = time.monotonic() - start
    rows: list[Any] = [row for row in recorded.key_averages() if row.self_device_time_total > 0]
    busy = sum(row.self_device_time_total for row in rows) / 1e6
    launched = sum(row.count for row in rows) / steps
    return (
        round(min(busy / wall, 1.0), 3),
        _most(recorded, "self_device_time_total", steps),
        round(launched, 1),
    )


def _most(recorded: Any, measure_: str, steps: int, count: int = 25) -> Rows:
    """Name, milliseconds a step and calls a step of what took most."""
    rows: list[Any] = sorted(recorded.key_averages(), key=lambda row: getattr(row, measure_), reverse=True)
    return [
        (row.key[:70], round(getattr(row, measure_) / 1e3 / steps, 3), round(row.count / steps, 1))
        for row in rows[:count]
    ]


def step_parts(trainer: Trainer, batch: Batch, seconds: float = 5.0) -> dict[str, float]:
    """Milliseconds of the parts of one step, each alone, on one batch that lies on the device."""
    module, device, limit = trainer.module, trainer.device, seconds / 2

    def encoder() -> None:
        module.encoder(batch.tokens).sum().backward()

    with torch.no_grad():
        hidden = module.encoder.hidden(batch.tokens)
        vectors = module.encoder.project(hidden)

    def loss() -> None:
        encoded, labels, _ = module.compare(batch, hidden, vectors.detach().requires_grad_())
        module.loss(encoded, labels).total.backward()

    parts = {
        "encoder": timed(encoder, device, limit),
        "MaxSim and losses": timed(loss, device, limit),
    }
    trainer.gradients(batch)  # gradients for the optimiser to work on
    parts["optimiser"] = timed(lambda: _update(trainer), device, limit)
    trainer.optimiser.zero_grad(set_to_none=True)
    parts["whole step"] = timed(lambda: _one_step(trainer, batch), device, limit)
    return parts


def timed(work: Callable[[], None], device: torch.device, limit: float, repeats: int = 10) -> float:
    """Median milliseconds after two warm-up calls; fewer repeats where they take longer than `limit` s."""
    times: list[float] = []
    first = time.monotonic()
    for turn in range(repeats + 2):
        _wait(device)
        start = time.perf_counter()
        work()
        _wait(device)
        if turn >= 2:
            times.append(1e3 * (time.perf_counter() - start))
        if times and time.monotonic() - first > limit:
            break
    return round(statistics.median(times), 3)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()
