"""The word lists of `words.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path


@cache
def _lists() -> dict[str, frozenset[str]]:
    loaded = tomllib.loads((Path(__file__).parent / "words.toml").read_text(encoding="utf-8"))
    return {name: frozenset(text.split()) for name, text in loaded.items()}


def word_list(name: str) -> frozenset[str]:
    return _lists()[name]
