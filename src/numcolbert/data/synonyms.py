"""Other words for a concept, made by exchanging words within its name: "loan growth", "lending increase".

Mined concepts have few names but their own, and a model that is always asked with the words of the passage
has no need to know others. Two sources say which words can be exchanged: the groups in `synonyms.toml`, and
the table of concepts, whose names stand within longer ones ("radio segment revenue", "radio segment sales").
Or a whole name by its initials.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random

from numcolbert.data.acronyms import acronym_of
from numcolbert.data.concept_table import CHANGES, plural, singular, table
from numcolbert.data.held_out import HeldOut

_LONGEST = 4
"""Words of the longest part that is looked up."""
_PLURAL_SHARE = 0.2
"""Of the initials of a plural, those that are written with an s."""


class Rewording:
    """Exchanges words in the names of concepts, but not those by which the names of a held-out pair differ:
    where "share repurchase" is unseen, no query teaches that "repurchase" is "buyback".
    """

    def __init__(self, held_out: HeldOut) -> None:
        self._held_out = held_out
        self._unseen_names: dict[str, list[list[str]]] = {}
        for name, dimension in sorted(held_out.pairs):
            # How a change is called, every training query teaches: only what changes counts.
            base, _ = _without_change(name)
            names = [f" {other.lower()} " for other in (base, *table().same.get(base, ()))]
            self._unseen_names.setdefault(dimension, []).append(names)
        self._made: dict[tuple[str, str], tuple[str, ...]] = {}

    def of(self, phrase: str, dimension: str) -> tuple[str, ...]:
        """The phrase with one part exchanged, in every way there is."""
        key = (phrase, dimension)
        if key not in self._made:
            made = dict.fromkeys(self._exchanged(phrase.split(), dimension))
            self._made[key] = tuple(other for other in made if not self._names_unseen(other, dimension))
        return self._made[key]

    def initials(
        self, name: str, dimension: str, rng: Random, *, plural_share: float = _PLURAL_SHARE
    ) -> str | None:
        """The name by its initials: "ROA", "NOI growth". None where it has none, or where they are another
        name of a held-out concept.
        """
        what, change = _without_change(name)
        made = acronym_of(what, rng)
        if made is None or self._tells_unseen(what, made, dimension):
            return None
        if change:
            return f"{made} {change}"
        return f"{made}s" if what.endswith("s") and rng.random() < plural_share else made

    def _exchanged(self, words: list[str], dimension: str) -> Iterator[str]:
        start = 0
        while start < len(words):
            for end in range(min(len(words), start + _LONGEST), start, -1):
                part = " ".join(words[start:end])
                if others := self._others(part, dimension):
                    for other in others:
                        yield " ".join((*words[:start], other, *words[end:]))
                    start = end  # "net interest income" is not "net interest" and "income"
                    break
            else:
                start += 1

    def _others(self, part: str, dimension: str) -> tuple[str, ...]:
        known = table().canonical(part.lower())
        if known and self._held_out.has_pair(known, dimension):
            return ()
        # "X growth" is exchanged part by part: with words before it, "growth in X" would not be a phrase.
        named = table().same.get(known or "")
        names = (known, *named) if known and named else _synonyms(part.lower())
        return tuple(
            name
            for name in names
            if name.lower() != part.lower() and not self._tells_unseen(part, name, dimension)
        )

    def _tells_unseen(self, part: str, other: str, dimension: str) -> bool:
        """Whether one name of a held-out concept has the part where another has what would replace it."""
        old, new = f" {part.lower()} ", f" {other.lower()} "
        return any(
            any(old in name and new not in name for name in names)
            and any(new in name and old not in name for name in names)
            for names in self._unseen_names.get(dimension, ())
        )

    def _names_unseen(self, phrase: str, dimension: str) -> bool:
        return self._held_out.has_pair(table().canonical(phrase.lower()) or phrase, dimension)


def _without_change(name: str) -> tuple[str, str]:
    """What changes, and "growth" or "decline"; the whole name and "" where nothing does."""
    what, _, change = name.rpartition(" ")
    return (what, change) if change in CHANGES else (name, "")


@cache
def _synonyms(part: str) -> tuple[str, ...]:
    """In the number of `part`."""
    if part in (groups := _groups()):
        return groups[part]
    one = " ".join((*part.split()[:-1], singular(part.split()[-1])))
    return tuple(_plural_of(other) for other in groups.get(one, ()))


def _plural_of(phrase: str) -> str:
    *before, last = phrase.split()
    return " ".join((*before, plural(last)))


@cache
def _groups() -> dict[str, tuple[str, ...]]:
    loaded = tomllib.loads((Path(__file__).parent / "synonyms.toml").read_text(encoding="utf-8"))
    lines = [line for text in loaded.values() for line in text.splitlines() if line]
    groups = [[word.strip() for word in line.split(",")] for line in lines]
    made: dict[str, dict[str, None]] = {}
    for group in groups:
        for word in group:
            made.setdefault(word.lower(), {}).update(dict.fromkeys(other for other in group if other != word))
    return {word: tuple(others) for word, others in made.items()}
