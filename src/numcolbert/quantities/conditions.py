"""Query text to conditions, and whether a quantity satisfies one."""

from __future__ import annotations

import re

from numcolbert.quantities import shared_units, unasked
from numcolbert.quantities.comparatives import BEHIND, COMPARATIVE, asks_for_more
from numcolbert.quantities.thresholds import thresholds
from numcolbert.types import Condition, Operator, Quantity

SAME_UNIT_TOLERANCE = 1e-6
"""Relative difference below which two values in one unit are equal: floating point only."""
CONVERTED_TOLERANCE = 5e-3
"""The same after a conversion: "310 miles" is "500 km" as people round them."""
APPROXIMATE_TOLERANCE = 0.1
"""The same where one side says "about"."""

_NOT = r"(?:no|not|never|cannot|\w+n['’]t)"
_FAIL = r"(?:fail(?:s|ed|ing|ure)?\s+to|without|unable\s+to)"
_EXCEED = r"(?:exceed|surpass|top|beat|pass|outstrip)(?:s|es|ing|ed|p(?:ed|ing))?"
_REACH = r"(?:reach|hit|attain|achieve|make|meet)(?:s|es|ing|ting|d|ed)?"
_MOVE = r"(?:(?:go|get|rise|climb|run|come|fall|drop|sink|dip|be|stay)(?:s|es|ing|ping)?\s+)"
_SPENT = r"(?:price|cost|budget|fee|rent)"  # a maximum speed is had, a maximum price is a bound
# (operator, phrases before the threshold); the first that matches the words right before it wins.
_BEFORE: list[tuple[Operator, tuple[str, ...]]] = [
    ("<=", (
        rf"{_NOT} {_MOVE}?(?:above|over|beyond|past|upwards of|in excess of)",
        rf"(?:{_NOT}(?: to)?|{_FAIL}) {_EXCEED}",
    )),
    (">=", (
        rf"{_NOT} {_MOVE}?(?:below|under|beneath|short of)",
        r"at least|at the (?:very )?least|(?:a )?minimum(?: of)?|min\.?|starting (?:at|from)",
        rf"at or (?:above|over|beyond)|(?:greater|more|higher) or equal to|min(?:imum|\.)? {_SPENT}(?: of)?",
        r">=|=>|≥|⩾",
    )),
    ("<", (
        rf"(?:{_NOT}|{_FAIL}) (?:yet |quite |even |ever )?(?:{_REACH}|as (?:much|many|high|\w+) as)",
    )),
    ("<=", (
        r"at (?:the )?most|(?:a )?maximum(?: of)?|max\.?|up to|as (?:much|many|high) as|within",
        r"capped at|limited to|at or (?:below|under)|(?:less|lower) or equal to",
        rf"max(?:imum|\.)? {_SPENT}(?: of)?",
        r"<=|=<|≤|⩽",
    )),
    (">", (
        r"above|over|exceed(?:s|ing|ed)?|beyond|north of|in excess of|upwards? of|surpass(?:es|ing|ed)?",
        r"topp(?:ing|ed)|tops|past|beat(?:s|ing)?",
        r"[>＞]",
    )),
    ("<", (
        r"below|under|beneath|(?:fall(?:s|ing|en)? |fell )?short of|south of|shy of|miss(?:es|ing|ed)?",
        r"sub-?",
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
    r"\s*(?:\+|(?<=\s)plus\s+)?"  # "above +5 °C"
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
_THAN = re.compile(
    rf"(?<![\w'’])(?P<not>{_NOT}\s+(?:{unasked.HAVE}\s+)?(?:any\s+|much\s+)?)?"
    rf"(?P<or>equal\s+to\s+or\s+)?(?P<comparative>{COMPARATIVE})\s+(?:than|then)"
    rf"(?P<equal>\s+or\s+equal\s+to)?{_FILLER}$",
    re.IGNORECASE,
)
_RANGE = re.compile(
    r"\b(?:between|from|ranging from|(?:in )?(?:the|a) range (?:of|from))\s+\+?$", re.IGNORECASE
)
# Behind the threshold. A number behind them opens the next condition: "over 5 kg and under 7 m".
_OR_BEYOND = r"\s*,?\s*(?:or|and)\s+(?:{})\b(?!\s+\S*\d)"
_BOUND = r"\s*,?\s*(?:{})\b(?!\s+\S*\d)"
_UP = r"up(?!\s+(?:to|from|by)\b)"
_DIRECTIONS: list[tuple[Operator, re.Pattern[str]]] = [
    (">=", re.compile(_OR_BEYOND.format(rf"above|over|{_UP}|upwards?|beyond"), re.IGNORECASE)),
    ("<=", re.compile(_OR_BEYOND.format("below|under"), re.IGNORECASE)),
]
_BOUNDS: list[tuple[Operator, re.Pattern[str]]] = [
    (">=", re.compile(_BOUND.format(rf"minimum|min|at least|upwards?|{_UP}"), re.IGNORECASE)),
    ("<=", re.compile(_BOUND.format("maximum|max|tops|at most"), re.IGNORECASE)),
]
_SIGN = "<=|=<|≤|⩽|>=|=>|≥|⩾|[<>＜＞]"
_MIRRORED = re.compile(rf"\s*({_SIGN})\s*[A-Za-z][A-Za-z ]{{0,30}}(?:$|{_SIGN}|=)")  # "5 kg < weight < 9 kg"
_MIRROR: dict[str, Operator] = {
    "<": ">", "＜": ">", ">": "<", "＞": "<", "<=": ">=", "=<": ">=", "≤": ">=", "⩽": ">=",
    ">=": "<=", "=>": "<=", "≥": "<=", "⩾": "<=",
}  # fmt: skip
_PLUS = re.compile(r"\+(?!\s*[\d.])")
_NAMED = re.compile(r"\s(?:of\s)?[A-Za-z]+(?:\s[A-Za-z]+)?(?=\s+or\s)")
_OPERATORS: dict[tuple[bool, bool], Operator] = {
    (True, False): ">", (False, False): "<", (True, True): ">=", (False, True): "<=",
}  # fmt: skip
"""By whether more is asked for, and whether the threshold itself is good enough."""


def conditions(query: str) -> list[Condition]:
    """The numerical conditions of a query, in order. A bare quantity with a unit means "=".

    There is no operator for "not 5 kg", which gives none.
    """
    found: list[Condition] = []
    floor = 0
    ruled_out: int | None = None
    for quantity in thresholds(query):
        condition = _condition(query, quantity, floor)
        if condition is None:
            continue
        listed = ruled_out is not None and unasked.goes_on(query, ruled_out, condition)
        if listed or unasked.is_ruled_out(query, condition, floor):
            ruled_out = condition.span[1]
            continue
        ruled_out = None
        if multiple := unasked.multiplied(query, condition):
            if found and found[-1].span[1] > multiple.start():  # "three times" is no threshold either
                found.pop()
        elif not unasked.may_be_temperature(query, condition):
            found.append(condition)
            floor = condition.span[1]
    return shared_units.share(query, found)


def bound(text: str, quantity: Quantity) -> Operator | None:
    """The operator that the words around a quantity of `text` state: ">" for "more than 500 people"."""
    condition = _condition(text, quantity, 0)
    return condition.operator if condition else None


def _condition(query: str, quantity: Quantity, floor: int) -> Condition | None:
    start, end = quantity.span
    if quantity.is_range:
        opener = _RANGE.search(query, floor, start)
        return Condition("range", quantity, (opener.start() if opener else start, end))
    for position in (quantity.value_span[1], end):
        if _PLUS.match(query, position):  # "5+ years", "64GB+"
            return Condition(">=", quantity, (start, max(end, position + 1)))
    if tail := _behind(query, quantity):
        return Condition(tail[0], quantity, (start, max(end, tail[1])))
    window = max(floor, start - 48)
    if than := _THAN.search(query, window, start):
        more = asks_for_more(than["comparative"], quantity.dimension) != bool(than["not"])
        inclusive = bool(than["not"] or than["or"] or than["equal"])
        return Condition(_OPERATORS[more, inclusive], quantity, (than.start(), end))
    for operator, pattern in _PATTERNS:
        if head := pattern.search(query, window, start):
            return Condition(operator, quantity, (head.start(), end))
    if sign := _MIRRORED.match(query, end):
        return Condition(_MIRROR[sign[1]], quantity, (start, sign.end(1)))
    if quantity.unit is None and quantity.value == int(quantity.value):
        return None  # "top 10 phones", "iPhone 15"
    return Condition("=", quantity, (start, end))


def _behind(query: str, quantity: Quantity) -> tuple[Operator, int] | None:
    """The operator that stands behind the unit ("5 kg or more") or the number ("5 or more children")."""
    end = quantity.span[1]
    named = _NAMED.match(query, end)  # "16 GB of RAM or more"
    for position in (end, quantity.value_span[1], *([named.end()] if named else [])):
        if match := BEHIND.match(query, position):
            return _OPERATORS[
                asks_for_more(match["or"] or match["and"], quantity.dimension), True
            ], match.end()
        for operator, pattern in _DIRECTIONS:
            if match := pattern.match(query, position):
                return operator, match.end()
    for operator, pattern in _BOUNDS:  # never right behind the number: there "min" is a unit
        if match := pattern.match(query, end):
            return operator, match.end()
    return None


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
