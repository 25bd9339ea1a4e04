"""Recipes: everything a training run depends on, in one TOML file that can extend another.

`docs/guides/training.md` explains every key; a test keeps the two together.
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal

from numcolbert.config import merged, read_toml, settings_from
from numcolbert.errors import NotFoundError, UsageError
from numcolbert.train.gate_setting import GateSetting
from numcolbert.train.losses import LOSSES, LossSettings
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
    gate_strength: float = 1.0

    @property
    def gate(self) -> GateSetting:
        """The gate of the model that is saved."""
        return GateSetting(self.gate_length, self.gate_strength)


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
    key, equals, text = (part.strip() for part in change.partition("="))
    if not equals or not key:
        raise UsageError(f"'{change}' is not of the form section.key=value.", hint="e.g. --set run.steps=100")
    try:
        value: Any = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text  # bare words are strings: --set model.backbone=models/minilm
    *tables, last = key.split(".")
    table = values
    for name in tables:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise UsageError(f"'{name}' in '{key}' is not a table.", hint="name it as section.key")
    table[last] = value


_WEIGHTS = tuple(f"loss.{name}" for name in LOSSES)
_SEEDS = ("run.seed", "model.encoder.seed", "model.gate.seed")
_RULES: tuple[tuple[tuple[str, ...], Callable[[Any], bool], str], ...] = (
    (
        ("optimiser.warmup", "model.gate.threshold", "run.start_share"),
        lambda value: 0 <= value <= 1,
        "it is a share and lies between 0 and 1",
    ),
    (
        ("optimiser.beta1", "optimiser.beta2", "model.dropout"),
        lambda value: 0 <= value < 1,
        "it lies between 0 and 1, below 1",
    ),
    (
        (
            *("optimiser.batch", "optimiser.lr", "optimiser.clip"),
            *("loss.retrieval_temperature", "loss.contrastive_temperature", "loss.keep_temperature"),
            *("data.token_multiple", "data.prefetch", "data.quantities"),
            *("model.encoder.dim", "model.gate.hidden_dim", "run.log_every", "run.depth"),
        ),
        lambda value: value > 0,
        "it must be positive",
    ),
    (
        (
            *(*_WEIGHTS, "loss.answers", "loss.detection_positive_weight"),
            *("optimiser.head_factor", "optimiser.embedding_factor", "optimiser.weight_decay"),
            *("data.workers", "run.steps", "run.time_budget_s", "run.eval_every", "run.checkpoint_every"),
            *("run.gate_length", "run.gate_strength", *_SEEDS),
        ),
        lambda value: value >= 0,
        "it must not be negative",
    ),
    (_SEEDS, lambda value: value < 2**63, "a seed is below 2**63"),
    (
        ("model.encoder.query_length", "model.encoder.document_length"),
        lambda value: value >= 4,
        "it is 4 or more: a text is a word at least, two special tokens and the marker",
    ),
    (
        ("model.gate.query_length",),
        lambda value: value is None or value >= 2,
        "leave it out to count the vectors of each query, else it is 2 or more",
    ),
    (
        ("run.gate_length",),
        lambda value: value != 1,
        "0 leaves the gate as it is trained, else it is 2 or more",
    ),
)
"""Keys, what their values satisfy one by one, and the hint where they do not."""


def _check(recipe: Recipe) -> None:
    """What the types cannot say."""
    for names, holds, hint in _RULES:
        for name in names:
            value = attrgetter(name)(recipe)
            if not holds(value):
                raise UsageError(f"{name} is {value}.", hint=hint)
    data, run, model = recipe.data, recipe.run, recipe.model
    if not recipe.name.strip():
        raise UsageError("The name of the recipe is empty.", hint="leave it out, or name the run's folder")
    if not run.steps and not run.time_budget_s:
        raise UsageError(
            "The recipe never ends: both run.steps and run.time_budget_s are zero.",
            hint="set run.steps or run.time_budget_s",
        )
    if data.triples is not None and (data.pools or data.general):
        raise UsageError(
            "data.triples stands beside data.pools or data.general.", hint="use either the file or the pools"
        )
    if not any(attrgetter(name)(recipe) for name in _WEIGHTS):
        raise UsageError(
            "The recipe learns nothing: the weights of all losses are zero.",
            hint="give one a weight, such as loss.retrieval=1",
        )
    if model.teacher and not recipe.loss.keep:
        raise UsageError(
            f"model.teacher is '{model.teacher}', but loss.keep is zero, and nothing else asks a teacher.",
            hint="set loss.keep, or leave model.teacher out; loss.keep_numbers holds what the start ranks",
        )
    if not recipe.loss.answers and not recipe.loss.keep:
        raise UsageError(
            "loss.answers and loss.keep are both zero: nothing would learn from general questions.",
            hint="set loss.keep, or leave loss.answers out",
        )
    if model.dropout and run.seed >= 2**43:  # every step has a seed of its own, made from this one
        raise UsageError(f"run.seed is {run.seed}, too large beside dropout.", hint="choose one below 2**43")
    for name, value in (("gate_length", run.gate_length), ("gate_strength", run.gate_strength - 1)):
        if value and not model.gated:
            raise UsageError(f"run.{name} changes a gate that the model does not have.", hint="leave it out")
