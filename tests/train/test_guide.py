"""The guide names every key and every recipe, and nothing that is not there."""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Iterator
from pathlib import Path

from numcolbert.train.recipe import Recipe, built_in_recipes

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "training.md").read_text(encoding="utf-8")


def keys(kind: type, prefix: str = "") -> Iterator[str]:
    for name, hint in typing.get_type_hints(kind).items():
        if dataclasses.is_dataclass(hint):
            yield from keys(typing.cast(type, hint), f"{prefix}{name}.")
        else:
            yield prefix + name


def test_every_key_is_documented_and_every_documented_key_exists() -> None:
    table = GUIDE.split("## Every key")[1].split("## Why")[0]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    documented = {key for line in rows for key in re.findall(r"`([\w.]+)`", line.split("|")[1])}
    assert documented == set(keys(Recipe))


def test_every_recipe_is_documented() -> None:
    table = GUIDE.split("## Recipes")[1].split("## Every key")[0]
    named = set(re.findall(r"`([\w-]+)`", table))
    short = {f"positives{name}" for name in named if name.startswith("-")}
    assert set(built_in_recipes()) <= named | short
