"""Text to quantities.

One regular expression finds numbers; for each, what stands before it (a currency, a sign, a label) and behind
it (a scale word, a unit, a counted noun) decides what it is. Neighbours are then joined into ranges.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from numcolbert.quantities import before, counts, exclusions, numbers, ranges, surfaces, units
from numcolbert.quantities.candidate import Candidate
from numcolbert.quantities.implied import implied_unit
from numcolbert.quantities.surfaces import UnitMatch
from numcolbert.quantities.units import UnitInfo
from numcolbert.quantities.words import IN_MILLIONS, NOT_COUNTED, TABLE_HEADINGS, WORDS_TOO
from numcolbert.types import Quantity

_NO_UNIT = UnitInfo("", "number", 1.0)
_APPROXIMATE = re.compile(
    r"(?:[~≈≃∼]|\b(?:about|around|roughly|approximately|approx\.?|nearly|almost|some|circa|ca\.|close to|"
    r"estimated|averag(?:e|ed|es|ing)))(?:\s+(?:a|an|the|another))?\s*$",
    re.IGNORECASE,
)
_PLUS_MINUS = re.compile(r"\s?(?:±|\+/[-−]|\+-)\s?\d+(?:[.,·]\d+)?")
_AND_UP = re.compile(r"\+|\s(?:or|and)\s(?:more|fewer|less|greater)(?=\s)")
_OLD = re.compile(r"[\s-]olds?\b|\sof age\b")
_COUNTRY_AFTER = re.compile(r"\s(?:US|U\.S\.)(?!\s?[A-Z\d$])")
_HOURS_BEFORE = re.compile(r"\d ?h(?:rs?)? ?$")
_NAME_BEHIND = re.compile(r" [A-Z][a-z]")
_NEXT_WORD = re.compile(r"[\s-]([A-Za-z]+)")
_OTHER_END = re.compile(r"(?: ?[-–—] ?| to )\d[\d,.]*([mb])(?![\w%²³/])")
_OF_ONE = re.compile(r"\s(?:of )?an?\s")
_PART_OF_ONE = re.compile(r"half|an? \w+")
_OF_THE = re.compile(r"\sof (?:the|my|his|her|its|our|your|their|these|those)(?=\s)")
_STERLING = re.compile(r"£|\b(?:sterling|stg|pence|GBP|Bank of England)\b")
_PRICED = re.compile(
    r"\b(?:cost(?:s|ing)?|price[ds]?|pay(?:s|ing)?|paid|(?:sell(?:s|ing)?|sold)(?=\s+(?:at|for)\b)|worth|cheaper|"
    r"expensive|spen[dt](?:s|ing)?|rents?|fees?|fares?|salar(?:y|ies)|wages?|budgets?|earn(?:s|ed|ing)?|charge[ds]?)"
    r"(?:\s+(?:of|at|for|is|was|are|were|be|under|over|above|below|than|less|more|no|not|exceed(?:s|ing)?|about|"
    r"around|only|just|up|to|from|between|an?|the|least|most|max|exactly|nearly|almost|roughly|range))*"
    r"\s+(?:\d[\d,.]*(?:\s+(?:and|to|or)\s+|\s?[-–]\s?))?$",
    re.IGNORECASE,
)
_ISOTOPES = frozenset({11, 13, 14, 18, 19})
_WARM_BEFORE = re.compile(
    r"\b(?P<bound>below|above|under|over|than|exceed(?:s|ing|ed)?|least|most|between|beneath)\s+$"
    r"|\b(?:at|to|of|around|about|from|reach(?:es|ed)?|is|was|approximately|roughly|up to)\s+$"
    r"|\b(?:between|from)\s+[-−]?\d[\d.]*\s?°?[CF]?\s+(?:and|to)\s+$"
    r"|[<>≤≥~≈]\s?$|\d\s?°?[CF]\s?[/(]\s?$",
    re.IGNORECASE,
)
_HOTTEST = 1000
"""Above it, letters are labels ("1086C") unless a bound stands before."""
_BOTH_SCALES = re.compile(r"/[\d.]+_(?:celsius|fahrenheit)$")  # "220C/425F" is no rate
_PORTION_AFTER = re.compile(
    r"[\s-](?:portion|serving|helping)s? of\b|(?:\sof(?: [\w-]+){1,5}?)?\s"
    r"(?:contains?|provides?|suppl(?:y|ies)|has|have|delivers?|yields?|gives?|holds?|brings?|adds?|offers?)\b"
)
_PORTION_BEFORE = re.compile(r"\b(?:[Ii]n|[Ee]ating|[Ee]very|[Ee]ach)\s$")
_LARGEST = 1e60  # beyond it digits are data, and a scale word could leave the range of floats


class _Reading(NamedTuple):
    loose: bool
    for_labels: bool


def extract(text: str, *, loose: bool = False, for_labels: bool = False) -> list[Quantity]:
    """The quantities of `text`, in order and without overlap, with exact character spans.

    `loose` also reads what is rarely meant as a measurement: "one solution", "millions of users",
    "half of the patients". `for_labels` reads as the published test sets were labelled, so that mining gives
    them again to the byte: without temperatures told by a letter alone ("37C", "220°C/425°F").
    """
    reading = _Reading(loose, for_labels)
    finder = numbers.Finder(text)
    if not finder.any:
        return []
    found: list[Candidate] = []
    position = 0
    while match := finder.next(position):
        position = match.end()
        if text[match.start()].isdigit() and (end := exclusions.blocked_until(text, match.start())):
            position = end
            continue
        item = _read(text, match, reading, found[-1] if found else None)
        if item is not None:
            found.append(item)
            position = max(position, item.end, item.resume)
    if len(found) > 1:
        found = ranges.join(text, found)
    return [_finish(text, item) for item in _selected(text, found)]


def _selected(text: str, found: list[Candidate]) -> Iterator[Candidate]:
    """Those that are quantities; what follows a label in a list is none either ("weeks 4 and 8")."""
    dropped: Candidate | None = None
    for item in found:
        listed = dropped is not None and ranges.SHARED.match(text, dropped.end, item.start) is not None
        if (listed and item.unit is None) or not _is_quantity(text, item):
            dropped = item
        else:
            dropped = None
            yield item


def _read(text: str, match: re.Match[str], reading: _Reading, last: Candidate | None) -> Candidate | None:
    """One number with its surroundings, or None if it is none."""
    start, end = match.span()
    groups = match.groupdict()
    if groups.get("loose"):
        return _read_vague(text, match, reading) if reading.loose else None
    if words := groups.get("words"):
        item = Candidate(start, end, start, end, numbers.words_value(words), spelled=True)
        item.hyphened = text[start - 1 : start] == "-"
        if words.lower().endswith("fold"):
            item.unit, item.unit_span = units.table().units["times"], (end - 4, end)
            item.value_end = end - 4
            return item
    else:
        value = numbers.literal_value(match)
        if value is None or value > _LARGEST:
            return None
        item = Candidate(start, end, start, end, value)
        if not before.read(text, item, last):
            return None
        if part := numbers.AND_PART.match(text, item.end):  # "2 and a half hours"
            item.mantissa += numbers.FRACTION_WORDS[part[1]]
            item.end = item.value_end = part.end()
    _read_scale(text, item)
    _read_unit(text, item, reading)
    if (
        words
        and item.unit is None
        and item.scale == 1
        and item.value < 1
        and _PART_OF_ONE.fullmatch(words.lower())
    ):
        item.vague = True
        return item if reading.loose else None  # "a quarter of a loaf"
    return item


def _read_vague(text: str, match: re.Match[str], reading: _Reading) -> Candidate:
    low, high = numbers.loose_values(match["loose"])
    start, end = match.start(), match.start() + len(match["loose"].rstrip())
    item = Candidate(
        start, end, start, end, low, high=high if high != low else None, vague=True, spelled=True
    )
    if item.high is not None:
        _read_unit(text, item, reading)
    return item


def _read_scale(text: str, item: Candidate) -> None:
    for _ in range(2):  # "4 hundred million"
        match = numbers.SCALE.match(text, item.end)
        if match is None:
            return
        if match["word"]:
            scale = numbers.SCALES[match["word"].lower()]
        else:
            letter = match["letter"]
            attached = match.start("letter") == item.end
            if item.currency_before:
                readable = attached or letter in ("m", "M", "mm", "MM", "b", "B")
            else:
                readable = attached and (
                    letter in "kKM" or (letter in "mb" and _counts_in_millions(text, match.end()))
                )
            if not readable:
                return
            scale = numbers.LETTER_SCALES[letter]
        item.scale *= scale
        item.end = item.value_end = match.end()
        if match["letter"]:
            return


def _counts_in_millions(text: str, position: int) -> bool:
    """Whether what follows makes millions of "5m": dollars, tonnes and users, not "5m waves"."""
    other_end = _OTHER_END.match(text, position)
    if other_end and other_end[1] == text[position - 1]:  # "1m-2m USD"
        position = other_end.end()
    unit = surfaces.simple_unit(text, position)
    if unit is None:
        following = _NEXT_WORD.match(text, position)
        return following is not None and following[1].lower() in IN_MILLIONS
    spelled = unit.end - unit.start > 3 and unit.unit.dimension in ("mass", "volume", "area")
    return spelled or unit.unit.dimension.startswith("currency:")


def _read_unit(text: str, item: Candidate, reading: _Reading) -> None:
    deviation = _PLUS_MINUS.match(text, item.end)
    at = deviation.end() if deviation else item.end
    if deviation:
        item.end = at
    if bound := _AND_UP.match(text, at):  # "5+ years", "5 or more children"
        at = bound.end()
    if item.unit is not None and item.unit_span is not None:  # a currency stood before
        at = at if bound and bound[0] == "+" else item.end
        country = _COUNTRY_AFTER.match(text, at)
        at = country.end() if country else at
        rated = surfaces.with_rates(text, UnitMatch(item.unit, item.unit_span[0], at))
        item.unit, item.end = rated.unit, rated.end
        return
    if 0 < item.value < 1 and (one := _OF_ONE.match(text, at)):  # "1/16 of a pint", "half a mile"
        at = one.end()
        if (scale := numbers.SCALE.match(text, at)) and scale["word"]:  # "a quarter of a million"
            item.scale = numbers.SCALES[scale["word"].lower()]
            at = item.end = item.value_end = scale.end()
    plain = surfaces.simple_unit(text, at)
    if plain and plain.unit.name == "pound" and _is_sterling(text, item, plain):
        plain = UnitMatch(units.table().units["GBP"], plain.start, plain.end)
    match = surfaces.with_rates(text, plain) if plain else None
    if plain and match and not reading.for_labels and _BOTH_SCALES.search(match.unit.name):
        match = plain
    if match and not _mistaken(text, item, match, reading):
        item.unit, item.unit_span, item.end = match.unit, (match.start, match.end), match.end
        if match.unit.name == "metre" and _HOURS_BEFORE.search(text, max(0, item.start - 6), item.start):
            item.unit = units.table().units["minute"]  # "7h 30m"
        if rate := surfaces.rate_behind(text, match):
            item.unit, item.resume = rate.unit, rate.end
        if behind := _PLUS_MINUS.match(text, item.end):  # "46.6% ± 19.1%"
            again = surfaces.simple_unit(text, behind.end())
            item.end = again.end if again and again.unit is match.unit else behind.end()
        if match.unit.dimension == "time" and (old := _OLD.match(text, match.end)):
            item.end, item.unit_span = old.end(), (match.start, old.end())
        return
    if not item.spelled and (inverse := surfaces.inverse_unit(text, at)):
        item.unit, item.unit_span, item.end = inverse.unit, (at, inverse.end), inverse.end
        return
    _read_count(text, item, at, reading.loose)


def _is_sterling(text: str, item: Candidate, match: UnitMatch) -> bool:
    """Whether "pounds" are money: they are paid, or the sentence has sterling and weighs nothing in them."""
    if text[match.start : match.end].lower() not in ("pound", "pounds") or text.startswith(" of ", match.end):
        return False
    paid = _PRICED.search(text, max(0, item.start - 64), item.start)
    return paid is not None or _STERLING.search(text) is not None


def _read_count(text: str, item: Candidate, at: int, loose: bool) -> None:
    """The counted noun behind `at`."""
    if item.spelled and item.value == 1 and not loose:
        return
    if item.value < 1 and not text.startswith((" point", "-point"), at):
        return
    if of := _OF_THE.match(text, at):  # "62 of the subjects"
        noun = counts.counted_noun(text, of.end(), one=False)
    else:
        noun = counts.counted_noun(text, at, one=item.value == 1)
    if noun is None:
        return
    lemma, begin, end = noun
    if text[begin].isupper() and lemma in TABLE_HEADINGS:
        return  # the next entry of an earnings table: "4.5 mln Revs 22 mln"
    if item.spelled and item.start and text[item.start].isupper() and text[begin].isupper():
        return  # "Six Flags"
    # "517 rushing yards" are yards, whatever stands between; "two college degrees" measure nothing.
    measured = None if lemma in WORDS_TOO else units.table().folded.get(text[begin:end].rsplit(" ", 1)[-1])
    item.counted = measured is None or measured.dimension.startswith("currency:")
    unit = units.count_unit(lemma) if item.counted or measured is None else measured
    counted = surfaces.with_rates(text, UnitMatch(unit, begin, end))
    item.unit, item.unit_span, item.end = counted.unit, (begin, counted.end), counted.end


def _mistaken(text: str, item: Candidate, match: UnitMatch, reading: _Reading) -> bool:
    """Surfaces that are units only in the right company."""
    surface = text[match.start : match.end]
    attached = match.start == item.end
    if len(surface) == 1 and surface.isalpha():
        after = text[match.end : match.end + 3]
        if surface == "K":  # "at 300 K", but not "a 10 K run" or "10-K"
            following = _NEXT_WORD.match(text, match.end)
            return text[match.start - 1] != " " or bool(following and following[1].lower() not in NOT_COUNTED)
        if surface in "CF" and attached and not reading.for_labels and _is_warm(text, item, after):
            return False  # "400F", "below 8C"
        if (surface in "CFP" and attached) or (surface == "U" and after[:1] == "."):
            return True  # "13C-urea", "19F", "2P reserves", "300 mln U.S. dlrs"
        if surface == "p" and (item.spelled or after.lstrip()[:1] in ("<", "=", ">", "≤")):
            return True  # "r = 0.39 p < 0.001"
        if surface == "B" and attached and _NAME_BEHIND.match(after):
            return True  # "221B Baker Street"
        if attached and not item.currency_before and after[:1] == "-":
            return True
        if surface == "s" and attached and item.mantissa >= 100 and item.mantissa == int(item.mantissa):
            # "747s", but not "over 300s"
            return not exclusions.COMPARISON_BEFORE.search(text, max(0, item.start - 16), item.start)
        return exclusions.is_labelled(text, item.start)  # "Figure 1B", "Model 3s"
    if surface == '"':  # closes what was quoted: 'He said "we sold 5"'
        return not attached or text.count('"', 0, match.start) % 2 == 1
    word = surface.lower()
    if word in ("won", "real", "mark", "marks") and item.scale == 1:
        return item.spelled or exclusions.is_year(
            text, item.value_start, text[item.value_start : item.value_end]
        )
    if surface.istitle() and abs(item.value) >= 1000 and match.unit.dimension == "time":
        return True  # the next block of an earnings table: "2,898,363 Year Shr 45 cts"
    if word == "second" and item.spelled and item.value == 1:
        return True
    capitalised = item.spelled and item.start and text[item.start].isupper() and surface[0].isupper()
    return bool(capitalised) and not word.endswith("s")  # "Nine Mile Point"


def _is_warm(text: str, item: Candidate, after: str) -> bool:
    """Whether a letter tied to the number tells degrees: "roasted at 180C", not "13C" and "seat 30C"."""
    if after[:1] == "-" or item.mantissa in _ISOTOPES:
        return False
    before = _WARM_BEFORE.search(text, max(0, item.start - 32), item.start)
    usual = item.mantissa < 0 or 20 <= item.mantissa < _HOTTEST
    return before is not None and (usual or before["bound"] is not None)


def _is_quantity(text: str, item: Candidate) -> bool:
    if item.unit is not None and not item.counted:
        return not _is_portion(text, item)
    if item.rejected or item.hyphened:
        return False
    start = item.value_start
    surface = text[start : item.value_end]
    if item.scale == 1 and (exclusions.is_titled if item.spelled else exclusions.is_labelled)(text, start):
        return False
    if implied := implied_unit(text, item):
        item.unit = implied
        return True
    if item.counted:
        if item.scale > 1 or item.spelled:
            return True
        if start == 0 and item.high is None and _opens_text(text, item, surface):
            return False
        return not (
            exclusions.is_year_before_noun(text, start, surface)
            or exclusions.is_model(text, start, surface)
            or exclusions.is_named(text, start, text[slice(*item.unit_span or (0, 0))], item.end)
        )
    if item.scale > 1 or item.vague:
        return True
    if item.spelled:
        return item.high is not None or not 1 <= item.value < 1000
    if item.value < 1 and (
        "/" in surface or "⁄" in surface
    ):  # "18/20 children" is no measure, "1/3 of the children" is a share
        return text.startswith(" of", item.end)
    return not (
        exclusions.is_year(text, start, surface)
        or exclusions.is_early_year(text, start, surface)
        or exclusions.is_name(text, item.start, item.end, surface)
    )


def _opens_text(text: str, item: Candidate, surface: str) -> bool:
    """What a sentence splitter left of "our No. 1 priority", and the number of a section: "4.3 Methods"."""
    named = item.unit_span is not None and text[item.unit_span[0]].isupper()
    return item.value == 1 or ("." in surface and named)


def _is_portion(text: str, item: Candidate) -> bool:
    """The basis of a food label: "100 g of almonds contain ...", "a 100-gram portion of", "per 100 g"."""
    if item.mantissa != 100 or item.unit is None or item.unit.name not in ("gram", "millilitre"):
        return False
    if item.high is not None:
        return False
    if text.endswith(("per ", "Per "), 0, item.start) or _PORTION_AFTER.match(text, item.end):
        return True
    opened = _PORTION_BEFORE.search(text, max(0, item.start - 8), item.start)
    return opened is not None and text.startswith(" of ", item.end)


def _finish(text: str, item: Candidate) -> Quantity:
    approximate = item.vague or bool(_APPROXIMATE.search(text, max(0, item.start - 24), item.start))
    unit = item.unit or _NO_UNIT
    value = item.value
    low = high = base_low = base_high = None
    if item.high is not None:
        low, high = sorted((value, item.high))
        value = (low + high) / 2
        base_low, base_high = unit.to_base(low), unit.to_base(high)
    return Quantity(
        value, unit.name or None, unit.dimension, unit.to_base(value), (item.start, item.end),
        (item.value_start, item.value_end), item.unit_span, low, high, base_low, base_high, approximate,
    )  # fmt: skip
