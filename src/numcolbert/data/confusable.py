"""Which concepts are easily taken for one another: "trade deficit", "budget deficit".

Most hits with the wrong concept share a word with the right one. A concept that is a case of another
("same-store sales" of "sales") is none of these: what is said of it may well answer a question for the other.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, TypeVar

Phrases = frozenset[frozenset[str]]
"""The names of a concept, each as its words."""

Subject = TypeVar("Subject", bound=Hashable)

_WORD = re.compile(r"[a-z0-9]{3,}")


def phrases_of(names: Iterable[str]) -> Phrases:
    """Short words say little; a name of such words alone ("R&D") is left out."""
    return frozenset(words for name in names if (words := frozenset(_WORD.findall(name.lower()))))


def are_confusable(one: Phrases, other: Phrases) -> bool:
    """Whether they share a word, and no name of one is part of a name of the other."""
    shared = any(not phrase.isdisjoint(name) for phrase in one for name in other)
    return shared and not any(phrase <= name or name <= phrase for phrase in one for name in other)


class Neighbours(Generic[Subject]):
    """What each subject is easily taken for, among those of its dimension; found when first asked for."""

    def __init__(self, subjects: Mapping[Subject, tuple[Hashable, Phrases]]) -> None:
        """Args:
        subjects: The dimension and the names of each.
        """
        self._subjects = subjects
        self._found: dict[Subject, list[Subject]] = {}

    def of(self, subject: Subject) -> list[Subject]:
        if subject not in self._found:
            dimension, phrases = self._subjects[subject]
            self._found[subject] = [
                other
                for other, (its_dimension, its_phrases) in self._subjects.items()
                if its_dimension == dimension and are_confusable(phrases, its_phrases)
            ]
        return self._found[subject]
