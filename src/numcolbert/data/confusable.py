"""Which concepts are easily taken for one another: "trade deficit", "budget deficit".

Most hits with the wrong concept share a word with the right one. A concept that is a case of another
("same-store sales" of "sales") is none of these: what is said of it may well answer a question for the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

Phrases = frozenset[frozenset[str]]
"""The names of a concept, each as its words."""

_WORD = re.compile(r"[a-z0-9]{3,}")


def phrases_of(names: Iterable[str]) -> Phrases:
    """Short words say little; a name of such words alone ("R&D") is left out."""
    return frozenset(words for name in names if (words := frozenset(_WORD.findall(name.lower()))))


def are_confusable(one: Phrases, other: Phrases) -> bool:
    """Whether they share a word, and no name of one is part of a name of the other."""
    shared = any(not phrase.isdisjoint(name) for phrase in one for name in other)
    return shared and not any(phrase <= name or name <= phrase for phrase in one for name in other)
