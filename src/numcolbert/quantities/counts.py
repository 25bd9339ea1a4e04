"""Finds the noun that a bare number counts: "1,200 patients", "seven European countries"."""

from __future__ import annotations

import re
from functools import cache

from numcolbert.quantities.words import (
    ADJECTIVES,
    IRREGULAR_PLURALS,
    MODIFIERS,
    NOT_COUNTED,
    NOT_PLURAL,
    NOT_TIED,
)

_NO_PLURAL_ENDS = ("ss", "us", "is")
_WORD = re.compile(r"[ \u00a0\u2009-]([A-Za-z][A-Za-z'’-]*)")
_CHEMICAL = re.compile(
    r"hydroxy|methyl|ethyl|oxo|deoxy|amino|adren|dihydro|fluoro|chloro|bromo|nitro|agonist"
)
MAX_WORDS = 4


@cache
def singular(word: str) -> str:
    """The lemma of a lower-case noun, by rule: 'countries' -> 'country'."""
    if word in IRREGULAR_PLURALS:
        return IRREGULAR_PLURALS[word]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 5 and word.endswith("oes"):
        return word[:-2]
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(_NO_PLURAL_ENDS) and word not in NOT_PLURAL and len(word) > 2:
        return word[:-1]
    return word


def is_plural(word: str) -> bool:
    return word in IRREGULAR_PLURALS or (
        len(word) > 3 and word.endswith("s") and not word.endswith(_NO_PLURAL_ENDS) and word not in NOT_PLURAL
    )


def _is_adjective(word: str) -> bool:
    return "-" in word or word in ADJECTIVES or word.endswith("ed")


def counted_noun(text: str, start: int, one: bool) -> tuple[str, int, int] | None:
    """(lemma, start, end) of the noun phrase after a number that ends at `start`.

    The first plural within four words is the head ("heart transplants"), as English marks number there;
    after "one" or "a" the word itself must do. A lower-case word that cannot stand inside a noun phrase
    ends the search.
    """
    position, begin = start, -1
    tied = text[start : start + 1] == "-"
    for _ in range(MAX_WORDS):
        match = _WORD.match(text, position)
        if match is None:
            return None
        word = match[1].rstrip("'’-")
        lower = word.lower().removesuffix("'s").removesuffix("’s")
        if lower in ("and", "or") and begin >= 0 and position > begin:  # "digital and physical sales"
            position = match.end()
            continue
        if lower in NOT_COUNTED or lower.endswith("ly"):
            return None
        if begin < 0:
            begin = match.start(1)
        end = match.start(1) + len(word)
        if tied:  # "six-cylinder engines" has six cylinders
            first = lower.split("-", 1)[0]
            if len(first) < 3 or first in NOT_COUNTED or first in NOT_TIED or _CHEMICAL.match(first):
                return None
            return singular(first), begin, begin + len(first)
        head = lower.rsplit("-", 1)[-1]
        if singular(head) in NOT_COUNTED:  # "three drop-outs" are no outs
            head = lower
        possessive = lower != word.lower()
        if one and not possessive and not _is_adjective(lower):
            return singular(head), begin, end
        if not possessive and (is_plural(head) or (begin == match.start(1) and head in MODIFIERS)):
            return singular(head), begin, end
        position = end
    return None
