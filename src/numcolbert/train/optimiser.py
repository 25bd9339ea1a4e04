"""The optimiser of all trainings: a small rate for the backbone, a larger one for what begins anew."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from numcolbert.train.recipe import OptimiserSettings


def make_optimiser(module: nn.Module, settings: OptimiserSettings, device: torch.device) -> torch.optim.AdamW:
    """AdamW on float32 parameters. Biases and normalisation weights are not decayed.

    What belongs to a backbone is known by its name. Its pooler, a sentence vector that none of our models has
    a use for, is frozen.
    """
    groups: dict[tuple[float, bool], list[nn.Parameter]] = {}
    for name, parameter in module.named_parameters():
        factor = _factor(name, settings)
        parameter.requires_grad_(parameter.requires_grad and factor > 0)
        if parameter.requires_grad:
            groups.setdefault((factor, parameter.ndim > 1), []).append(parameter)
    listed: list[dict[str, Any]] = [
        {
            "params": parameters,
            "lr": settings.lr * factor,
            "weight_decay": settings.weight_decay if matrix else 0.0,
        }
        for (factor, matrix), parameters in groups.items()
    ]
    for group in listed:
        group["highest_lr"] = group["lr"]
    return torch.optim.AdamW(listed, betas=(settings.beta1, settings.beta2), fused=device.type == "cuda")


def _factor(name: str, settings: OptimiserSettings) -> float:
    """What the learning rate is multiplied by for the parameter of this name."""
    if "pooler" in name:
        return 0.0
    if ".backbone." not in f".{name}":
        return settings.head_factor
    return settings.embedding_factor if "word_embeddings" in name else 1.0


def set_rates(optimiser: torch.optim.Optimizer, factor: float) -> None:
    """Set every learning rate to a share of its highest."""
    for group in optimiser.param_groups:
        group["lr"] = group["highest_lr"] * factor


def descend(optimiser: torch.optim.Optimizer, parameters: Iterable[nn.Parameter], clip: float) -> Tensor:
    """One step along the gradients, cut to the length `clip`; returns how long they were."""
    length = nn.utils.clip_grad_norm_(parameters, clip, foreach=True)
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)
    return length
