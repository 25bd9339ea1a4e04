"""The training loop of the neural baselines: the triples, budget and optimiser of a NumColBERT recipe."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from numcolbert.baselines.rates import DivergedError
from numcolbert.baselines.rivals import batch_labels, rivals
from numcolbert.data.triple import Triple
from numcolbert.progress import Progress
from numcolbert.train.model_setup import choose_device
from numcolbert.train.packing import group_by_length
from numcolbert.train.recipe import OptimiserSettings, Recipe
from numcolbert.train.schedule import Budget, lr_factor
from numcolbert.train.sources import DataSettings, open_source

Batch = dict[str, Tensor]
Arrays = dict[str, NDArray[Any]]
Losses = dict[str, Tensor]
"""The terms of the loss, already weighted; their sum is minimised."""


GROUPS = "document_groups"
"""Rows of (first, last + 1, longest); stays on the host, for it steers the computation."""

LENGTH_GROUPS = 4
"""Groups of passages by length. Every kernel is started from Python here, once a group, so more groups are no
gain; with fewer a GPU that several trainings share spends its time on padding."""


class Prepare(Protocol):
    """Turns triples into tensors; runs in the worker processes, so it must be picklable."""

    def __call__(self, triples: Sequence[Triple]) -> Batch: ...


@dataclass(frozen=True, slots=True)
class Fitted:
    steps: int
    triples: int
    seconds: float
    loss: float


class _Blocks(IterableDataset[Arrays]):
    """Batches as numpy arrays: tensors would go through shared memory, which containers have little of."""

    def __init__(self, data: DataSettings, batch: int, seed: int, prepare: Prepare) -> None:
        self._settings = (data, batch, seed, prepare)

    def __iter__(self) -> Iterator[Arrays]:
        data, batch, seed, prepare = self._settings
        worker = get_worker_info()
        os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one process, one core
        source = open_source(data, seed, worker.id if worker else 0)
        while True:
            triples = source.next_block(batch)
            tensors = prepare(triples) | batch_labels(triples)
            yield {name: tensor.numpy() for name, tensor in tensors.items()}


def _as_it_is(arrays: Any) -> Any:
    return arrays


def by_length(mask: Tensor) -> tuple[Tensor, Batch]:
    """An order of padded texts by length, and what a batch must say of it. `mask`: [texts, tokens]."""
    arrays = group_by_length(mask.sum(dim=1).tolist(), LENGTH_GROUPS)
    order = torch.from_numpy(arrays["document_order"])
    return order, {"document_order": order, GROUPS: torch.from_numpy(arrays["document_groups"])}


def length_groups(batch: Batch) -> list[tuple[slice, int]]:
    """(rows, tokens of the longest text in them): passages of one length are computed together."""
    return [(slice(first, last), longest) for first, last, longest in batch[GROUPS].tolist()]


def in_order(parts: Sequence[Tensor], batch: Batch, dim: int = 0) -> Tensor:
    """What was computed group by group, in the order of the triples again."""
    return torch.cat(list(parts), dim=dim).index_select(dim, batch["document_order"].argsort())


def retrieval_loss(scores: Tensor, rivals: Tensor) -> Tensor:
    """Cross-entropy over the batch's passages; passage b answers query b. `scores` and `rivals`: [B, 2B]."""
    target = torch.arange(len(scores), device=scores.device)
    return nn.functional.cross_entropy(scores.float().masked_fill(~rivals, -torch.inf), target)


def fit(
    model: nn.Module,
    heads: Iterable[nn.Parameter],
    prepare: Prepare,
    losses: Callable[[Batch, float], Losses],
    recipe: Recipe,
    folder: Path,
) -> Fitted:
    """Train `model` in place; `heads` learn at the recipe's `head_factor`. Writes `log.jsonl` to `folder`.

    `losses` gets a batch on the device and the share of the budget that is used.
    """
    run, optimiser = recipe.run, recipe.optimiser
    torch.manual_seed(run.seed)
    torch.set_float32_matmul_precision("high")
    device = choose_device(run.device)
    model.to(device).train()
    adam = make_optimiser(model, heads, optimiser, device)
    blocks = _Blocks(recipe.data, optimiser.batch, run.seed, prepare)
    workers = recipe.data.workers
    loader = DataLoader(
        blocks,
        batch_size=None,
        num_workers=workers,
        prefetch_factor=recipe.data.prefetch if workers else None,
        multiprocessing_context="spawn" if workers else None,
        collate_fn=_as_it_is,
    )
    half = device.type == "cuda" and run.precision == "bf16"
    budget, step, last = Budget(run.steps, run.time_budget_s), 0, float("nan")
    folder.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    with (
        (folder / "log.jsonl").open("w", encoding="utf-8") as log,
        Progress("train", run.steps or None, "steps") as progress,
    ):
        for batch in loader:
            used = budget.progress(step)
            if used >= 1.0:
                break
            for group in adam.param_groups:
                group["lr"] = (
                    optimiser.lr * group["factor"] * lr_factor(used, optimiser.warmup, optimiser.decay)
                )
            moved = {
                name: torch.from_numpy(array).to("cpu" if name == GROUPS else device)
                for name, array in batch.items()
            }
            moved["rivals"] = rivals(moved)
            with torch.autocast(device.type, torch.bfloat16, enabled=half):
                terms = losses(moved, used)
            total = torch.stack([term.float() for term in terms.values()]).sum()
            adam.zero_grad(set_to_none=True)
            total.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), optimiser.clip)
            adam.step()
            if step % run.log_every == 0:
                last = float(total.detach())
                if not math.isfinite(last):
                    raise DivergedError(
                        f"The loss is not a number at step {step}.", hint="lower optimiser.lr"
                    )
                values = {name: round(float(term.detach()), 5) for name, term in terms.items()}
                log.write(json.dumps({"step": step, "seconds": round(budget.used, 2), **values}) + "\n")
                log.flush()
            step += 1
            progress.advance()
    model.eval()
    return Fitted(step, step * optimiser.batch, time.monotonic() - start, last)


def make_optimiser(
    model: nn.Module, heads: Iterable[nn.Parameter], settings: OptimiserSettings, device: torch.device
) -> torch.optim.AdamW:
    """AdamW as NumColBERT's trainer sets it up: heads faster, biases and normalisation not decayed."""
    new = {id(parameter) for parameter in heads}
    groups: dict[tuple[bool, bool], list[nn.Parameter]] = {}
    for parameter in model.parameters():
        if parameter.requires_grad:
            groups.setdefault((id(parameter) in new, parameter.ndim > 1), []).append(parameter)
    listed = [
        {
            "params": parameters,
            "factor": settings.head_factor if head else 1.0,
            "weight_decay": settings.weight_decay if matrix else 0.0,
        }
        for (head, matrix), parameters in groups.items()
    ]
    return torch.optim.AdamW(
        listed, lr=settings.lr, betas=(settings.beta1, settings.beta2), fused=device.type == "cuda"
    )
