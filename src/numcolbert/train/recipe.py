"""Recipes: everything a training run depends on, in one TOML file that can extend another.

`docs/guides/training.md` explains every key; a test keeps the two together.
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from numcolbert.config import merged, read_toml, settings_from
from numcolbert.errors import NotFoundError, UsageError
from numcolbert.train.losses import LossSettings
from numcolbert.train.model_setup import ModelSettings
from numcolbert.train.packed import Precision
from numcolbert.train.sources import DataSettings

BUILT_IN = Path(__file__).parent / "recipes"


@dataclass(frozen=True)
class OptimiserSettings:
    batch: int = 256
    lr: float = 5e-5
    head_factor: float = 10.0
    embedding_factor: float = 1.0
    """How fast the vectors of words learn beside the rest of the backbone; 0 leaves them as they are."""
    weight_decay: float = 0.01
    beta1: float = 0.9
    beta2: float = 0.999
    warmup: float = 0.1
    decay: Literal["linear", "cosine", "constant"] = "linear"
    clip: float = 1.0


@dataclass(frozen=True)
class RunSettings:
    output: Path | None = None
    steps: int = 0
    time_budget_s: float = 0.0
    seed: int = 1
    device: str = "auto"
    precision: Precision = "auto"
    attention: Literal["auto", "short", "varlen", "bucketed"] = "auto"
    compile: Literal["auto", "on", "off"] = "auto"
    log_every: int = 50
    tensorboard: bool = False
    eval_every: int = 0
    evaluate_during: tuple[Path, ...] = ()
    evaluate_at_end: tuple[Path, ...] = ()
    depth: int = 100
    checkpoint_every: int = 0
    resume: bool = False
    save_fp16: bool = False
    start_share: float = 0.0
    gate_length: int = 0


@dataclass(frozen=True)
class Recipe:
    name: str = "recipe"
    model: ModelSettings = field(default_factory=ModelSettings)
    data: DataSettings = field(default_factory=DataSettings)
    loss: LossSettings = field(default_factory=LossSettings)
    optimiser: OptimiserSettings = field(default_factory=OptimiserSettings)
    run: RunSettings = field(default_factory=RunSettings)

    @property
    def output(self) -> Path:
        return self.run.output or Path("runs") / self.name

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as saved beside every run."""
        plain: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self), default=str))
        return plain


def built_in_recipes() -> list[str]:
    return sorted(path.stem for path in BUILT_IN.glob("*.toml"))


def find_recipe(name: str, beside: Path | None = None) -> Path:
    """The file of a recipe given as a path or as the name of a built-in one."""
    candidates = [Path(name), BUILT_IN / f"{name}.toml"]
    if beside is not None:
        candidates = [beside / name, beside / f"{name}.toml", *candidates]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise NotFoundError(
        f"There is no recipe '{name}'.",
        hint="give the path of a .toml file or one of: " + ", ".join(built_in_recipes()),
    )


def load_recipe(name: str, changes: Sequence[str] = ()) -> Recipe:
    """Read a recipe, what it extends, and `changes` of the form 'section.key=value'."""
    path = find_recipe(name)
    values = _with_parents(path, seen=())
    for change in changes:
        _apply(values, change)
    values.setdefault("name", path.stem)
    recipe = settings_from(Recipe, values, f"the recipe '{name}'")
    _check(recipe)
    return recipe


def _with_parents(path: Path, seen: tuple[Path, ...]) -> dict[str, Any]:
    path = path.resolve()
    if path in seen:
        raise UsageError(f"The recipe '{path}' extends itself.", hint="break the circle of 'extends' lines")
    values = read_toml(path)
    parent = values.pop("extends", None)
    if parent is None:
        return values
    base = _with_parents(find_recipe(str(parent), beside=path.parent), (*seen, path))
    base.pop("name", None)
    return merged(base, values)


def _apply(values: dict[str, Any], change: str) -> None:
    key, equals, text = change.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"'{change}' is not of the form section.key=value.", hint="e.g. --set run.steps=100")
    try:
        value: Any = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text  # bare words are strings: --set model.backbone=models/minilm
    *tables, last = key.strip().split(".")
    table = values
    for name in tables:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise UsageError(f"'{name}' in '{key}' is not a table.", hint="name it as section.key")
    table[last] = value


def _check(recipe: Recipe) -> None:
    """What the types cannot say."""
    data, run, optimiser = recipe.data, recipe.run, recipe.optimiser
    if not run.steps and not run.time_budget_s:
        raise UsageError(
            "The recipe never ends: both run.steps and run.time_budget_s are zero.",
            hint="set run.steps or run.time_budget_s",
        )
    if data.triples is not None and (data.pools or data.general):
        raise UsageError(
            "data.triples stands beside data.pools or data.general.", hint="use either the file or the pools"
        )
    if run.gate_length == 1:
        raise UsageError(
            "run.gate_length is 1.", hint="0 leaves the gate as it is trained, else it is 2 or more"
        )
    if run.gate_length and not recipe.model.gated:
        raise UsageError("run.gate_length holds a gate that the model does not have.", hint="leave it out")
    for name, value, low, high in [
        ("optimiser.warmup", optimiser.warmup, 0.0, 1.0),
        ("model.gate.threshold", recipe.model.gate.threshold, 0.0, 1.0),
        ("run.start_share", run.start_share, 0.0, 1.0),
        ("model.dropout", recipe.model.dropout, 0.0, 1.0),
    ]:
        if not low <= value <= high:
            raise UsageError(
                f"{name} is {value}.", hint=f"it is a share and lies between {low:g} and {high:g}"
            )
    for name, number in [
        ("optimiser.batch", optimiser.batch),
        ("optimiser.lr", optimiser.lr),
        ("optimiser.clip", optimiser.clip),
        ("loss.retrieval_temperature", recipe.loss.retrieval_temperature),
        ("loss.contrastive_temperature", recipe.loss.contrastive_temperature),
        ("data.token_multiple", data.token_multiple),
        ("data.prefetch", data.prefetch),
        ("model.encoder.dim", recipe.model.encoder.dim),
        ("run.log_every", run.log_every),
        ("run.depth", run.depth),
    ]:
        if number <= 0:
            raise UsageError(f"{name} is {number}.", hint="it must be positive")
    for name, number in [
        ("optimiser.head_factor", optimiser.head_factor),
        ("optimiser.embedding_factor", optimiser.embedding_factor),
        ("optimiser.weight_decay", optimiser.weight_decay),
        ("data.workers", data.workers),
        ("run.seed", run.seed),
        ("run.steps", run.steps),
        ("run.time_budget_s", run.time_budget_s),
        ("run.eval_every", run.eval_every),
        ("run.checkpoint_every", run.checkpoint_every),
        ("run.gate_length", run.gate_length),
    ]:
        if number < 0:
            raise UsageError(f"{name} is {number}.", hint="it must not be negative")
    for name, number in [("optimiser.beta1", optimiser.beta1), ("optimiser.beta2", optimiser.beta2)]:
        if not 0 <= number < 1:
            raise UsageError(f"{name} is {number}.", hint="it lies between 0 and 1, below 1")
