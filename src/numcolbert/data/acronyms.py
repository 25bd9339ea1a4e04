"""Names by their initials: "return on assets" as "ROA", "net operating income growth" as "NOI growth".

People abbreviate whatever they write often, and a corpus explains only some of it. Most of these are
invented: what they teach is that initials stand for words.
"""

from __future__ import annotations

import re
from random import Random

from numcolbert.data.words import word_list

SHORTEST, LONGEST = 3, 5
"""Letters: two of them stand for anything."""
_SMALL = frozenset(
    ("a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "or", "per", "the", "to", "with")
)
_WORD = re.compile(r"[a-z]+")
_PLURAL_SHARE = 0.2


def acronym_of(name: str, rng: Random) -> str | None:
    """None where there is nothing to abbreviate, or something that has no initial, as a number."""
    words = name.lower().replace("-", " ").split()
    if not all(map(_WORD.fullmatch, words)):
        return None
    changes = word_list("rise_nouns") | word_list("fall_nouns")
    rest = words.pop() if words[-1] in changes else ""  # people write "NOI growth"
    full, short = _initials(words), _initials([word for word in words if word not in _SMALL])
    # "return on assets" is ROA, "allowance for credit losses" ACL: both happen.
    initials = rng.choice((full, short))
    if not SHORTEST <= len(initials) <= LONGEST:
        return None
    if rest:
        return f"{initials} {rest}"
    return f"{initials}s" if words[-1].endswith("s") and rng.random() < _PLURAL_SHARE else initials


def _initials(words: list[str]) -> str:
    return "".join(word[0] for word in words).upper()
