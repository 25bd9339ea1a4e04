"""sentence-transformers' own way to train the same model on the same triples, for comparison."""

from __future__ import annotations

import importlib
import logging
import tempfile
import time
from typing import Any

import torch

from numcolbert.train.bench import Say
from numcolbert.train.model_setup import build_model
from numcolbert.train.recipe import Recipe
from numcolbert.train.sources import open_source

log = logging.getLogger(__name__)

STEPS = 40
"""Steps of the stock trainer at most; it is slow, and its rate is steady."""
WARM_UP = 2
"""Steps that do not count."""


def stock_rate(recipe: Recipe, device: torch.device, seconds: float, say: Say) -> dict[str, float]:
    """Triples a second of `MultiVectorEncoderTrainer` (where `datasets` is installed) and of a plain loop.

    Both use sentence-transformers' ranking loss over MaxSim with the recipe's batch, bf16 on a GPU. Each ends
    after about `seconds`, but not before one step was timed.
    """
    batch = recipe.optimiser.batch
    triples = open_source(recipe.data, recipe.run.seed, 0).next_block(batch * STEPS)
    columns = {
        "query": [t.query for t in triples],
        "positive": [t.positive.text for t in triples],
        "negative": [t.negative.text for t in triples],
    }
    rates = {"stock loop": _loop_rate(recipe, device, columns, seconds)}
    say(f"stock loop {rates['stock loop']:,.0f} triples/s")
    try:
        datasets = importlib.import_module("datasets")  # the trainer takes no other kind
    except ImportError:
        say("the stock trainer needs the package datasets, which is not installed")
        return rates
    try:
        dataset = datasets.Dataset.from_dict(columns)
        rates["stock trainer"] = _trainer_rate(recipe, device, dataset, seconds)
        say(f"stock trainer {rates['stock trainer']:,.0f} triples/s")
    except Exception as error:  # noqa: BLE001  not our code; what was measured already must not be lost
        log.warning("the stock trainer does not run here: %s", error)
    return rates


def _model_and_loss(recipe: Recipe, device: torch.device) -> tuple[Any, Any]:
    from sentence_transformers.multi_vector_encoder.losses import MultiVectorMultipleNegativesRankingLoss

    model = build_model(recipe.model, device).train()
    return model, MultiVectorMultipleNegativesRankingLoss(model, scale=1.0, score_mini_batch_size=32)


def _loop_rate(recipe: Recipe, device: torch.device, columns: dict[str, list[str]], seconds: float) -> float:
    """A plain loop: tokenise, forward, backward, step."""
    model, loss = _model_and_loss(recipe, device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=recipe.optimiser.lr)
    batch = recipe.optimiser.batch
    clock = _Clock(batch, seconds)
    for step in range(STEPS):
        part = slice(step * batch, (step + 1) * batch)
        features = []
        for name, texts in columns.items():
            task = "query" if name == "query" else "document"
            made = model.preprocess(texts[part], prompt=model.prompts[task], task=task)
            moved = {k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in made.items()}
            features.append({**moved, "task": task})
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            value = loss(features)
        value.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        if device.type == "cuda":
            torch.cuda.synchronize()
        if clock.step_ended():
            break
    return clock.rate


class _Clock:
    """Triples a second from the first steps on; says when enough was seen."""

    def __init__(self, batch: int, seconds: float) -> None:
        self._batch, self._seconds = batch, seconds
        self._ends: list[float] = []

    def step_ended(self) -> bool:
        self._ends.append(time.monotonic())
        counted = len(self._ends) - WARM_UP
        return counted >= 1 and self._ends[-1] - self._ends[WARM_UP - 1] > self._seconds

    @property
    def rate(self) -> float:
        counted = self._ends[WARM_UP - 1 :]
        return round((len(counted) - 1) * self._batch / max(counted[-1] - counted[0], 1e-9), 1)


def _trainer_rate(recipe: Recipe, device: torch.device, dataset: Any, seconds: float) -> float:
    from sentence_transformers import MultiVectorEncoderTrainer, MultiVectorEncoderTrainingArguments
    from transformers import TrainerCallback

    model, loss = _model_and_loss(recipe, device)
    clock = _Clock(recipe.optimiser.batch, seconds)

    class Stop(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002
            if device.type == "cuda":
                torch.cuda.synchronize()
            control.should_training_stop |= clock.step_ended()

    with tempfile.TemporaryDirectory() as folder:
        arguments = MultiVectorEncoderTrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=recipe.optimiser.batch,
            max_steps=STEPS,
            learning_rate=recipe.optimiser.lr,
            bf16=device.type == "cuda",
            use_cpu=device.type == "cpu",
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            logging_strategy="no",
        )
        MultiVectorEncoderTrainer(
            model=model, args=arguments, train_dataset=dataset, loss=loss, callbacks=[Stop()]
        ).train()
    return clock.rate
