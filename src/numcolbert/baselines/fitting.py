"""The training loop of the neural baselines: the triples, budget and optimiser of a NumColBERT recipe."""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from numcolbert.data.triple import OPERATORS, Passage, Triple
from numcolbert.progress import Progress
from numcolbert.train.labels import Conditions, DocumentQuantities, candidates, known_answers
from numcolbert.train.model_setup import choose_device
from numcolbert.train.recipe import Recipe
from numcolbert.train.schedule import Budget, lr_factor
from numcolbert.train.sources import DataSettings, open_source

Batch = dict[str, Tensor]
Arrays = dict[str, NDArray[Any]]
Losses = dict[str, Tensor]
"""The terms of the loss, already weighted; their sum is minimised."""


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
            tensors = prepare(triples) | {"rivals": rivals(triples)}
            yield {name: tensor.numpy() for name, tensor in tensors.items()}


def _as_it_is(arrays: Any) -> Any:
    return arrays


def rivals(triples: Sequence[Triple]) -> Tensor:
    """Which of the 2B passages compete for each query, [B, 2B] bool: those not known to be right as well."""
    passages = [t.positive for t in triples] + [t.negative for t in triples]
    rows = [(b, c) for b, t in enumerate(triples) for c in t.conditions]
    whole = torch.tensor(
        [(b, OPERATORS.index(c.operator), c.unit, c.dimension, c.pair) for b, c in rows], dtype=torch.long
    ).reshape(-1, 5)
    real = torch.tensor([(c.value, c.base_value, c.base_high) for _, c in rows], dtype=torch.float64).reshape(
        -1, 3
    )
    conditions = Conditions(
        query=whole[:, 0],
        operator=whole[:, 1],
        unit=whole[:, 2],
        dimension=whole[:, 3],
        pair=whole[:, 4],
        value=real[:, 0],
        base_value=real[:, 1],
        base_high=real[:, 2],
        mention=torch.zeros(len(rows), 0, dtype=torch.bool),
    )
    answers = known_answers(conditions, _quantities(passages), len(triples))
    keys = torch.tensor([zlib.crc32(p.text.encode()) for p in passages])
    return candidates(answers, torch.arange(len(triples)), keys)


def _quantities(passages: Sequence[Passage]) -> DocumentQuantities:
    columns = max(1, max(len(p.quantities) for p in passages))
    whole = np.full((3, len(passages), columns), -1, np.int64)
    value = np.zeros((len(passages), columns))
    for row, passage in enumerate(passages):
        for column, quantity in enumerate(passage.quantities):
            whole[:, row, column] = quantity.unit, quantity.dimension, quantity.pair
            value[row, column] = quantity.base_value
    unit, dimension, pair = (torch.from_numpy(part) for part in whole)
    return DocumentQuantities(unit, dimension, pair, torch.from_numpy(value))


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
    device = choose_device(run.device)
    model.to(device).train()
    new = {id(parameter) for parameter in heads}
    groups = [
        {"params": [p for p in model.parameters() if id(p) not in new], "factor": 1.0},
        {"params": [p for p in model.parameters() if id(p) in new], "factor": optimiser.head_factor},
    ]
    adam = torch.optim.AdamW(
        groups,
        lr=optimiser.lr,
        betas=(optimiser.beta1, optimiser.beta2),
        weight_decay=optimiser.weight_decay,
        fused=device.type == "cuda",
    )
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
            moved = {name: torch.from_numpy(array).to(device) for name, array in batch.items()}
            with torch.autocast(device.type, torch.bfloat16, enabled=half):
                terms = losses(moved, used)
            total = torch.stack([term.float() for term in terms.values()]).sum()
            adam.zero_grad(set_to_none=True)
            total.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), optimiser.clip)
            adam.step()
            if step % run.log_every == 0:
                last = float(total.detach())
                values = {name: round(float(term.detach()), 5) for name, term in terms.items()}
                log.write(json.dumps({"step": step, "seconds": round(budget.used, 2), **values}) + "\n")
                log.flush()
            step += 1
            progress.advance()
    model.eval()
    return Fitted(step, step * optimiser.batch, time.monotonic() - start, last)
