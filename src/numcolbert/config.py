"""Settings from TOML or JSON into dataclasses, strictly: an unknown key names the nearest right one."""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import tomllib
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from numcolbert.errors import InputError, UsageError
from numcolbert.files import require_file

Settings = TypeVar("Settings")

UTF8 = "utf-8-sig"
"""UTF-8, with or without the mark that Windows puts before a text."""


def read_toml(path: Path) -> dict[str, Any]:
    require_file(path, "settings file")
    try:
        return tomllib.loads(path.read_text(encoding=UTF8))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"'{path}' is not valid TOML: {error}.", hint="mend the line it names") from error


def read_json(path: Path, what: str, *, hint: str) -> dict[str, Any]:
    """One JSON object."""
    require_file(path, what)
    try:
        values = json.loads(path.read_text(encoding=UTF8))
    except (ValueError, RecursionError) as error:
        raise InputError(f"'{path}' is not valid JSON: {error}.", hint=hint) from error
    if not isinstance(values, dict):
        raise InputError(f"'{path}' must hold one JSON object.", hint=hint)
    return values


def settings_from(kind: type[Settings], values: Mapping[str, Any], where: str) -> Settings:
    """Build the dataclass `kind` (nested dataclasses become tables) and refuse what it does not know."""
    if not isinstance(values, Mapping):
        raise UsageError(f"{where} must be a table.", hint="write it as keys with values")
    hints = typing.get_type_hints(kind)
    fields = {f.name: f for f in dataclasses.fields(kind) if f.init}  # type: ignore[arg-type]
    arguments: dict[str, Any] = {}
    for key, value in values.items():
        if key not in fields:
            nearest = difflib.get_close_matches(key, fields, n=1)
            hint = f"did you mean '{nearest[0]}'?" if nearest else "known keys: " + ", ".join(fields)
            raise UsageError(f"Unknown key '{key}' in {where}.", hint=hint)
        arguments[key] = _convert(hints[key], value, f"{where}, key '{key}'")
    missing = [
        name
        for name, f in fields.items()
        if name not in arguments
        and f.default is dataclasses.MISSING
        and f.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise UsageError(f"{where} lacks the key '{missing[0]}'.", hint=f"add a line '{missing[0]} = ...'")
    return kind(**arguments)


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Plain settings, each from `over` where it has it, else from `base`."""
    both = dict(base)
    for key, value in over.items():
        below = both.get(key)
        both[key] = (
            merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
        )
    return both


def differing(one: Any, other: Any, name: str = "") -> Iterator[str]:
    """The names, with the tables they lie in, of all values in which two sets of plain settings differ."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in one.keys() | other.keys():
            yield from differing(one.get(key), other.get(key), f"{name}.{key}" if name else key)
    elif one != other:
        yield name


def value_at(values: Any, name: str) -> Any:
    """The value of 'section.key' in plain settings; None where there is none."""
    for key in name.split("."):
        values = values.get(key) if isinstance(values, Mapping) else None
    return values


def _convert(hint: Any, value: Any, where: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(value, Mapping):
            raise UsageError(f"{where} must be a table.", hint="write it as [section] with keys below")
        return settings_from(hint, value, where)
    if origin in (typing.Union, types.UnionType):
        return (
            None
            if value is None
            else _convert(next(a for a in arguments if a is not type(None)), value, where)
        )
    if origin is typing.Literal:
        if value not in arguments:
            choices = ", ".join(map(repr, arguments))
            raise UsageError(f"{where} is {value!r}.", hint=f"choose one of {choices}")
        return value
    if origin in (list, tuple):
        if not isinstance(value, list | tuple):
            raise UsageError(f"{where} must be a list.", hint="write it as [a, b]")
        items = [_convert(arguments[0], item, where) for item in value] if arguments else list(value)
        return tuple(items) if origin is tuple else items
    if origin is dict:
        if not isinstance(value, Mapping):
            raise UsageError(f"{where} must be a table.", hint="write it as {name = value}")
        return {key: _convert(arguments[1], item, f"{where}, key '{key}'") for key, item in value.items()}
    if hint is Any:
        return value
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        # TOML has nan, which passes every comparison with a bound, and inf.
        if not math.isfinite(value):
            raise UsageError(f"{where} is {value}.", hint="give a finite number")
        return float(value)
    if hint is Path and isinstance(value, str):
        return Path(value)
    if isinstance(hint, type) and (not isinstance(value, hint) or (hint is int and isinstance(value, bool))):
        raise UsageError(f"{where} is {value!r}.", hint=f"it must be of type {hint.__name__}")
    return value
