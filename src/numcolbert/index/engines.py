"""Engines by name, each imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from numcolbert.config import settings_from
from numcolbert.errors import DamagedIndexError, MissingDependencyError, UsageError
from numcolbert.index.base import Engine

AUTO = "auto"
FLAT_UP_TO = 5_000
"""Documents that `auto` leaves to the exact engine: a query then takes a few tens of milliseconds at most."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Where an engine lives."""

    module: str
    engine: str
    settings: str | None = None
    """Its dataclass of settings, as `module:name`; None where there is nothing to set."""
    learns: bool = False
    """Whether it wants a sample of the vectors before it takes them in."""
    needs: tuple[str, str, str] | None = None
    """The module it stands on, the package that brings it, and our extra for that."""


_HERE = "numcolbert.index"
ENGINES = {
    "flat": Kind(f"{_HERE}.flat", "FlatEngine"),
    "plaid": Kind(f"{_HERE}.plaid", "PlaidEngine", f"{_HERE}.plaid_settings:PlaidSettings", learns=True),
    "qdrant": Kind(
        f"{_HERE}.qdrant",
        "QdrantEngine",
        f"{_HERE}.qdrant_server:QdrantSettings",
        needs=("qdrant_client", "qdrant-client", "qdrant"),
    ),
    "ray": Kind(
        f"{_HERE}.ray", "RayEngine", f"{_HERE}.ray:RaySettings", learns=True, needs=("ray", "ray", "ray")
    ),
    "fastplaid": Kind(
        f"{_HERE}.fastplaid",
        "FastPlaidEngine",
        f"{_HERE}.fastplaid:FastPlaidSettings",
        needs=("fast_plaid", "fast-plaid", "fastplaid"),
    ),
}


def engine_class(name: str) -> Any:
    """The class of an engine, whose package must be there."""
    _require_package(name)
    return getattr(import_module(ENGINES[name].module), ENGINES[name].engine)


def _require_package(name: str) -> None:
    needs = ENGINES[name].needs
    if needs is not None and find_spec(needs[0]) is None:
        raise MissingDependencyError.for_extra(needs[1], needs[2], f"The engine '{name}'")


def check_settings(name: str, settings: Mapping[str, Any]) -> None:
    """Refuse an engine or a setting that we do not know, before any work is done."""
    if name not in (AUTO, *ENGINES):
        raise UsageError(f"There is no engine '{name}'.", hint="choose one of " + ", ".join([AUTO, *ENGINES]))
    if name in ENGINES:
        _require_package(name)
    if name in ENGINES and ENGINES[name].settings is None and settings:
        raise UsageError(
            f"The engine '{name}' has no setting '{next(iter(settings))}'.",
            hint="leave it out, or use plaid",
        )
    if settings:
        _settings("plaid" if name == AUTO else name, settings)  # `auto` ignores them for a small collection


def _settings(name: str, settings: Mapping[str, Any]) -> Any:
    module, _, kind = (ENGINES[name].settings or "").partition(":")
    return settings_from(
        getattr(import_module(module), kind), settings, f"the settings of the engine '{name}'"
    )


def choose_engine(name: str, documents: int) -> str:
    """`auto` becomes flat for small collections and plaid for the others."""
    if name != AUTO:
        return name
    return "flat" if documents <= FLAT_UP_TO else "plaid"


def create_engine(
    name: str, folder: Path, dim: int, settings: Mapping[str, Any], spool: Engine | None = None
) -> Engine:
    """An empty engine; one that learns from vectors learns from those in `spool`, which it will hold."""
    engine = engine_class(name)
    if ENGINES[name].settings is None:
        return cast(Engine, engine.create(folder, dim))
    wanted = _settings(name, settings)
    if not ENGINES[name].learns or spool is None or not spool.count:
        return cast(Engine, engine.create(folder, dim, wanted))
    from numcolbert.index.plaid_settings import sample_size  # compiled code, slow to load

    vectors = int(spool.stats()["vectors"])
    sample = sample_vectors(spool, sample_size(wanted, vectors), wanted.seed)
    return cast(Engine, engine.create(folder, dim, wanted, sample=sample, expected_vectors=vectors))


def sample_vectors(engine: Engine, count: int, seed: int) -> NDArray[np.float32]:
    """About `count` vectors, of whole documents chosen at random: `[vectors, dim]`."""
    chosen: list[NDArray[np.float32]] = []
    taken = 0
    for key in np.random.default_rng(seed).permutation(engine.keys()).tolist():
        if taken >= count:
            break
        chosen.append(engine.vectors(key))
        taken += len(chosen[-1])
    return np.concatenate(chosen)


def open_engine(name: str, folder: Path) -> Engine:
    if name not in ENGINES:
        raise DamagedIndexError(
            f"The index needs the engine '{name}', which this version of numcolbert does not have.",
            hint="pip install --upgrade numcolbert",
        )
    return cast(Engine, engine_class(name).open(folder))
