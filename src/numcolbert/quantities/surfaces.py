"""Reads the unit that follows a number, rates included: "mg/dl", "dollars a share", "mg kg−1 day−1"."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

from numcolbert.quantities import counts, units
from numcolbert.quantities.units import UnitInfo
from numcolbert.quantities.words import NOT_COUNTED, RATE_MODIFIERS, RATE_NOUNS

_TOKEN = re.compile(r"[^\W\d_]+|\S")
_GAP = re.compile("[ \u00a0\u2009\u202f-]{0,2}")
_PER = re.compile(
    r"(?P<slash>\s?/\s?)|(?P<per>[\s-]+per[\s-]+)"
    r"|(?P<article>(?:\s+an?\s+|-an?-)(?!(?:year|month|week|day|quarter|decade)\s(?:ago|earlier|before|later|after)))",
    re.IGNORECASE,
)
_INVERSE = re.compile(
    r"[ \u00a0\u2009·⋅•.]{0,2}([A-Za-zµμ]+)\^?"
    r"(?:(?P<open>\()?[-−–‐](?P<digit>[123])(?(open)\))|⁻(?P<raised>[¹²³]))(?!\d)"
    r"|[·⋅•]([A-Za-zµμ]+)1(?!\d)"  # "mg·kg1", its minus lost
)
_RAISED = {"¹": 1, "²": 2, "³": 3}
_SQUARED = re.compile(r"([A-Za-z]+)(?:²|\^2|2(?!\w)|\ssquared\b)")
_LETTERS = re.compile(r"[A-Za-z]+")
_AMOUNT = re.compile(r"(\d+(?:,\d{3})*(?:\.\d+)?)[ \u00a0-]?")
_LARGEST_AMOUNT = 1e12
_NOTED = re.compile(r"([A-Za-zµμ]+)(\d+)")
# Signs that open the next number where a digit follows; those of euro, pound and dollar do not.
_SIGNS = frozenset("¥₩₺₪₱₦₫₽₹฿₴₸₾₡₲")
# Symbols that are ordinary words or labels when they stand apart from the number.
_ATTACHED_ONLY = frozenset({"A", "B", "N", "T", "b", "c", "t", "x", "×"})
_IN = re.compile(
    r"in(?![\w/]|\s(?:the|an?|all|both|each|our|its|their|this|that|these|those|which|whom|(?:19|20)\d\d)\b)"
)
_FEET_BEFORE = re.compile(r"\d ?(?:ft|feet|foot)\.? \d{1,2}(?:\.\d)?$")


@dataclass(slots=True)
class _Node:
    children: dict[str, _Node] = field(default_factory=dict)
    unit: UnitInfo | None = None


@dataclass(frozen=True, slots=True)
class UnitMatch:
    unit: UnitInfo
    start: int
    end: int


@cache
def _tries() -> tuple[_Node, _Node]:
    """Token tries over the symbols (case counts) and over the spelled forms (lower case)."""
    table = units.table()
    exact, folded = _Node(), _Node()
    for root, surfaces in ((exact, table.exact), (folded, table.folded)):
        for surface, unit in surfaces.items():
            node = root
            for token in _TOKEN.findall(surface.replace("-", " ")):
                node = node.children.setdefault(token, _Node())
            node.unit = node.unit or unit
    return exact, folded


def _walk(text: str, start: int, node: _Node, lower: bool) -> tuple[UnitInfo, int] | None:
    """The longest surface that begins at `start`."""
    best: tuple[UnitInfo, int] | None = None
    position = start
    while True:
        token = _TOKEN.match(text, position)
        if token is None:
            return best
        child = node.children.get(token[0].lower() if lower else token[0])
        if child is None:
            return best
        node, end = child, token.end()
        opens_next = token[0][-1].isalpha() or token[0] in _SIGNS  # the next number: "5 ₹600 notes"
        if node.unit and not (opens_next and end < len(text) and text[end].isdigit()):
            best = (node.unit, end)
        if not node.children:
            return best
        position = _GAP.match(text, end).end()  # type: ignore[union-attr]
        if position > end and position < len(text) and not text[position].isalpha():
            return best  # "5 m 2 times" holds no square metre


def simple_unit(text: str, start: int) -> UnitMatch | None:
    """A unit of the table at `start`, behind at most a space or hyphen."""
    begin = _GAP.match(text, start).end()  # type: ignore[union-attr]
    if begin >= len(text):
        return None
    exact, folded = _tries()
    found = [m for m in (_walk(text, begin, exact, False), _walk(text, begin, folded, True)) if m]
    if not found:
        return _inches(text, start, begin)
    unit, end = max(found, key=lambda match: match[1])
    if begin > start and text[begin:end] in _ATTACHED_ONLY and text[end : end + 1] != "/":
        return None
    return UnitMatch(unit, begin, end)


def _inches(text: str, start: int, begin: int) -> UnitMatch | None:
    """The word "in" where it is no preposition: "a 15in screen", "6 ft 2 in"."""
    attached = begin == start and text[start - 1 : start].isdigit()
    told = attached or _FEET_BEFORE.search(text, max(0, start - 16), start)
    if not told or not _IN.match(text, begin):
        return None
    return UnitMatch(units.table().units["inch"], begin, begin + 2)


def _denominator(text: str, start: int, *, slash: bool, article: bool) -> tuple[UnitInfo | str, int] | None:
    # "per 100 ml" and "ml/min/1.73 m2", but not "224 kW / 300 PS".
    amount = None if article or (slash and text[start - 1] == " ") else _AMOUNT.match(text, start)
    if amount and not 0 < float(amount[1].replace(",", "")) <= _LARGEST_AMOUNT:
        return None  # "21%/79%/0% vs 8%": nothing is measured per nought percent
    unit_at = amount.end() if amount else start
    found = simple_unit(text, unit_at)
    if found and found.start == unit_at:
        if article and found.unit.name not in RATE_NOUNS and found.unit.dimension != "time":
            return None
        if found.unit.dimension == "percent":  # a list: "21%/79%/0%"
            return None
        unit = units.times(float(amount[1].replace(",", "")), found.unit) if amount else found.unit
        return unit, found.end
    if not article and (noted := _noted_unit(text, unit_at)):
        return units.times(float(amount[1].replace(",", "")), noted.unit) if amount else noted.unit, noted.end
    word = _LETTERS.match(text, unit_at)
    if word is None:
        return None
    noun = counts.singular(word[0].lower())
    while noun in RATE_MODIFIERS:  # "per fully diluted share"
        word = _LETTERS.match(text, word.end() + 1)
        if word is None:
            return None
        noun = counts.singular(word[0].lower())
    if (slash or article) and noun not in RATE_NOUNS:
        return None
    if noun in NOT_COUNTED:
        return None
    name = "share" if noun == "shr" else noun
    return (f"{amount[1].replace(',', '')}_{name}" if amount else name), word.end()


def _noted_unit(text: str, start: int) -> UnitMatch | None:
    """A unit with digits against it that are no power: "mg/kg1", its minus lost, or a table without gaps."""
    match = _NOTED.match(text, start)
    unit = units.table().exact.get(match[1]) if match else None
    if match is None or unit is None or (match[2] != "1" and unit.dimension not in ("mass", "volume")):
        return None
    return UnitMatch(unit, start, match.end(1))


def _per_power(unit: UnitInfo, below: UnitInfo, power: int) -> UnitInfo:
    """`unit` per `below` to a power: an area or volume if the table has one, else "metre/second/second"."""
    whole = units.table().units.get(f"{_POWERS[power]}{below.name}")
    if whole:
        return units.per(unit, whole)
    for _ in range(power):
        unit = units.per(unit, below)
    return unit


_POWERS = {1: "", 2: "square_", 3: "cubic_"}


def _is_portion(unit: UnitInfo, below: UnitInfo | str) -> bool:
    """Whether this is the portion of a food label, which is said or left out and never compared.

    "mg per 100 ml" is a concentration all the same.
    """
    name = below if isinstance(below, str) else below.name
    return name == "100_gram" or (name == "100_millilitre" and unit.dimension == "energy")


def with_rates(text: str, match: UnitMatch) -> UnitMatch:
    """Extend a unit by what it is "per"."""
    unit, end = match.unit, match.end
    for _ in range(3):
        inverse = _INVERSE.match(text, end)
        if inverse and (below := units.find(inverse[1] or inverse[5])):
            power = int(inverse["digit"] or _RAISED.get(inverse["raised"], 1))
            unit, end = _per_power(unit, below, power), inverse.end()
            continue
        link = _PER.match(text, end)
        if link is None:
            break
        squared = _SQUARED.match(text, link.end())
        if squared and (below := units.find(squared[1])) and below.dimension == "time":  # "m/s²"
            unit, end = _per_power(unit, below, 2), squared.end()
            continue
        found = _denominator(text, link.end(), slash=bool(link["slash"]), article=bool(link["article"]))
        if found is None:
            break
        if not _is_portion(unit, found[0]):
            unit = units.per(unit, found[0])
        end = found[1]
    return UnitMatch(unit, match.start, end)


_NOT_MEASURED = NOT_COUNTED | {"half", "quarter"}
_WHAT = re.compile(
    r"(?P<of> of(?: the)?)?((?: [a-z][a-z-]*){1,3}?) (?=per 100 ?(?:g|ml)|(?(of)(?:per |an? )|(?!)))"
)


def rate_behind(text: str, match: UnitMatch) -> UnitMatch | None:
    """The rate that follows what is measured: "20 g of protein per 100 g", "5 litres of blood a minute"."""
    what = _WHAT.match(text, match.end)
    if what is None or match.unit.dimension == "percent" or not _NOT_MEASURED.isdisjoint(what[2].split()):
        return None
    rated = with_rates(text, UnitMatch(match.unit, match.start, what.end() - 1))
    if rated.end < what.end():
        return None
    # An article tells a rate by time alone: "80 tons of gravel a truck" may go on "can carry".
    told = text.startswith("per", what.end()) or rated.unit.dimension.endswith("/time")
    return rated if told else None


_ATTACHED_RATE = re.compile(r"/(?=[A-Za-zµμ])")
_RATED = ("volume", "time", "area", "mass")


def inverse_unit(text: str, start: int) -> UnitMatch | None:
    """What a number without a unit is "per": "4.5 × 10^9/L", "120/min"."""
    slash = _ATTACHED_RATE.match(text, start)
    below = simple_unit(text, slash.end()) if slash else None
    if below is None or below.unit.dimension not in _RATED or text[below.end : below.end + 1].isalnum():
        return None
    return with_rates(text, UnitMatch(units.per(units.ONE, below.unit), start, below.end))
