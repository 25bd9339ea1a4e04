"""The direction of comparatives: "heavier than" asks for more, "cheaper than" for less."""

from __future__ import annotations

import re

from numcolbert.quantities.words import DOWNWARD, DOWNWARD_AFTER_MORE, SPEED

_NOT_COMPARED = r"(?:other|rather|either|whether|neither|under|over|after|ever|never)\b"
# "more expensive", "less deep", "heavier"; what ends in -er and compares nothing is left out.
COMPARATIVE = rf"(?!{_NOT_COMPARED})(?:(?:more|less)(?:\s+(?!than\b)[a-z]+){{0,2}}|fewer|worse|[a-z]{{2,}}er)"
_BEHIND = rf"(?!{_NOT_COMPARED})(?:more|less|worse|[a-z]{{2,}}er)"  # "5 kg or heavier"
# Behind "and", words in -er are mostly nouns: "over 130 hp and sticker price below $30,000".
_ENDS = r"(?=\s*(?:$|[,.;:?!)])|\s+(?:and|or|but|with|without|for|in|at|on|from|who|that|which|whose)\b)"
BEHIND = re.compile(
    rf"\s*,?\s*(?:or\s+(?P<or>{_BEHIND})\b|and\s+(?P<and>more\b|less\b|{_BEHIND}\b{_ENDS}))(?!\s+\S*\d)(?!\s+than\b)",
    re.IGNORECASE,
)


def asks_for_more(comparative: str, dimension: str) -> bool:
    """Whether a larger value is what "`comparative` than" asks for.

    A comparative that is in no list asks for more, as most do. Speed turns round where it is told by the time
    taken: "faster than 3 hours".
    """
    first, *rest = comparative.lower().split()
    up = first not in DOWNWARD
    if rest and rest[-1] in DOWNWARD_AFTER_MORE:  # "more affordable", "less compact"
        up = not up
    told_by_time = dimension == "time" and (first in SPEED or bool(rest and rest[-1] in SPEED))
    return up != told_by_time
