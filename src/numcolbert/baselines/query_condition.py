"""What a query asks for, read from its text by quantulum3 and a list of cue words.

No public extractor reads comparisons from queries, so the cue words are ours; the amounts are not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from numcolbert.baselines.quantity_score import Wanted
from numcolbert.baselines.quantulum import Mention, Quantulum, mended
from numcolbert.baselines.ranker import Query
from numcolbert.baselines.words import stem
from numcolbert.types import Condition, Operator

Conditions = Literal["parsed", "gold"]
"""Where the query's condition comes from: its text, or the benchmark (an upper bound, as published)."""

# Negated cues stand first: "no less than" asks for more.
_CUES_BEFORE: tuple[tuple[Operator, str], ...] = (
    (">=", r"(?:no|not) (?:less|fewer|lower|smaller) than|at least|a minimum of|minimum|≥|>="),
    ("<=", r"(?:no|not) (?:more|greater|higher|larger) than|at most|a maximum of|maximum|up to|≤|<="),
    ("<", r"(?:less|lower|smaller|fewer|cheaper|shorter|younger|lighter) than|smaller|lower"),
    ("<", r"below|under|beneath|underneath|south of|short of|inferior to|<"),
    (">", r"(?:more|greater|higher|larger|bigger|longer|older|heavier) than|greater|higher"),
    (">", r"above|over|beyond|past|north of|upwards? of|superior to|in excess of|>"),
    (">", r"exceed(?:s|ed|ing)?|surpass(?:es|ed|ing)?|topp(?:ed|ing)|tops|outstripping"),
    ("range", r"between|from|(?:in|within) the range(?: of)?|ranging from"),
    (
        "=",
        r"(?:is |are |was |were )?(?:equal to|identical to|the same as|equals?|equal(?:ing|ling)|matching|=)",
    ),
    ("=", r"(?:is |are |was |were )?(?:exactly|precisely|just|about|around|approximately|nearly|roughly)"),
    ("=", r"(?:amounting|amounts|corresponding|totall?ing|total|valued|measured|set|worth)(?: to| at)?"),
    ("=", r"of|at|is|was|are|were|with|for"),
)
_CUES_AFTER: tuple[tuple[Operator, str], ...] = (
    (">=", r"(?:or|and) (?:more|above|over|greater|higher|larger|longer|older|up)|\+"),
    ("<=", r"(?:or|and) (?:less|below|under|lower|fewer|smaller|shorter|younger)"),
)
# Words people put around what they look for; a passage need not hold them.
_FRAME = frozenset(
    re.findall(
        r"\w+",
        "what which who whose where when how find list show give tell describe search look looking want need "
        "i me am can could do does did please all any every some those example case result report statement "
        "mention passage study trial article document company firm group businesse business reported "
        "mentioned said stated came come stood standing amounted there about",
    )
)
_BEFORE = [(operator, re.compile(rf"(?<!\w)(?:{cue})\s*$", re.I)) for operator, cue in _CUES_BEFORE]
_AFTER = [(operator, re.compile(rf"^\s*(?:{cue})(?!\w)", re.I)) for operator, cue in _CUES_AFTER]


@dataclass(frozen=True, slots=True)
class ReadQuery:
    concept: str
    """The text without the condition."""
    wanted: Wanted | None
    """None where no amount was found."""


def read_query(query: Query, reader: Quantulum, conditions: Conditions) -> ReadQuery:
    """Split a query into concept and condition, by its text or ("gold") as the benchmark gives them."""
    if conditions == "gold" and query.condition is not None:
        return _gold(query, query.condition, reader)
    text = mended(query.text)
    readings = [_with_cue(text, mention) for mention in reader.read(query.text)]
    if not readings:
        return ReadQuery(_without_frame(text), None)
    # A number with a cue beside it carries the condition; else the last one does ("concept ... value").
    cued = [reading for reading in readings if reading[0] != "=" or reading[3]]
    operator, mention, (start, end), _ = (cued or readings)[-1]
    return ReadQuery(_without_frame(text[:start] + " " + text[end:]), _wanted(operator, mention))


def _without_frame(text: str) -> str:
    """The words left when question words and the like are gone; all of them where nothing would be left."""
    kept = [word for word in text.split() if stem(word.lower().strip(".,:;?!")) not in _FRAME]
    return " ".join(kept or text.split())


def _with_cue(text: str, mention: Mention) -> tuple[Operator, Mention, tuple[int, int], bool]:
    """(operator, mention, characters of cue and amount, whether a cue was found)."""
    start, end = mention.span
    for operator, pattern in _AFTER:
        found = pattern.search(text[end:])
        if found:
            return operator, mention, (start, end + found.end()), True
    for operator, pattern in _BEFORE:
        found = pattern.search(text[:start])
        if found:
            return operator, mention, (found.start(), end), True
    return ("range" if mention.low is not None else "="), mention, (start, end), False


def _wanted(operator: Operator, mention: Mention) -> Wanted:
    amount = mention.amount
    if mention.low is not None and mention.high is not None:
        return Wanted("range", mention.low, amount.unit, mention.high)
    return Wanted("=" if operator == "range" else operator, amount.value, amount.unit)


def _gold(query: Query, condition: Condition, reader: Quantulum) -> ReadQuery:
    gold = condition.quantity
    # Only the unit's name comes from quantulum3: it must be the one it gives to the passages.
    start, end = gold.span
    mentions = reader.read(query.text[start:end])
    concept = query.concept or (query.text[: condition.span[0]] + " " + query.text[condition.span[1] :])
    unit = mentions[-1].amount.unit if mentions else "dimensionless"
    if condition.operator == "range" and gold.low is not None:
        return ReadQuery(concept, Wanted("range", gold.low, unit, gold.high))
    return ReadQuery(concept, Wanted(condition.operator, gold.value, unit))
