"""Names by their initials: "return on assets" as "ROA".

People abbreviate whatever they write often, and a corpus explains only some of it. Most of these are
invented: what they teach is that initials stand for words.
"""

from __future__ import annotations

import re
from random import Random

from numcolbert.data.words import word_list

SHORTEST_ACRONYM = 3
"""Letters. Of two nobody could tell what they stand for."""
_LONGEST = 5
_WORD = re.compile(r"[a-z]+")


def acronym_of(name: str, rng: Random) -> str | None:
    """None where there is nothing to abbreviate, or something that has no initial, as a number."""
    words = name.lower().replace("-", " ").split()
    if not all(map(_WORD.fullmatch, words)):
        return None
    # "return on assets" is ROA, "allowance for credit losses" ACL: both happen.
    chosen = rng.choice((words, [word for word in words if word not in word_list("no_content")]))
    initials = "".join(word[0] for word in chosen).upper()
    return initials if SHORTEST_ACRONYM <= len(initials) <= _LONGEST else None
