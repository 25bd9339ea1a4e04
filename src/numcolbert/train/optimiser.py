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
    groups: dict[tuple[bool, bool], list[nn.Parameter]] = {}
    for name, parameter in module.named_parameters():
        if "pooler" in name:
            parameter.requires_grad_(False)
        if parameter.requires_grad:
            pretrained, matrix = ".backbone." in f".{name}", parameter.ndim > 1
            groups.setdefault((pretrained, matrix), []).append(parameter)
    listed: list[dict[str, Any]] = [
        {
            "params": parameters,
            "lr": settings.lr if pretrained else settings.lr * settings.head_factor,
            "weight_decay": settings.weight_decay if matrix else 0.0,
        }
        for (pretrained, matrix), parameters in groups.items()
    ]
    for group in listed:
        group["highest_lr"] = group["lr"]
    return torch.optim.AdamW(listed, betas=(settings.beta1, settings.beta2), fused=device.type == "cuda")


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
