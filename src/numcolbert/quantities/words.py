"""The word lists of `words.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path

_LISTS = tomllib.loads((Path(__file__).parent / "words.toml").read_text(encoding="utf-8"))

NOT_COUNTED = frozenset(_LISTS["not_counted"].split())
NOT_PLURAL = frozenset(_LISTS["not_plural"].split())
ADJECTIVES = frozenset(_LISTS["adjectives"].split())
MODIFIERS = frozenset(_LISTS["modifiers"].split())
WORDS_TOO = frozenset(_LISTS["words_too"].split())
TABLE_HEADINGS = frozenset(_LISTS["table_headings"].split())
IN_MILLIONS = frozenset(_LISTS["in_millions"].split())
NOT_TIED = frozenset(_LISTS["not_tied"].split())
RATE_MODIFIERS = frozenset(_LISTS["rate_modifiers"].split())
RATE_NOUNS = frozenset(_LISTS["rate_nouns"].split())
LABELS = frozenset(_LISTS["labels"].split())
NAMES = frozenset(_LISTS["names"].split())
DOWNWARD = frozenset(_LISTS["downward"].split())
DOWNWARD_AFTER_MORE = frozenset(_LISTS["downward_after_more"].split())
SPEED = frozenset(_LISTS["speed"].split())
VERBS = frozenset(_LISTS["verbs"].split())
SAME_COUNT: dict[str, str] = _LISTS["same_count"]
IRREGULAR_PLURALS: dict[str, str] = _LISTS["irregular_plurals"]
