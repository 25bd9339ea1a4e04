"""The training loop of the neural baselines: NumColBERT's batches, recorded steps, budget and optimiser."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn

from numcolbert.baselines.rates import DivergedError
from numcolbert.progress import Progress
from numcolbert.train.batches import BatchStream
from numcolbert.train.model_setup import can_record
from numcolbert.train.optimiser import descend, make_optimiser, set_rates
from numcolbert.train.packing import BatchMaker
from numcolbert.train.recipe import Recipe
from numcolbert.train.replay import GradientStep
from numcolbert.train.schedule import Budget, lr_factor
from numcolbert.train.step import StepResult
from numcolbert.train.text_reader import TextSettings
from numcolbert.train.workers import FeedSettings


@dataclass(frozen=True, slots=True)
class Fitted:
    steps: int
    triples: int
    seconds: float
    loss: float
    replayed: int = 0
    """Steps that were recorded before."""


def result_of(terms: dict[str, Tensor]) -> StepResult:
    """The outcome of a step whose loss is the sum of `terms`, which are weighted already."""
    total = torch.stack([term.float() for term in terms.values()]).sum()
    return StepResult(total, {name: term.detach() for name, term in terms.items()})


def retrieval_loss(scores: Tensor, rivals: Tensor) -> Tensor:
    """Cross-entropy over the batch's passages; passage b answers query b. `scores` and `rivals`: [B, 2B]."""
    target = torch.arange(len(scores), device=scores.device)
    return nn.functional.cross_entropy(scores.float().masked_fill(~rivals, -torch.inf), target)


def fit(
    step: nn.Module,
    text: TextSettings,
    recipe: Recipe,
    folder: Path,
    *,
    kind: type[BatchMaker] = BatchMaker,
    before_step: Callable[[float], None] | None = None,
) -> Fitted:
    """Train the parameters of `step`, which turns a batch into a `StepResult`, where they lie.

    `before_step` gets the share of the budget that is used: as steps are recorded, what changes in their
    course must be written to tensors. Writes `folder/log.jsonl`.
    """
    run, optimiser = recipe.run, recipe.optimiser
    device = next(step.parameters()).device
    torch.set_float32_matmul_precision("high")
    step.train()
    adam = make_optimiser(step, optimiser, device)
    parameters = [parameter for group in adam.param_groups for parameter in group["params"]]
    gradients = GradientStep(step, parameters, records=can_record(recipe, device))
    # A tape holds the tokens of NumColBERT; the same triples are drawn once more, for other tokens.
    feed = FeedSettings(replace(recipe.data, tape=None), text, optimiser.batch, run.seed, kind=kind)
    budget, done, last = Budget(run.steps, run.time_budget_s), 0, float("nan")
    folder.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    with (
        (folder / "log.jsonl").open("w", encoding="utf-8") as log,
        BatchStream(feed, device) as batches,
        Progress("train", run.steps or None, "steps") as progress,
    ):
        while (used := budget.progress(done)) < 1.0:
            set_rates(adam, lr_factor(used, optimiser.warmup, optimiser.decay))
            if before_step is not None:
                before_step(used)
            result = gradients(next(batches))
            descend(adam, parameters, optimiser.clip)
            if done % run.log_every == 0:
                last = float(result.loss)  # waits for the device
                if not math.isfinite(last):
                    raise DivergedError(
                        f"The loss is not a number at step {done}.", hint="lower optimiser.lr"
                    )
                values = {name: round(float(term), 5) for name, term in result.parts.items()}
                log.write(json.dumps({"step": done, "seconds": round(budget.used, 2), **values}) + "\n")
                log.flush()
            done += 1
            progress.advance()
    step.eval()
    return Fitted(done, done * optimiser.batch, time.monotonic() - start, last, gradients.replays)
