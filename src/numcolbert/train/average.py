"""Averages a trained encoder with the one it started from, and takes back some of its gate.

    python -m numcolbert.train.average RUN --share 0.2 --gate-strength 0.8 -o MODEL

takes the folder that `numcolbert train` leaves behind and builds the start anew from its recipe. What
training changes most is often what it learns by heart; a share of the start's weights takes some of that
back. A gate may rise to the length of the query, more than a search in a large collection wants: see
`numcolbert.train.gate_setting`. `python -m numcolbert.train.choose` finds both on development queries;
`run.start_share`, `run.gate_length` and `run.gate_strength` then do the same at the end of a training.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from numcolbert.config import read_json, settings_from
from numcolbert.errors import ModelError, UsageError
from numcolbert.model.checkpoint import load_checkpoint, save_checkpoint
from numcolbert.program import parser_of, program
from numcolbert.train.gate_setting import AS_TRAINED, GateSetting, set_gate
from numcolbert.train.model_setup import ModelSettings, open_start

if TYPE_CHECKING:
    from sentence_transformers import MultiVectorEncoder


def start_weights(start: MultiVectorEncoder) -> dict[str, Tensor]:
    """A copy of all floating-point weights of what a training starts from. A gate that it is only given then
    is no part of it: that one starts from nothing.
    """
    return {
        name: tensor.detach().clone().cpu()
        for name, tensor in start.state_dict().items()
        if tensor.is_floating_point()
    }


def check_share(share: float) -> None:
    if not 0 <= share <= 1:
        raise UsageError(f"The start's share is {share}.", hint="it lies between 0 and 1")


def average(model: MultiVectorEncoder, start: Mapping[str, Tensor], share: float) -> None:
    """Put `share` of the weights `start` (from `start_weights`) into `model`, in place."""
    check_share(share)
    own = model.state_dict()
    if other := sorted(name for name in start if name not in own or own[name].shape != start[name].shape):
        raise ModelError(
            f"The model and its start differ in more than their weights: {other[0]}.",
            hint="average a model with the very checkpoint it was trained from",
        )
    with torch.no_grad():
        for name, before in start.items():
            own[name].lerp_(before.to(own[name]), share)


def start_of(run: Path) -> dict[str, Tensor]:
    """The weights that a finished training started from, built anew from its recipe."""
    file = run / "recipe.json"
    made_with = read_json(file, "recipe", hint="name the folder of a finished training")
    settings = settings_from(ModelSettings, made_with.get("model", {}), f"'{file}'")
    return start_weights(open_start(settings))


def averaged_run(run: Path, share: float, gate: GateSetting = AS_TRAINED) -> MultiVectorEncoder:
    """The model of a finished training, with `share` of the weights it started from and such a gate."""
    start, model = start_of(run), load_checkpoint(run / "model")
    average(model, start, share)
    set_gate(model, gate)
    return model


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__, "numcolbert.train.average")
    parser.add_argument("run", type=Path, help="folder of a finished training")
    parser.add_argument("--share", type=float, required=True, help="of the start's weights, from 0 to 1")
    parser.add_argument("--gate-length", type=int, default=0, help="|Q| in the gate's formula")
    parser.add_argument("--gate-strength", type=float, default=1.0, help="factor of what its network says")
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--overwrite", action="store_true")
    chosen = parser.parse_args(arguments)
    model = averaged_run(chosen.run, chosen.share, GateSetting(chosen.gate_length, chosen.gate_strength))
    save_checkpoint(model, chosen.out, overwrite=chosen.overwrite)
    return 0


if __name__ == "__main__":
    sys.exit(main())
