"""One process or several: with `accelerate launch` every GPU gets one, and gradients are averaged.

A single process pays nothing for it: accelerate is not even imported.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from numcolbert.errors import MissingDependencyError


@dataclass
class Processes:
    rank: int = 0
    count: int = 1
    device: torch.device | None = None
    accelerator: Any = None

    @classmethod
    def from_environment(cls, device: str) -> Processes:
        """What `accelerate launch` or `torchrun` set up, else a single process."""
        if int(os.environ.get("WORLD_SIZE", "1")) <= 1:
            return cls()
        try:
            from accelerate import Accelerator, DistributedDataParallelKwargs
        except ImportError as error:
            raise MissingDependencyError.for_extra(
                "accelerate", "train", "training on several GPUs"
            ) from error
        # Some losses leave parameters out (no detection loss: no gradient for the detector).
        options = DistributedDataParallelKwargs(find_unused_parameters=True)
        accelerator = Accelerator(cpu=device == "cpu", kwargs_handlers=[options])
        return cls(accelerator.process_index, accelerator.num_processes, accelerator.device, accelerator)

    @property
    def is_main(self) -> bool:
        return self.rank == 0

    def wrap(self, module: nn.Module) -> Any:
        """The module as the loop calls it; with several processes its backward averages gradients."""
        return module if self.accelerator is None else self.accelerator.prepare_model(module)

    def agree(self, ended: bool) -> bool:
        """Whether any process wants to end: all must leave the loop at the same step."""
        if self.accelerator is None:
            return ended
        flag = torch.tensor([int(ended)], device=self.accelerator.device)
        return bool(self.accelerator.reduce(flag, reduction="sum").item())

    def wait(self) -> None:
        if self.accelerator is not None:
            self.accelerator.wait_for_everyone()
