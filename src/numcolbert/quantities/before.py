"""Reads what stands before digits: a currency, a sign, or a word they belong to."""

from __future__ import annotations

import re
from functools import cache

from numcolbert.quantities import counts, numbers, surfaces, units
from numcolbert.quantities.candidate import Candidate

_SIGN = re.compile(r"(?:(?<![\w)\].%\d])(?<!\d\s)[-−–]|\b(?i:minus|negative)[\s-])$")
_WORD_BEFORE = re.compile(r"[a-z]\s[-−–]?$")  # "worth A $300"; elsewhere "A $300 million" has an article
_WORD_TIED = re.compile(r"[^\W\d_][-–]$")
_LOWER_TIED = re.compile(r"(?<![A-Za-z])[a-z]{2,}[-–]$")
_DOUBTFUL = frozenset({"PS", "DM", "FF", "Lit"})
_MINUS_SIGNS = "-−–"


@cache
def _currency_before() -> re.Pattern[str]:
    prefixes = sorted(units.table().before, key=len, reverse=True)
    codes = "|".join(re.escape(p) for p in prefixes if p[0].isalpha())
    signs = "|".join(re.escape(p) for p in prefixes if not p[0].isalpha())
    return re.compile(rf"(?:(?<![A-Za-z$])(?:{codes})|(?:{signs}))(?=[ \u00a0]?[-−]?$)")


def read(text: str, item: Candidate, last: Candidate | None) -> bool:
    """Currency and sign before the digits; False if the digits belong to a name.

    `last` is the number read before, whose letters are none of this one's.
    """
    floor = last.end if last else 0
    start = item.start
    previous = text[start - 1] if start else " "
    if previous == "(" and text.startswith(")", item.end):  # a loss of "$(0.12)"
        found = _currency_before().search(text, max(floor, start - 9), start - 1)
        if found and found.end() == start - 1:
            _take_currency(item, found)
            item.mantissa, item.value_start = -item.mantissa, start - 1
            item.end = item.value_end = item.end + 1
            return True
    if (previous == " " and start > 1) or previous.isalpha() or not previous.isascii() or previous in "$-.=":
        found = _currency_before().search(text, max(floor, start - 9), start)
        if found and found[0] == "A $" and not _WORD_BEFORE.search(text, 0, found.start()):
            found = _currency_before().search(text, found.end() - 1, start)
        if found and (found[0] not in _DOUBTFUL or _is_price(text, item)):
            _take_currency(item, found)
            if previous in _MINUS_SIGNS:
                item.mantissa = -item.mantissa
                item.value_start = start - 1
        elif previous.isalpha() or _WORD_TIED.search(text, max(0, start - 2), start):
            if last is not None and _opens_range(text, last, start):
                return True
            if not _LOWER_TIED.search(text, max(0, start - 12), start):
                return False
            item.hyphened = not text.endswith(("minus-", "negative-"), 0, start)
    sign = _SIGN.search(text, max(floor, item.start - 9), item.start)
    if sign:
        item.mantissa, item.start = -item.mantissa, sign.start()
        if not item.currency_before:
            item.value_start = sign.start()
    return True


def _opens_range(text: str, last: Candidate, start: int) -> bool:
    """Whether the letter before the dash scales the number before: "10K–20K dollars", "10k EUR–20k EUR"."""
    return last.end == start - 1 and last.scale > 1 and text[last.value_end - 1] in numbers.LETTER_SCALES


def _take_currency(item: Candidate, found: re.Match[str]) -> None:
    item.unit, item.currency_before = units.table().before[found[0]], True
    item.start, item.unit_span = found.start(), found.span()


def _is_price(text: str, item: Candidate) -> bool:
    """Whether the number behind a prefix with other meanings is an amount: not in "PS5", "DM 12 patients"."""
    if numbers.SCALE.match(text, item.end):
        return True
    if item.end - item.start < 2 or text.startswith((" (", "/"), item.end):
        return False
    if text[item.start - 1].isalpha() and text.startswith(("-", "–"), item.end):
        return False  # an identifier: "DM95-231"
    unit = surfaces.simple_unit(text, item.end)
    return unit is None and counts.counted_noun(text, item.end, one=False) is None
