"""Engines by name, each imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from numcolbert.config import settings_from
from numcolbert.errors import DamagedIndexError, UsageError
from numcolbert.index.base import Engine

if TYPE_CHECKING:
    from numcolbert.index.plaid_settings import PlaidSettings

ENGINES = {
    "flat": ("numcolbert.index.flat", "FlatEngine"),
    "plaid": ("numcolbert.index.plaid", "PlaidEngine"),
}
AUTO = "auto"
FLAT_UP_TO = 5_000
"""Documents that `auto` leaves to the exact engine: a query then takes a few tens of milliseconds at most."""


def engine_class(name: str) -> Any:
    module, attribute = ENGINES[name]
    return getattr(import_module(module), attribute)


def check_settings(name: str, settings: Mapping[str, Any]) -> None:
    """Refuse an engine or a setting that we do not know, before any work is done."""
    if name not in (AUTO, *ENGINES):
        raise UsageError(f"There is no engine '{name}'.", hint="choose one of " + ", ".join([AUTO, *ENGINES]))
    if name == "flat" and settings:
        raise UsageError(
            f"The engine 'flat' has no setting '{next(iter(settings))}'.", hint="leave it out, or use plaid"
        )
    if settings:
        _plaid_settings(settings)  # `auto` ignores them for a small collection


def _plaid_settings(settings: Mapping[str, Any]) -> PlaidSettings:
    from numcolbert.index.plaid_settings import PlaidSettings

    return settings_from(PlaidSettings, settings, "the settings of the engine 'plaid'")


def choose_engine(name: str, documents: int) -> str:
    """`auto` becomes flat for small collections and plaid for the others."""
    if name != AUTO:
        return name
    return "flat" if documents <= FLAT_UP_TO else "plaid"


def create_engine(
    name: str, folder: Path, dim: int, settings: Mapping[str, Any], spool: Engine | None = None
) -> Engine:
    """An empty engine; one that learns from vectors learns from those in `spool`, which it will hold."""
    kind = engine_class(name)
    if name == "flat":
        return cast(Engine, kind.create(folder, dim))
    from numcolbert.index.plaid_settings import sample_size  # compiled code, slow to load

    if spool is None or not spool.count:
        return cast(Engine, kind.create(folder, dim, _plaid_settings(settings)))
    vectors = int(spool.stats()["vectors"])
    wanted = _plaid_settings(settings)
    sample = sample_vectors(spool, sample_size(wanted, vectors), wanted.seed)
    return cast(Engine, kind.create(folder, dim, wanted, sample=sample, expected_vectors=vectors))


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
