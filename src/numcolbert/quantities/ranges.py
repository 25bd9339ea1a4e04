"""Joins neighbouring numbers: ranges ("5-7 kg", "between 5 and 7 kg") and lists that share a unit."""

from __future__ import annotations

import itertools
import re

from numcolbert.quantities.candidate import Candidate
from numcolbert.quantities.exclusions import is_year

_BETWEEN = re.compile(
    r"\b(?:between|from|ranged|ranging|range[sd]? (?:of|from))\s+"
    r"(?:about |around |approximately |up to |at )?$",
    re.IGNORECASE,
)
# A change states two values, not a range: "rose 12 mln dlrs to 45 mln dlrs".
VERB_OF_CHANGE = (
    r"rose|rise[sn]?|rising|fell|fall(?:s|ing|en)?|up|down|increas(?:ed?|es|ing)|decreas(?:ed?|es|ing)|"
    r"declin(?:ed?|es|ing)|drop(?:ped|s|ping)?|gr[eo]w|gain(?:s|ed)?|lost|lose|jumped|climbed|slid|slipped|added|"
    r"advanced|eased|surged|plunged|soared|higher|lower|rais(?:ed|es|ing)|cut|reduced|improved|expanded"
)
_CHANGE = re.compile(
    rf"\b(?:{VERB_OF_CHANGE}|by|off)"
    r"\s+(?:by |about |around |approximately |nearly |almost |another |an? |some |slightly |roughly )*$",
    re.IGNORECASE,
)
_LINK = re.compile(
    r"\s*(?P<dash>[-–—−~]|\.\.\.?)\s*\+?$"
    r"|[\s-]+(?P<to>to|through|up to)[\s-]+(?:about |around |approximately )?\+?$"
    r"|\s+(?P<and>and|or)\s+\+?$"
)
_CONFIDENCE = re.compile(
    r"\s?(?:CIs?\b|confidence)"
)  # "a hazard ratio of 2.58, 95% CI 1.9 to 3.6" is no list
_RELATION = re.compile(r"[=<>≤≥]\s?$")  # "P = 0.05, 12 months" is no list
SHARED = re.compile(
    r"(?:\s(?:out )?of (?:the |its |their |these |those |his |her |our )?|,? (?:and|or|vs\.?|versus) |, ?|/)$"
)

_VERSUS = re.compile(
    r",? (?:vs\.?|versus|against|compared with|compared to) (?:an? )?(?:(?:loss|profit|deficit)(?: of)? )?$"
)
_PART = re.compile(r" (?:out )?of\b| in \d")  # "4 kg compared with 16 of 61", "21 patients vs 25 in 17"
_FOUR_DIGITS = re.compile(r"\d{4}")
_LOOKS_LIKE_YEAR = re.compile(r"(?:19|20)\d\d")


def join(text: str, found: list[Candidate]) -> list[Candidate]:
    """Merge ranges, then let numbers without a unit take that of the list they stand in."""
    joined: list[Candidate] = []
    for item in found:
        last = joined[-1] if joined else None
        if last is not None and last.high is None and item.high is None and item.start > last.end:
            link = _LINK.match(text, last.end, item.start)
            if link and not last.rejected and _is_range(text, last, item, link):
                _merge(last, item)
                continue
        joined.append(item)
    for left, right in zip(reversed(joined[:-1]), reversed(joined[1:]), strict=True):
        if left.unit is None and right.unit is not None and not right.currency_before and not left.spelled:
            gap = SHARED.match(text, left.end, right.start)
            if (
                gap
                and not _RELATION.search(text, max(0, left.start - 2), left.start)
                and (not right.counted or "of" in gap[0])
                and not _CONFIDENCE.match(text, right.end)
                and not _is_year_before(text, left, right)
            ):
                if right.scale > 1 and left.scale == 1:  # "18.2 and 20.8 billion dlrs"
                    if abs(left.mantissa) >= 1000:
                        continue
                    left.scale = right.scale
                left.unit, left.counted = right.unit, right.counted
    _share_behind_versus(text, joined)
    return joined


def _is_year_before(text: str, left: Candidate, right: Candidate) -> bool:
    """Whether the left one dates the right one: "in 2021, 12% agreed", but not "1900, 2000 and 2100 kcal"."""
    surface = text[left.value_start : left.value_end]
    return (
        left.scale == 1
        and is_year(text, left.value_start, surface)
        and not _FOUR_DIGITS.fullmatch(text, right.value_start, right.value_end)
    )


def _share_behind_versus(text: str, found: list[Candidate]) -> None:
    """ "34 cts vs 12", "5.1 mln dlrs vs a loss of 4.2": what is compared has the same unit."""
    for left, right in itertools.pairwise(found):
        if left.unit is None or right.unit is not None or right.spelled or right.rejected:
            continue
        if not _VERSUS.match(text, left.end, right.start) or _PART.match(text, right.end):
            continue
        if _LOOKS_LIKE_YEAR.fullmatch(text, right.value_start, right.value_end):
            continue
        if left.scale > 1 and right.scale == 1 and abs(right.mantissa) < 1000:
            right.scale = left.scale
        right.unit, right.counted = left.unit, left.counted


def _is_range(text: str, low: Candidate, high: Candidate, link: re.Match[str]) -> bool:
    if low.unit and high.unit and low.unit.dimension != high.unit.dimension:
        # "between $62 and $68 per share": the rate is said once.
        shared_rate = low.currency_before and high.unit.dimension.startswith(low.unit.dimension + "/")
        if not shared_rate:
            return False
    if low.unit and not high.unit and not low.currency_before and not link["to"]:
        return False
    begin = low.start
    if high.unit and text[begin - 1 : begin] == text[high.start - 1 : high.start] == "+":
        begin -= 1  # "between +3 and +5 °C"; without a unit they may be charges
    opened = bool(_BETWEEN.search(text, max(0, begin - 32), begin))
    if link["and"]:
        if link["and"] == "or":  # "three or four years"
            return low.unit is None and high.unit is not None and high.value == low.value + 1
        return opened and "between" in text[max(0, low.start - 32) : low.start].lower()
    if link["to"]:
        if high.spelled and high.value == 1:  # a ratio: "2.1 to one"
            return False
        if opened or (not low.unit and high.unit):
            return True
        if not low.unit and not high.unit and low.mantissa >= high.mantissa:
            return False
        return not _CHANGE.search(text, max(0, low.start - 40), low.start)
    if high.spelled and not low.spelled and text[high.start].isupper():  # "7-Eleven"
        low.rejected = high.rejected = True
        return False
    if low.value >= high.value and (high.unit is None or high.counted):  # a score: "won 3-1", "a 2-1 win"
        low.rejected = high.rejected = low.unit is None
        return False
    return True


def _merge(low: Candidate, high: Candidate) -> None:
    if low.unit is not None and high.unit is not None and high.unit.dimension != low.unit.dimension:
        low.unit = high.unit
    shares_scale = low.scale == 1 and high.scale > 1 and abs(low.mantissa) < abs(high.mantissa)
    if shares_scale and (low.unit is None or low.currency_before):  # "$3 to $5 billion"
        low.scale = high.scale
    top = high.value
    if low.unit is None:
        low.unit, low.unit_span, low.counted = high.unit, high.unit_span, high.counted
    elif high.unit is not None and high.unit.name != low.unit.name:
        top = low.unit.from_base(high.unit.to_base(top))
    low.high = top
    low.end, low.value_end = high.end, high.value_end
