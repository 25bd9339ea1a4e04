"""A learning rate chosen on development queries: each is tried for a share of the budget."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from numcolbert.errors import ModelError, UsageError

if TYPE_CHECKING:
    from numcolbert.train.recipe import Recipe

log = logging.getLogger(__name__)


class DivergedError(ModelError):
    """The learning rate was too high: the loss is no number any more."""


def choose_rate(
    recipe: Recipe, rates: Sequence[float], share: float, quality: Callable[[Recipe], float]
) -> tuple[Recipe, dict[float, float]]:
    """The recipe with the best of `rates`, and what each reached; `quality` trains and measures."""
    if not recipe.run.evaluate_during:
        raise UsageError(
            "Learning rates are compared on development queries, and there are none.",
            hint="name their folders with --set run.evaluate_during",
        )
    if not 0 < share <= 1 or not all(0 < rate < math.inf for rate in rates):
        raise UsageError(
            f"The rates {list(rates)} cannot be tried for a share of {share}.",
            hint="rates are positive numbers, the share lies between 0 and 1",
        )
    run = recipe.run
    short = replace(
        run,
        steps=max(1, round(run.steps * share)) if run.steps else 0,
        time_budget_s=run.time_budget_s * share,
    )
    reached: dict[float, float] = {}
    for rate in rates:
        attempt = replace(recipe, run=short, optimiser=replace(recipe.optimiser, lr=rate))
        try:
            reached[rate] = round(quality(attempt), 5)
        except DivergedError as error:
            reached[rate] = 0.0
            log.info("learning rate %g: %s", rate, error.message)
        else:
            log.info("learning rate %g: nDCG@10 %.4f", rate, reached[rate])
    best = max(reached, key=lambda rate: reached[rate])
    return replace(recipe, optimiser=replace(recipe.optimiser, lr=best)), reached
