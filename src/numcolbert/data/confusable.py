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
        self._places = {subject: place for place, subject in enumerate(subjects)}
        self._with_word: dict[tuple[Hashable, str], list[Subject]] = {}
        for subject, (dimension, phrases) in subjects.items():
            for word in frozenset[str]().union(*phrases):
                self._with_word.setdefault((dimension, word), []).append(subject)
        self._found: dict[Subject, list[Subject]] = {}

    def of(self, subject: Subject) -> list[Subject]:
        if subject not in self._found:
            dimension, phrases = self._subjects[subject]
            words = frozenset[str]().union(*phrases)
            near = {other for word in words for other in self._with_word[dimension, word]}
            confusable = [other for other in near if are_confusable(phrases, self._subjects[other][1])]
            # In the order of the subjects: what is drawn of them must be the same on every machine.
            self._found[subject] = sorted(confusable, key=self._places.__getitem__)
        return self._found[subject]
