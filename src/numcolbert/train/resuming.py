"""Whether a training may go on from a checkpoint that was made with other settings.

What decides which triples come next and what is learned from them has to be the same: the model would be
half of one recipe and half of another, and its recipe would tell of the last half only. How long, where and
how fast it goes on, and what is measured or done at the end, may change.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from numcolbert.config import differing, merged, read_json, value_at
from numcolbert.errors import InputError, UsageError
from numcolbert.train.recipe import Recipe
from numcolbert.train.state import NOTES

log = logging.getLogger(__name__)

_REFUSED = ("run.seed", "optimiser.batch")
_FREE = ("name", "run.", "data.prefetch", "data.token_multiple")
_WARNED = ("optimiser.", "data.workers", "data.tape")
"""What works on from here, so that a loss that ran away or a smaller machine need not cost the training; but
not as the run would have gone on. Batches are dealt to workers in turn, and each draws triples of its own:
with more or fewer workers some triples come twice and others never."""
_FILES = (
    *("model.backbone", "model.start_from", "model.teacher"),
    *("data.pools", "data.held_out", "data.general", "data.triples"),
)
_SHOWN = 4

Settings = dict[str, Any]
Fate = Literal["free", "warned", "refused"]


def check_resumed(folder: Path, recipe: Recipe, processes: int) -> None:
    """Refuse the checkpoint in `folder` for another recipe, and warn where it can go on, but otherwise.

    Args:
        processes: How many train together; each brings a batch to every step.
    """
    hint = "start again with run.resume = false"
    notes = read_json(folder / NOTES, "checkpoint", hint=hint)
    if not isinstance(notes.get("recipe"), dict):
        raise InputError(f"'{folder / NOTES}' does not say what the checkpoint was made with.", hint=hint)
    # What an older checkpoint does not name came later, with a default that changes nothing.
    then, now = merged(Recipe().as_dict(), notes["recipe"]), recipe.as_dict()
    changes: dict[str, Fate] = {name: _fate(name, then, now) for name in sorted(differing(then, now))}
    if refused := [name for name, fate in changes.items() if fate == "refused"]:
        raise UsageError(
            f"The checkpoint '{folder}' was made with other settings: {_shown(refused, then, now)}.",
            hint="set them as they were, or train anew: choose another run.output, or drop run.resume and "
            "pass --overwrite",
        )
    warned = [name for name, fate in changes.items() if fate == "warned"]
    said = [_shown(warned, then, now)] if warned else []
    if notes.get("processes", processes) != processes:
        said.append(f"processes (was {notes['processes']}, is {processes})")
    if said:
        log.warning("this goes on, but not as the run would have, with other %s", ", ".join(said))


def _fate(name: str, then: Settings, now: Settings) -> Fate:
    one, other = value_at(then, name), value_at(now, name)
    if name in _REFUSED:
        return "refused"
    if name.startswith(_FREE):
        return "free"
    if name in (*_FILES, "data.tape") and _places(one) == _places(other):
        return "free"
    if name in _FILES:  # called the same, they were taken to another folder or machine
        return "warned" if _names(one) == _names(other) else "refused"
    if name == "data.workers":
        taped = value_at(then, "data.tape") and value_at(now, "data.tape")
        # Without workers the training draws what one would.
        return "free" if taped or (one or 1) == (other or 1) else "warned"
    return "warned" if name.startswith(_WARNED) else "refused"


def _places(files: Any) -> list[str]:
    return [os.path.realpath(file) for file in _listed(files)]


def _names(files: Any) -> list[str]:
    return [Path(file).name for file in _listed(files)]


def _listed(files: Any) -> list[str]:
    return files if isinstance(files, list) else [files] if files else []


def _shown(names: Sequence[str], then: Settings, now: Settings) -> str:
    listed = [f"{name} (was {value_at(then, name)}, is {value_at(now, name)})" for name in names]
    more = [f"{len(listed) - _SHOWN} more"] if len(listed) > _SHOWN else []
    return ", ".join(listed[:_SHOWN] + more)
