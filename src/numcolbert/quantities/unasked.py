"""Quantities of a query that set no threshold, although they have a unit."""

from __future__ import annotations

import re

from numcolbert.quantities.comparatives import COMPARATIVE
from numcolbert.types import Condition

_WINDOW = 64
HAVE = (
    r"(?:be(?:en|ing)?|ha(?:ve|s|ving)"
    r"|(?:weigh|cost|measur|last|contain|includ|tak|us|need|requir|equal|total)(?:e|ing)?)"
)
"""Verbs between a negation and what it negates: "does not weigh more than 5 kg"."""
# Adverbs and articles may follow a negation; "not only 5 kg" rules nothing out.
_SLIGHT = (
    r"(?:\s+(?!(?:only|merely|solely|simply)\b)"
    r"(?:an?|the|any|about|around|quite|equal|to|of|at|for|[a-z]+ly))*"
)
_WORDS = (
    rf"(?:not|never|neither|cannot|\w+n['’]t|(?:is|are|was|were|do|does|did)nt)(?:\s+{HAVE})?"
    r"|no\s+longer|without|other\s+than|rather\s+than|instead(?:\s+of)?|differ(?:s|ent|ing)?\s+(?:from|to|than)"
    r"|unequal\s+to|unlike|except(?:ing)?|exclud(?:e|es|ed|ing)|with\s+the\s+exception(?:\s+of)?"
    r"|(?:apart|aside)\s+from|(?:all|any|anything|everything)\s+but"
)
_RULED_OUT = re.compile(
    rf"(?:(?<![\w'’])(?:{_WORDS}){_SLIGHT}\s+|(?:!=+|≠|<>|=?/=){_SLIGHT}\s*)\+?$", re.IGNORECASE
)
_OUTSIDE = re.compile(r"\boutside(?:\s+of)?\s+(?:the\s+)?$", re.IGNORECASE)
_LISTED = re.compile(r"\s*(?:,|/|,?\s*\b(?:or|nor|and)\b)\s*(?:the\s+|an?\s+)?", re.IGNORECASE)
_MULTIPLE = re.compile(
    r"(?<!\w)(?:(?:twice|thrice|double|triple|quadruple)"
    r"|(?:twice|thrice|double|triple|half|times|\w+fold|\d+\s?x)\s+"
    rf"(?:as\s+[a-z]+(?:\s+[a-z]+)?\s+as|(?:{COMPARATIVE})\s+than|the\s+[a-z]+\s+of)"
    r")(?:\s+(?:an?|the|about|around))*\s+$",
    re.IGNORECASE,
)
_TEMPERATURE = re.compile(
    r"\b(?:(?:cold|warm|cool)(?:er|est)?|hot(?:ter|test)?|temperatures?|(?:freez|boil|melt)[a-z]+)\b",
    re.IGNORECASE,
)


def is_ruled_out(query: str, condition: Condition, floor: int) -> bool:
    """Whether the query asks for anything else: "other than 5 GB", "is not 5 GB", "≠ 5 GB"."""
    for end in (condition.span[0], condition.quantity.span[0]):
        start = max(floor, end - _WINDOW)
        if _RULED_OUT.search(query, start, end):
            return True
        if condition.operator == "range" and _OUTSIDE.search(query, start, end):
            return True
    return False


def goes_on(query: str, end: int, condition: Condition) -> bool:
    """Whether it continues the list that ended at `end`: 10 GB in "not 5 or 10 GB"."""
    start = condition.quantity.span[0]
    return condition.span[0] == start and _LISTED.fullmatch(query, end, start) is not None


def multiplied(query: str, condition: Condition) -> re.Match[str] | None:
    """The words that make a multiple of it: "twice as much as 5 kg"."""
    end = condition.quantity.span[0]
    return _MULTIPLE.search(query, max(0, end - _WINDOW), end)


def may_be_temperature(query: str, condition: Condition) -> bool:
    """Whether bare degrees may be no angle; of which scale they are, nothing tells."""
    quantity = condition.quantity
    if quantity.dimension != "angle":
        return False
    return quantity.base_value < 0 or _TEMPERATURE.search(query) is not None
