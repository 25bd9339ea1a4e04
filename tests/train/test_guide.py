"""The guide names every key and every recipe, and nothing that is not there."""

from __future__ import annotations

import dataclasses
import json
import re
import typing
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

from numcolbert.train.recipe import Recipe, built_in_recipes, load_recipe

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "training.md").read_text(encoding="utf-8")


def keys(kind: type, prefix: str = "") -> Iterator[str]:
    for name, hint in typing.get_type_hints(kind).items():
        if dataclasses.is_dataclass(hint):
            yield from keys(typing.cast(type, hint), f"{prefix}{name}.")
        else:
            yield prefix + name


def documented() -> Iterator[tuple[str, str]]:
    """Each key with its default, as the guide writes it."""
    table = GUIDE.split("## Every key")[1].split("## Why")[0]
    for line in table.splitlines():
        if line.startswith("| `"):
            _, names, default, *_ = line.split("|")
            yield from ((key, default.strip()) for key in re.findall(r"`([\w.]+)`", names))


def test_every_key_is_documented_and_every_documented_key_exists() -> None:
    assert {key for key, _ in documented()} == set(keys(Recipe))


def test_numbers_are_those_of_the_default_recipe() -> None:
    recipe = load_recipe("default")
    compared = 0
    for key, default in documented():
        value = attrgetter(key)(recipe)
        if isinstance(value, bool | int | float) and re.fullmatch(r"[\d,.e_-]+|true|false", default):
            assert json.loads(default.replace(",", "")) == value, key
            compared += 1
    assert compared > 50


def test_every_recipe_is_documented() -> None:
    table = GUIDE.split("## Recipes")[1].split("## Every key")[0]
    named = set(re.findall(r"`([\w-]+)`", table))
    short = {f"positives{name}" for name in named if name.startswith("-")}
    assert set(built_in_recipes()) <= named | short
