"""Text to quantities.

One regular expression finds numbers; for each, what stands before it (a currency, a sign, a label) and behind
it (a scale word, a unit, a counted noun) decides what it is. Neighbours are then joined into ranges.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache

from numcolbert.quantities import counts, exclusions, numbers, surfaces, units
from numcolbert.quantities.units import UnitInfo
from numcolbert.types import Quantity, Span

_NUMBER = "number"
_SIGN = re.compile(r"(?:(?<![\w)\].%])[-−–](?:\s?(?=$))|\b(?i:minus|negative)[\s-])$")
_APPROXIMATE = re.compile(
    r"(?:[~≈≃∼]|\b(?:about|around|roughly|approximately|approx\.?|nearly|almost|some|circa|ca\.|c\.|close to|"
    r"estimated|an estimated|or so|averag(?:e|ed|es|ing)))(?:\s+(?:a|an|the|another))?\s*$",
    re.IGNORECASE,
)
_PLUS_MINUS = re.compile(r"\s?(?:±|\+/-|\+/−|\+-)\s?(\d+(?:\.\d+)?)%?")
_NAME_BEFORE = re.compile(r"(?<![.?!:;]\s)(?<!^)\b[A-Z][A-Za-z&.'’]*\s$")
_BETWEEN = re.compile(r"\b(?:between|from)\s+(?:about |around |approximately |up to )?$", re.IGNORECASE)
_CHANGE = re.compile(
    r"\b(?:rose|rise|rises|rising|fell|fall|falls|falling|up|down|increased?|increases|increasing|decreased?|"
    r"decreases|declined?|declines|declining|dropped|drop|drops|grew|grow|gained?|gains|lost|lose|jumped|climbed|"
    r"slid|slipped|added|advanced|eased|surged|plunged|soared|higher|lower|raised|cut|reduced|improved|by)"
    r"\s+(?:by |about |around |nearly |almost |another |an? |some |slightly )*$",
    re.IGNORECASE,
)
_JOIN = re.compile(
    r"^\s*(?P<dash>[-–—−~]|\.\.\.?)\s*$|^[\s-]+(?P<to>to|through|until|up to)[\s-]+(?:about |around )?$|^\s+(?P<and>and|or)\s+$"
)
_OLD = re.compile(r"[\s-]olds?\b")
_LETTER_BEFORE = re.compile(r"[A-Za-z][-–]?$")


@dataclass(slots=True)
class _Found:
    """A number under construction; spans grow as scale, unit and range join it."""

    start: int
    end: int
    value_start: int
    value_end: int
    mantissa: float
    scale: float = 1.0
    unit: UnitInfo | None = None
    unit_span: Span | None = None
    counted: bool = False
    currency_before: bool = False
    spelled: bool = False
    high: float | None = None
    vague: bool = False

    @property
    def value(self) -> float:
        return self.mantissa * self.scale


@cache
def _currency_before() -> re.Pattern[str]:
    prefixes = sorted(units.table().before, key=len, reverse=True)
    symbols = "|".join(re.escape(p) for p in prefixes if not p[0].isalpha() or not p[-1].isalpha())
    codes = "|".join(re.escape(p) for p in prefixes if p[0].isalpha() and p[-1].isalpha())
    return re.compile(
        rf"(?:(?<![A-Za-z$])(?P<code>{codes})|(?P<symbol>(?<![A-Za-z])(?:{symbols})))[ \u00a0]?$"
    )


def extract(text: str, *, loose: bool = False) -> list[Quantity]:
    """The quantities of `text`, in order and without overlap, with exact character spans.

    `loose` also reads what is rarely meant as a measurement: "one solution", "millions of users",
    "half of the patients".
    """
    if not numbers.QUICK.search(text):
        return []
    blocked = exclusions.blocked_spans(text)
    found: list[_Found] = []
    position = 0
    while match := numbers.NUMBER.search(text, position):
        position = match.end()
        if blocked and _inside(blocked, match.start()):
            continue
        one = _read(text, match, loose, found[-1].end if found else 0)
        if one is not None:
            found.append(one)
            position = max(position, one.end)
    return [_finish(text, item) for item in _join(text, found) if _is_quantity(text, item, loose)]


def _inside(spans: list[Span], position: int) -> bool:
    at = bisect_right(spans, (position, 1 << 60)) - 1
    return at >= 0 and position < spans[at][1]


def _read(text: str, match: re.Match[str], loose: bool, floor: int) -> _Found | None:
    """One number with its surroundings, or None if it is none."""
    start, end = match.span()
    if match["loose"]:
        return _read_vague(text, match) if loose else None
    if match["words"]:
        item = _Found(start, end, start, end, numbers.words_value(match["words"]), spelled=True)
        if match["words"].lower().endswith("fold"):
            item.unit, item.unit_span = units.table().units["times"], (end - 4, end)
            item.value_end = end - 4
            return item
    else:
        value = numbers.literal_value(match)
        if value is None:
            return None
        item = _Found(start, end, start, end, value)
    before = _currency_before().search(text, max(floor, start - 8), start)
    if before:
        unit = units.table().before[(before["code"] or before["symbol"])]
        item.unit, item.currency_before, item.start = unit, True, before.start()
        item.unit_span = (before.start(), before.start() + len(before[0].rstrip()))
    elif start > 0 and not item.spelled and _LETTER_BEFORE.search(text, max(0, start - 2), start):
        if not _letter_is_word(text, start):
            return None
    sign = _SIGN.search(text, max(floor, item.start - 9), item.start)
    if sign:
        item.mantissa, item.start = -item.mantissa, sign.start()
        if not before:
            item.value_start = sign.start()
    elif before and text[start - 1] in "-−":
        item.mantissa = -item.mantissa
    _read_scale(text, item)
    _read_unit(text, item, loose)
    return item


def _letter_is_word(text: str, start: int) -> bool:
    """Whether the letters before a hyphen are a word ("minus-130") and not a name ("COVID-19", "F16")."""
    return (
        text[start - 1] in "-–"
        and re.search(r"\b(?:minus|to|by|a|an|the|mid|about)[-–]$", text[:start], re.I) is not None
    )  # noqa: E501


def _read_vague(text: str, match: re.Match[str]) -> _Found | None:
    low, high = numbers.loose_values(match["loose"])
    start, end = match.start(), match.start() + len(match["loose"].rstrip())
    item = _Found(start, end, start, end, low, high=high if high != low else None, vague=True, spelled=True)
    _read_unit(text, item, True)
    return item


def _read_scale(text: str, item: _Found) -> None:
    for _ in range(2):  # "4 hundred million"
        match = numbers.SCALE.match(text, item.end)
        if match is None:
            return
        if match["word"]:
            scale = numbers.SCALES[match["word"].lower()]
        else:
            letter = match["letter"]
            attached = match.start("letter") == item.end
            if (
                not item.currency_before
                and not (attached and letter in "kKM")
                and not (attached and letter in "mb" and _currency_follows(text, match.end()))
            ):
                return
            if not attached and letter in "tTkK":
                return
            scale = numbers.LETTER_SCALES[letter]
        item.scale *= scale
        item.end = item.value_end = match.end()
        if match["letter"]:
            return


def _currency_follows(text: str, position: int) -> bool:
    unit = surfaces.simple_unit(text, position)
    return unit is not None and unit.unit.dimension.startswith("currency:")


def _read_unit(text: str, item: _Found, loose: bool) -> None:
    deviation = _PLUS_MINUS.match(text, item.end)
    at = deviation.end() if deviation else item.end
    if item.currency_before:
        assert item.unit is not None and item.unit_span is not None
        rated = surfaces.with_rates(text, surfaces.UnitMatch(item.unit, item.unit_span[0], at))
        item.unit, item.end = rated.unit, rated.end
        tail = re.compile(r"\s(?:US|CAN|Canadian|Australian|AUD|USD|CAD|U\.S\.?)(?!\s?(?:\w|[$]))").match(
            text, at
        )
        if tail and rated.end == at:
            item.end = tail.end()
        return
    match = surfaces.unit_after(text, at)
    if match and not _mistaken(text, item, match):
        item.unit, item.unit_span, item.end = match.unit, (match.start, match.end), match.end
        old = _OLD.match(text, match.end)
        if old and match.unit.dimension == "time":
            item.end = old.end()
            item.unit_span = (match.start, old.end())
        return
    item.end = at
    if item.mantissa == int(item.mantissa) or item.scale > 1:
        noun = counts.counted_noun(text, at, one=item.value == 1)
        if noun and not (item.spelled and item.value == 1 and not loose):
            lemma, begin, end = noun
            counted = surfaces.with_rates(text, surfaces.UnitMatch(units.count_unit(lemma), begin, end))
            item.unit, item.unit_span, item.end = counted.unit, (begin, counted.end), counted.end
            item.counted = True


def _mistaken(text: str, item: _Found, match: surfaces.UnitMatch) -> bool:
    """Surfaces that are units only in the right company."""
    surface = text[match.start : match.end]
    if surface.lower() in {"won", "real", "mark", "second"} and item.scale == 1 and item.spelled:
        return surface.lower() != "second" or item.value == 1
    return surface == "p" and match.start > item.end and item.spelled


def _join(text: str, found: list[_Found]) -> list[_Found]:
    """Join neighbours into ranges: "5-7 kg", "between 5 and 7 kg", "from 5 to 7"."""
    joined: list[_Found] = []
    for item in found:
        last = joined[-1] if joined else None
        if last is not None and last.high is None and item.high is None and item.start > last.end:
            gap = _JOIN.match(text[last.end : item.start])
            if gap and _is_range(text, last, item, gap):
                _extend(last, item)
                continue
        joined.append(item)
    return joined


def _is_range(text: str, low: _Found, high: _Found, gap: re.Match[str]) -> bool:
    if low.unit and high.unit and low.unit.dimension != high.unit.dimension:
        return False
    if low.unit and not high.unit and not low.currency_before and not gap["to"]:
        return False
    opened = bool(_BETWEEN.search(text, max(0, low.start - 28), low.start))
    if gap["and"]:
        return opened and gap["and"] == "and"
    if gap["to"]:
        if opened or (not low.unit and high.unit):
            return True
        if not low.unit and not high.unit:
            return low.mantissa < high.mantissa
        return not _CHANGE.search(text, max(0, low.start - 40), low.start)
    return bool(high.unit or low.unit or low.value < high.value)


def _extend(low: _Found, high: _Found) -> None:
    if (
        low.scale == 1
        and high.scale > 1
        and abs(low.mantissa) < abs(high.mantissa) * 100
        and not (low.unit and not low.currency_before)
    ):
        low.scale = high.scale
    if low.unit is None:
        low.unit, low.unit_span, low.counted = high.unit, high.unit_span, high.counted
    elif high.unit is not None and high.unit.name != low.unit.name:
        high.mantissa = low.unit.from_base(high.unit.to_base(high.value)) / high.scale
    low.high = high.value
    low.end, low.value_end = high.end, high.value_end


def _is_quantity(text: str, item: _Found, loose: bool) -> bool:
    if item.unit is not None and not item.counted:
        return True
    start = item.value_start
    surface = text[start : item.value_end]
    if item.scale == 1 and not item.spelled:
        if item.counted and exclusions.is_year_before_noun(text, start, surface):
            return False
        if exclusions.is_labelled(text, start):
            return False
    if item.counted:
        return True
    if item.scale > 1 or item.vague:
        return True
    if item.spelled:
        return item.high is not None or (loose and item.value > 1) or item.value < 1
    if exclusions.is_year(text, start, surface):
        return False
    following = text[item.end : item.end + 1]
    if following.isalpha() or following == "_" or text[item.end : item.end + 2] in ("-y", "th"):
        return False
    return not _NAME_BEFORE.search(text, max(0, start - 24), start)


def _finish(text: str, item: _Found) -> Quantity:
    approximate = item.vague or bool(_APPROXIMATE.search(text, max(0, item.start - 24), item.start))
    unit = item.unit or UnitInfo("", _NUMBER, 1.0)
    low = high = base_low = base_high = None
    value = item.value
    if item.high is not None:
        low, high = sorted((value, item.high))
        value = (low + high) / 2
        base_low, base_high = unit.to_base(low), unit.to_base(high)
    return Quantity(
        value, unit.name or None, unit.dimension, unit.to_base(value), (item.start, item.end),
        (item.value_start, item.value_end), item.unit_span, low, high, base_low, base_high, approximate,
    )  # fmt: skip
