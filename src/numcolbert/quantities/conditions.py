"""Query text to conditions, and whether a quantity satisfies one."""

from __future__ import annotations

import re

from numcolbert.quantities.extract import extract
from numcolbert.types import Condition, Operator, Quantity

SAME_UNIT_TOLERANCE = 1e-6
"""Relative difference below which two values in one unit are equal: floating point only."""
CONVERTED_TOLERANCE = 5e-3
"""The same after a conversion: "310 miles" is "500 km" as people round them."""
APPROXIMATE_TOLERANCE = 0.1
"""The same where one side says "about"."""

_ADJECTIVES_UP = (
    "more|greater|higher|larger|bigger|older|longer|heavier|taller|wider|faster|deeper|thicker|stronger|hotter|"
    "warmer|farther|further|later|better|brighter|louder|costlier|dearer|pricier|steeper|broader"
)
_ADJECTIVES_DOWN = (
    "less|fewer|lower|smaller|cheaper|lighter|shorter|younger|narrower|slower|shallower|thinner|weaker|cooler|"
    "colder|nearer|closer|earlier|worse|quieter|tinier"
)
_NO = r"(?:no|not|never|isn['’]t|aren['’]t)"
# (operator, phrases before the threshold); the first that matches the words right before it wins.
_BEFORE: list[tuple[Operator, tuple[str, ...]]] = [
    ("<=", (
        rf"{_NO} (?:\w+ )?(?:{_ADJECTIVES_UP}) than",
        rf"{_NO} (?:above|over|beyond|upwards of)",
        rf"(?:{_NO}|does not|do not|must not|doesn['’]t|don['’]t) (?:exceed(?:s|ing)?|surpass(?:ing)?)",
    )),
    (">=", (
        rf"{_NO} (?:\w+ )?(?:{_ADJECTIVES_DOWN}) than",
        rf"{_NO} (?:below|under)",
        r"does not fall below",
        r"(?:greater|more|higher|larger) than or equal to",
        r"equal to or (?:greater|more|higher|larger) than",
        r"at least|at the (?:very )?least|(?:a )?minimum(?: of)?|min\.?|starting (?:at|from)",
        r">=|=>|≥|⩾",
    )),
    ("<=", (
        r"(?:less|lower|smaller|fewer) than or equal to",
        r"equal to or (?:less|lower|smaller|fewer) than",
        r"at (?:the )?most|(?:a )?maximum(?: of)?|max\.?|up to|as (?:much|many|high) as|within",
        r"capped at|limited to",
        r"<=|=<|≤|⩽",
    )),
    (">", (
        rf"(?:{_ADJECTIVES_UP}) than",
        r"above|over|exceed(?:s|ing|ed)?|beyond|north of|in excess of|upwards? of|surpass(?:es|ing|ed)?",
        r"topp(?:ing|ed)|tops|past|beat(?:s|ing)?",
        r"[>＞]",
    )),
    ("<", (
        rf"(?:{_ADJECTIVES_DOWN}) than",
        r"below|under|beneath|short of|south of|shy of",
        r"[<＜]",
    )),
    ("=", (
        r"equal(?:s|ling)?(?: to)?|exactly|precisely|amount(?:s|ing|ed)? to|total(?:s|ing|ling)?(?: of)?",
        r"worth|(?:valued|priced) at|cost(?:s|ing)?|measuring|weighing|reach(?:es|ing|ed)?",
        r"of|at|is|was|are|were|being|[=＝]",
    )),
]  # fmt: skip
_FILLER = (
    r"(?:\s+(?:a|an|the|about|around|approximately|roughly|nearly|almost|just|some|only|exactly|of|total of)"
    r")*"
    r"\s*"
)
_PATTERNS = [
    (
        operator,
        re.compile(
            rf"(?:(?<![\w<>=])|(?<=\w)(?=[<>=≤≥⩽⩾＜＞＝]))(?:{'|'.join(phrases)}){_FILLER}$", re.IGNORECASE
        ),
    )
    for operator, phrases in _BEFORE
]
_RANGE = re.compile(r"\b(?:between|from|ranging from|(?:in )?(?:the|a) range (?:of|from))\s+$", re.IGNORECASE)
_UP_TAIL = rf"more|greater|higher|larger|above|over|up|upwards?|beyond|{_ADJECTIVES_UP}"
_DOWN_TAIL = rf"less|fewer|lower|smaller|below|under|{_ADJECTIVES_DOWN}"
_TAILS: tuple[tuple[Operator, str, str], ...] = (
    (">=", _UP_TAIL, "minimum|min"),
    ("<=", _DOWN_TAIL, "maximum|max|tops"),
)
_AFTER = [  # a number behind them opens the next condition: "over 5 kg and under 7 m"
    (operator, re.compile(rf"\s*,?\s*(?:(?:or|and)\s+(?:{tail})|{label})\b(?!\s+\S*\d)", re.IGNORECASE))
    for operator, tail, label in _TAILS
]


def conditions(query: str) -> list[Condition]:
    """The numerical conditions of a query, in order. A bare quantity with a unit means "="."""
    found = []
    floor = 0
    for quantity in extract(query):
        condition = _condition(query, quantity, floor)
        if condition:
            found.append(condition)
            floor = condition.span[1]
    return found


def _condition(query: str, quantity: Quantity, floor: int) -> Condition | None:
    start, end = quantity.span
    if quantity.is_range:
        opener = _RANGE.search(query, floor, start)
        return Condition("range", quantity, (opener.start() if opener else start, end))
    if query[quantity.value_span[1] : quantity.value_span[1] + 1] == "+":  # "5+ years"
        return Condition(">=", quantity, (start, max(end, quantity.value_span[1] + 1)))
    for operator, pattern in _AFTER:
        # Behind the unit ("5 kg or more") or between number and unit ("5 or more children").
        if tail := pattern.match(query, end) or pattern.match(query, quantity.value_span[1]):
            return Condition(operator, quantity, (start, max(end, tail.end())))
    for operator, pattern in _PATTERNS:
        if head := pattern.search(query, max(floor, start - 48), start):
            return Condition(operator, quantity, (head.start(), end))
    if quantity.unit is None and quantity.value == int(quantity.value):
        return None  # "top 10 phones", "iPhone 15"
    return Condition("=", quantity, (start, end))


def satisfies(quantity: Quantity, condition: Condition) -> bool | None:
    """Whether a passage's quantity satisfies a query's condition; None where they cannot be compared.

    A range in the passage satisfies a condition when every value in it does. `=` allows for rounding: see the
    tolerances above.
    """
    wanted = condition.quantity
    if quantity.dimension != wanted.dimension:
        return None
    low = quantity.base_value if quantity.base_low is None else quantity.base_low
    high = quantity.base_value if quantity.base_high is None else quantity.base_high
    target = wanted.base_value
    tolerance = SAME_UNIT_TOLERANCE if quantity.unit == wanted.unit else CONVERTED_TOLERANCE
    slack = 1e-9 * abs(target) if quantity.unit == wanted.unit else 1e-6 * abs(target)
    match condition.operator:
        case ">":
            return low > target + slack
        case "<":
            return high < target - slack
        case ">=":
            return low >= target - slack
        case "<=":
            return high <= target + slack
        case "range":
            bottom = target if wanted.base_low is None else wanted.base_low
            top = target if wanted.base_high is None else wanted.base_high
            return low >= bottom - slack and high <= top + slack
        case _:
            if quantity.approximate or wanted.approximate:
                tolerance = APPROXIMATE_TOLERANCE
            room = tolerance * abs(target)
            return abs(low - target) <= room and abs(high - target) <= room
