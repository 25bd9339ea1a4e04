"""Engines by name, each imported only when it is asked for."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from numcolbert.errors import DamagedIndexError, UsageError
from numcolbert.index.base import Engine

ENGINES = {
    "flat": ("numcolbert.index.flat", "FlatEngine"),
    "plaid": ("numcolbert.index.plaid", "PlaidEngine"),
}
AUTO = "auto"
FLAT_UP_TO = 5_000
"""Documents that `auto` leaves to the exact engine: a query then takes a few tens of milliseconds at most."""


def engine_class(name: str) -> Any:
    try:
        module, attribute = ENGINES[name]
    except KeyError:
        raise UsageError(
            f"There is no engine '{name}'.", hint="choose one of " + ", ".join([AUTO, *ENGINES])
        ) from None
    return getattr(import_module(module), attribute)


def check_settings(name: str, settings: Mapping[str, Any]) -> None:
    """Refuse a setting that the engine does not know, before any work is done."""
    if name == AUTO:
        name = "plaid"  # what flat does not know is meant for the engine that a larger collection gets
    known = [p for p in inspect.signature(engine_class(name).create).parameters if p not in ("folder", "dim")]
    for setting in settings:
        if setting not in known:
            raise UsageError(
                f"The engine '{name}' has no setting '{setting}'.",
                hint="it knows " + ", ".join(known) if known else f"'{name}' has no settings",
            )


def choose_engine(name: str, documents: int) -> str:
    """`auto` becomes flat for small collections and plaid for the others."""
    if name != AUTO:
        return name
    return "flat" if documents <= FLAT_UP_TO else "plaid"


def create_engine(
    name: str, folder: Path, dim: int, settings: Mapping[str, Any], spool: Engine | None
) -> Engine:
    """An empty engine; one that learns from vectors first learns from those in `spool`."""
    kind = engine_class(name)
    if name == "flat" or spool is None:
        return cast(Engine, kind.create(folder, dim, **settings))
    raise NotImplementedError


def open_engine(name: str, folder: Path) -> Engine:
    if name not in ENGINES:
        raise DamagedIndexError(
            f"The index needs the engine '{name}', which this version of numcolbert does not have.",
            hint="pip install --upgrade numcolbert",
        )
    return cast(Engine, engine_class(name).open(folder))
