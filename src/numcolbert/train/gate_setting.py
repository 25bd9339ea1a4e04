"""How much of what a trained gate says counts in the end.

A gate is trained on batches of a few hundred passages; a search in a large collection may want less of it.
Two settings take some back and change nothing else of the model.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from numcolbert.errors import UsageError
from numcolbert.model.checkpoint import find_gate

if TYPE_CHECKING:
    from sentence_transformers import MultiVectorEncoder


@dataclass(frozen=True)
class GateSetting:
    length: int = 0
    """|Q| in the gate's formula for queries of any length: no gate rises above it. 0 counts each query's."""
    strength: float = 1.0
    """Factor of what the gate's network says: far below |Q| a gate `g` becomes `g ** strength`, with 0 1."""

    def __str__(self) -> str:
        parts = [f"length {self.length}"] if self.length else []
        parts += [f"strength {self.strength:g}"] if self.strength != 1 else []
        return ", ".join(parts) or "as trained"

    def check(self) -> None:
        if self.length < 0 or self.length == 1:
            raise UsageError(
                f"The gate's length is {self.length}.",
                hint="it is 0, or 2 or more; 0 leaves the gate as it was trained",
            )
        if not 0 <= self.strength < float("inf"):
            raise UsageError(
                f"The gate's strength is {self.strength:g}.",
                hint="it is not negative; 1 leaves the gate as it was trained",
            )


AS_TRAINED = GateSetting()


def set_gate(model: MultiVectorEncoder, setting: GateSetting) -> None:
    """Change the model's gate, in place."""
    if setting == AS_TRAINED:
        return
    gate = find_gate(model)
    if gate is None:
        raise UsageError("The model has no gate to hold.", hint="leave out the gate's length and strength")
    setting.check()
    _change(gate, setting)


def with_setting(gate: Any, setting: GateSetting) -> Any:
    """The gate as `setting` makes it; the one that is given stays as it is."""
    if setting == AS_TRAINED:
        return gate
    changed = copy.deepcopy(gate)
    _change(changed, setting)
    return changed


def _change(gate: Any, setting: GateSetting) -> None:
    if setting.length:
        gate.query_length = setting.length
    # A network that says 0 is a gate of 1, whatever the query's length: scaling keeps that.
    with torch.no_grad():
        for parameter in gate.gate[-1].parameters():
            parameter.mul_(setting.strength)
