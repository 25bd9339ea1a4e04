"""Checkpoints to resume from: parameters and optimiser as safetensors, the rest as JSON."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from numcolbert.config import settings_from
from numcolbert.errors import InputError, UsageError
from numcolbert.files import replacing_folder, storage_errors

WEIGHTS, NOTES = "state.safetensors", "state.json"


@dataclass
class Position:
    """Where a run stands."""

    step: int = 0
    triples: int = 0
    seconds: float = 0.0


def save_state(
    folder: Path,
    module: nn.Module,
    optimiser: torch.optim.Optimizer,
    position: Position,
    recipe: dict[str, Any],
    processes: int = 1,
) -> None:
    tensors: dict[str, torch.Tensor] = {}
    for name, parameter in module.named_parameters():
        tensors[f"model/{name}"] = parameter.detach().contiguous()
        for key, value in optimiser.state.get(parameter, {}).items():
            tensors[f"optimiser/{key}/{name}"] = value.detach().contiguous()
    with replacing_folder(folder, overwrite=True) as aside:
        # Parameters that share memory (tied weights) are saved apart: safetensors wants it so.
        save_file({name: tensor.cpu().clone() for name, tensor in tensors.items()}, aside / WEIGHTS)
        notes = {"position": asdict(position), "recipe": recipe, "processes": processes}
        (aside / NOTES).write_text(json.dumps(notes, indent=1), encoding="utf-8")


def has_state(folder: Path) -> bool:
    return (folder / NOTES).is_file()


def forget_state(folder: Path) -> None:
    """Remove the checkpoint of a run that is replaced: a resumed run must not take it for its own."""
    if folder.is_dir():
        with storage_errors(folder):
            shutil.rmtree(folder)


def load_state(folder: Path, module: nn.Module, optimiser: torch.optim.Optimizer) -> Position:
    try:
        notes = json.loads((folder / NOTES).read_text(encoding="utf-8"))
        tensors = load_file(folder / WEIGHTS)
        position = settings_from(Position, notes["position"], f"'{folder / NOTES}'")
        own = {f"model/{name}" for name, _ in module.named_parameters()}
        if strange := sorted(name for name in tensors if name.startswith("model/") and name not in own):
            raise ValueError(f"there is no place for '{strange[0].removeprefix('model/')}'")
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                parameter.copy_(tensors[f"model/{name}"])
                for key in ("step", "exp_avg", "exp_avg_sq"):
                    saved = tensors.get(f"optimiser/{key}/{name}")
                    if saved is not None:
                        # A fused optimiser keeps its step counter on the device of the parameter.
                        optimiser.state[parameter][key] = saved.to(parameter.device)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError, UsageError) as error:
        why = error.message.rstrip(".") if isinstance(error, UsageError) else error
        raise InputError(
            f"The checkpoint '{folder}' does not fit this recipe or is damaged: {why}.",
            hint="start again with run.resume = false, or use the recipe the checkpoint was made with",
        ) from error
    return position
