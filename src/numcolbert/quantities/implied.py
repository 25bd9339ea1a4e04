"""Units that nobody writes, because the words before the number tell them."""

from __future__ import annotations

import re

from numcolbert.quantities import counts, units
from numcolbert.quantities.candidate import Candidate
from numcolbert.quantities.units import UnitInfo

_AGE = re.compile(
    r"\b(?:aged?|ages|ages? (?:of|was|is|were|:|=|between|from|range)|life expectancy (?:of|is|was))\s*"
    r"(?:of |over |under |about |around |below |above |between |from |[=:,<>≥≤] ?)*$",
    re.IGNORECASE,
)
_POPULATION = re.compile(
    r"\b[Pp]opulation\s+(?:(?:of|is|was|has|had|reached|exceed(?:s|ed)|stood|stands|at|over|about|around|nearly|some|"
    r"roughly|approximately|almost|more|less|than)\s+)+$"
)
_STATED = re.compile(
    r"\b(?:is|was|are|were|stood at|stands at|reached|reaches|totall?ed|exceed(?:s|ed)|"
    r"(?:rose|fell|grew|climbed|dropped|increased|decreased|declined) to)\s"
    r"(?:about |around |nearly |almost |only |over |just |some )?$"
)
_NUMBER_OF = re.compile(r"\b[Nn]umbers? of(?: the)?(?= )")
_WINDOW = 90


def implied_unit(text: str, item: Candidate) -> UnitInfo | None:
    """The unit of a bare number: years of an age, people of a population, what "the number of" counts."""
    if item.unit is not None:
        return None
    start = item.value_start
    if item.scale == 1 and 0 < item.value < 120 and _AGE.search(text, max(0, item.start - 40), item.start):
        return units.table().units["year"]
    if item.value >= 1000 and _POPULATION.search(text, max(0, start - 60), start):
        return units.count_unit("person")
    if _STATED.search(text, max(0, start - 30), start):
        return _what_is_numbered(text, start)
    return None


def _what_is_numbered(text: str, start: int) -> UnitInfo | None:
    mentions = list(_NUMBER_OF.finditer(text, max(0, start - _WINDOW), start))
    noun = counts.counted_noun(text, mentions[-1].end(), one=False) if mentions else None
    if noun is None or noun[2] >= start:
        return None
    measured = units.table().folded.get(noun[0])
    return measured if measured and measured.dimension == "time" else units.count_unit(noun[0])
