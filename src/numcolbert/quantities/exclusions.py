"""Numbers that are no quantities: dates, clock times, identifiers, names, references."""

from __future__ import annotations

import re

from numcolbert.quantities import surfaces
from numcolbert.quantities.numbers import LOCAL
from numcolbert.quantities.words import LABELS, NAMES, NOT_COUNTED, VERBS

MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
# What begins with a digit and holds no quantity.
_BLOCKED = re.compile(
    rf"""
    \d{{1,2}}(?P<separator>[/.-])\d{{1,2}}(?P=separator)(?:19|20)?\d\d\b  # 1/2/2020
  | (?:19|20)\d\d[-/]\d{{1,2}}[-/]\d{{1,2}}\b  # 2020-01-02
  | (?:0?[1-9]|1[0-2])/(?:19|20)\d\d\b  # 12/2024
  | \d{{1,2}}(?:st|nd|rd|th)?(?:\s?[-–/]\s?\d{{1,2}})?(?:\s+of)?[\s-]{MONTH}\b\.?
    (?:,?[\s-](?:19|20)?\d\d\b)?  # 29 March 2019
  | (?:19|20)\d\d\s?(?:-|–|—|/|to|and)\s?(?:(?:19|20)\d\d|\d\d)\b
    (?!\s?(?:%|pct|per\b|mln|bln|[a-z]{{1,5}}illion|[.,]\d))  # 1987-88
  | (?:1[5-9]|20)\d\ds\b | [1-9]0s\b  # 1980s
  | \d{{1,2}}[:.h]\d\d(?::\d\d)?\s?(?:a\.?m\b\.?|p\.?m\b\.?|gmt\b|est\b|edt\b|et\b)
  | \d{{1,2}}:\d\d(?::\d\d)?(?:\.\d+)?\b | \d{{1,2}}\s?(?:[ap]\.m\b\.?|[ap]m\b|o['’]clock)  # 10:27 PM
  | \d{{1,2}}\s?(?:-|–|to|and|or|until)\s?\d{{1,2}}(?::\d\d)?\s?(?:[ap]\.m\b\.?|[ap]m\b)  # 9 to 5 pm
  | \d{{3,4}}\s(?:gmt|est|edt)\b
  | (?:\d{{1,3}}[-.\s])?\(?\d{{3}}\)?[-.\s]\d{{3}}[-.]\d{{4}}\b | 1-8\d\d-[\w-]+  # telephone
  | (?=\d+\.\d+\.)(?!(?-ix:{LOCAL}))\d+(?:\.\d+){{2,}}\b  # 3.2.1, but not 1.000.000 €
  | \d+(?:[-–]\d+){{2,}}(?![\w.,%]\d|\d|%)  # 978-3-16-148410-0
  | \d['’]\s?\d{{1,2}}(?:["”″]|['’]{{2}})?(?!\d)  # 6'2"
  | (?:1080|1440|2160|4320)[pi]\b  # lines of a picture
  | (?:480|720)[pi]\s(?:videos?|streams?|displays?|screens?|web)
  | \d{{1,4}},\s\d{{1,5}}(?:[-–]\d{{1,5}})?\s\((?:19|20)\d\d\)  # J. Chem. 12, 345 (1998)
  | \d+(?:st|nd|rd|th)\b  # ordinals
  | 10\.\d{{4,}}/\S+  # a DOI
  | \d{{1,3}}(?P<gap>\s?)[:∶](?P=gap)\d{{1,3}}(?:,?\d{{3}})*(?:[-–]\d+)?(?!\d)  # 2:1, 1:10,000
  | \d{{1,3}}\s?:\s?\d{{2,5}}[-–]\d{{2,5}}(?=[).;,]|$)  # Lancet 21: 1121–1127
  | 24/7\b | 9/11\b | (?-i:(?:[2-6]G|[23]D|[48]K|3M|[1-4]Q(?:\d\d)?|[12]H(?:\d\d)?)\b) | 401\s?(?:\(k\)|k\b)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NOUGHT_FIRST = re.compile(r"(?P<first>0\d(?:\d+|-\d{2,}))(?:[\s./-]\d{2,})*(?![\d%])")  # 0800 123 456
_DATE = re.compile(  # what follows a month: "29", "29-30, 2019", "2019"
    r"(?:\d{1,2}(?:st|nd|rd|th)?(?:\s?(?:-|–|to|and|or|,)\s?\d{1,2}(?:st|nd|rd|th)?(?![\d.%]))*"
    r"(?:,?\s+(?:1[5-9]|20)\d\d\b)?|(?:1[5-9]|20)\d\d)(?![\d%]|[.,]\d)"
    r"(?!\s?(?:mln|bln|pct|per ?cent|million|billion))",
)
_MONTH_BEFORE = re.compile(rf"\b{MONTH}\.?,?\s$", re.IGNORECASE)
_AMOUNT_OPENED = re.compile(r"[$€£¥]\($")  # a loss of "$(5)"
_CITED = re.compile(r"\d{1,3}(?:\s?[-–,;]\s?\d{1,3})*\)")
_DIGITS = re.compile(r"\d+")
_TIED_BEFORE = re.compile(r"(?:[A-Za-z]|[A-Z][-–])\d+(?:[-–]\d+)*[-–]$")
_ABROAD = re.compile(r"\d{1,3}(?:[ .-]\(?\d{1,6}\)?){2,6}(?!\d)")  # behind "+"
_PHONE_BEFORE = re.compile(
    r"\b(?:call(?: us| me)?|phone|tel|telephone|fax|mobile|hotline|dial)(?: at| on)?[.:]?\s$", re.IGNORECASE
)
_PHONE = re.compile(r"\d{2,}(?:[ .-]\d{2,})+(?![\d%])")
_SHORT_CALL = re.compile(r"(?:911|999|112|111|101)\b(?![.,]?\d)")
_CLOCK_BEFORE = re.compile(r"\b(?:(?:half|quarter) past|at a quarter to)\s$", re.IGNORECASE)
_REFERENCE = re.compile(r"\d{1,3}(?:\s?[-–,]\s?\d{1,3})*(?=\s|$)")
_CITATION = re.compile(r"\d+(?:\s?[-–,;]\s?\d+)*\s?\]")
_ADDRESS_END = re.compile(r"\S*")
_ADDRESS = re.compile(r"(?:https?://|www\.|doi[:.]|\S+@)\S*$", re.IGNORECASE)


def blocked_until(text: str, start: int) -> int | None:
    """Where the date, clock time, citation or identifier ends that begins at `start`; None if none does."""
    previous = text[start - 1 : start]
    if match := _BLOCKED.match(text, start):
        if match[0] in ("3M", "4K", "8K") and (previous == "$" or surfaces.simple_unit(text, match.end())):
            return None  # "3M dlrs" are three million
        return match.end()
    if text[start] == "0" and (match := _NOUGHT_FIRST.match(text, start)):
        # In "MSDC-0160 150 mg" the name ends with its first group.
        return match.end("first") if surfaces.simple_unit(text, match.end()) else match.end()
    if previous == "[" and (match := _CITATION.match(text, start)):
        return match.end()
    if previous == "(" and not _AMOUNT_OPENED.search(text, 0, start) and (match := _CITED.match(text, start)):
        return match.end()
    if previous in ("-", "–") and _TIED_BEFORE.search(text, max(0, start - 12), start):
        return _DIGITS.match(text, start).end()  # type: ignore[union-attr]  # "L3–4", "A380-800"
    if previous in ("'", "’") and text[start + 2 : start + 3].strip("s ,.") == "":
        return start + 2  # '87
    if (
        previous in (".", ",", ";")
        and text[start - 3 : start - 1].islower()
        and not text.endswith("rs.", 0, start)
    ):
        match = _REFERENCE.match(text, start)  # a raised mark that came down: "in patients.12–14 Then"
        return match.end() if match else None
    if previous == ")" and (match := _REFERENCE.match(text, start)):
        return match.end()
    if previous == " ":
        return _blocked_behind_word(text, start)
    if previous == "+" and (match := _ABROAD.match(text, start)) and sum(map(str.isdigit, match[0])) > 7:
        return match.end()
    if previous in ("/", ".", "=", "_", "-", "@", ":") and _ADDRESS.search(text, max(0, start - 80), start):
        match = _ADDRESS_END.match(text, start)
        return match.end() if match else None
    if previous == "-" and text[max(0, start - 7) : start - 1].rstrip().lower().endswith("covid"):
        return start + 2
    return None


def _blocked_behind_word(text: str, start: int) -> int | None:
    """The same for what the word before tells: "March 29", "call 555-1234", "half past 5"."""
    window = max(0, start - 18)
    match = None
    if _MONTH_BEFORE.search(text, window, start):
        match = _DATE.match(text, start)
    elif before := _PHONE_BEFORE.search(text, window, start):
        dialled = before[0].lower().startswith("dial")
        match = _PHONE.match(text, start) or (_SHORT_CALL.match(text, start) if dialled else None)
    elif _CLOCK_BEFORE.search(text, window, start):
        match = _DIGITS.match(text, start)
    return match.end() if match else None


_IDENTIFIED = re.compile(
    r"\b(?:(?:pmid|pmcid|isbn|issn|cusip|isin|cas|sku|vin|id)\s?:?|(?:order|invoice|account|patent|case|serial|licence|license)"
    r" (?:no|nos|number|us|ep)\.?|patent)\s?#?$",
    re.IGNORECASE,
)
_LAST_WORD = re.compile(r"(?:([A-Za-z&'’]+)|[#№§])\.?[ \u00a0]?$")
_YEAR_BEFORE = re.compile(
    r"(?:\b(?:in|since|during|between|of|by|until|till|before|after|from|to|through|fiscal|year|early|late|mid|"
    r"ended|ending|january|february|march|april|may|june|july|august|september|october|november|december|"
    r"jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|summer|spring|fall|autumn|winter|and|versus|vs|the|for|full)"
    r"\.?,?|[-(,])\s*$",
    re.IGNORECASE,
)
_COUNTING_BEFORE = re.compile(
    r"(?:\b(?:total of|sample of|enrolled|randomi[sz]ed|recruited|included|n) ?|=\s?)$", re.IGNORECASE
)
COMPARISON_BEFORE = re.compile(
    r"(?:[<>=≤≥~≈]|\b(?:over|above|under|below|than|exceed(?:s|ing)?|least|most|about|around|nearly|almost|"
    r"approximately|roughly|up to|equals?|equal to|exactly|precisely|some))\s*$",
    re.IGNORECASE,
)


_YEARS = re.compile(r"(?:1[5-9]|2[01])\d\d(?:\s?(?:and|to|or|[-–])\s?(?:1[5-9]|2[01])\d\d)?")
_NAME_BEFORE = re.compile(r"(?:(?<![.?!:;]\s)(?<!^)\b[A-Z][A-Za-z&.'’]*|\b[A-Z][a-z]+,)\s$")
_NAME_AFTER = re.compile(r"\s[A-Z][a-z]|\s[A-Z]+\b")
_TIMES_AFTER = re.compile(r"\s?[x×*]\s?\d")
_LETTERS_AFTER = re.compile(r"[A-Za-z_]|-[A-Za-z]")


def is_year(text: str, start: int, surface: str) -> bool:
    """A bare four-digit number (or two) that reads as a year: "in 2019", "above 2019", not "over 2000"."""
    if not _YEARS.fullmatch(surface):
        return False
    compared = COMPARISON_BEFORE.search(text, max(0, start - 16), start)
    return not (compared and (surface.endswith("0") or not "1980" <= surface[:4] <= "2030"))


def is_year_before_noun(text: str, start: int, surface: str) -> bool:
    """Whether no noun is counted: "2018 sales", "in 1950 customers ...", but not "total of 2018 patients"."""
    if not is_year(text, start, surface):
        return False
    if "1980" <= surface[:4] <= "2030":
        return not _COUNTING_BEFORE.search(text, max(0, start - 16), start)
    return bool(_YEAR_BEFORE.search(text, max(0, start - 16), start))


_EARLY_YEAR = re.compile(r"1[0-4]\d\d")
_ANCIENT_YEAR = re.compile(r"\d{2,3}")
_ANCIENT_YEAR_BEFORE = re.compile(
    r"\b(?:born|built|completed|consecrated|crowned|destroyed|died|finished|founded|opened|sacked) in\s$"
)
_EARLY_YEAR_BEFORE = re.compile(r"(?:\b(?:[Ii]n|[Ss]ince|[Uu]ntil|[Bb]efore|[Aa]fter)|\b[A-Z]\w+ of)\s$")


def is_early_year(text: str, start: int, surface: str) -> bool:
    """A bare number that reads as a year before the modern ones: "Hastings of 1066", "completed in 80"."""
    window = max(0, start - 24)
    if _ANCIENT_YEAR.fullmatch(surface):
        return _ANCIENT_YEAR_BEFORE.search(text, window, start) is not None
    return bool(_EARLY_YEAR.fullmatch(surface) and _EARLY_YEAR_BEFORE.search(text, window, start))


_LAST_NAME = re.compile(r"(?<![\w-])([A-Z][\w&'’-]*)\s$")
_TWO_NAMES = re.compile(r"\b[A-Z][\w-]+ [A-Z][a-z]+\s$")
_VERB_AFTER = re.compile(
    r"(?:\s[A-Z][\w-]*){0,2}\s(?:is|was|has|had|can|could|will|would|[a-z]+ed|"
    + "|".join(sorted(VERBS))
    + r")\b"
)
# Words that may open a sentence right before a number that counts.
_OPENERS = frozenset(
    {"nearly", "almost", "approximately", "roughly", "exactly", "another", "total", "overall"}
)
_NUMBER_AFTER = re.compile(r"\s\d")


def _follows_name(text: str, start: int) -> bool:
    word = _LAST_NAME.search(text, max(0, start - 24), start)
    return word is not None and word[1].lower() not in NOT_COUNTED and word[1].lower() not in _OPENERS


def is_named(text: str, start: int, noun: str, end: int) -> bool:
    """Part of a name, before a verb taken for a noun: "the Cessna 172 seats 3", "the 990 Pro drive holds"."""
    *words, last = noun.split(" ")
    verb, measured = last in VERBS, _NUMBER_AFTER.match(text, end) is not None
    return (verb or measured) and (_follows_name(text, start) or (verb and measured and bool(words)))


_PART_OF_NAME = re.compile(r"(?:[A-Z]{2,}/|(?<![A-Za-z.])[A-Z]\.)$")  # HTTP/2, H.264
_CAPITALS_BEFORE = re.compile(r"(?<![\w.])[A-Z]{2,}\s$")


def is_model(text: str, start: int, surface: str) -> bool:
    """A model number before a noun: "DPS 7000 computers", "HTTP/2 servers"."""
    return surface.isdigit() and any(
        pattern.search(text, max(0, start - 10), start) for pattern in (_CAPITALS_BEFORE, _PART_OF_NAME)
    )


def is_labelled(text: str, start: int) -> bool:
    """A label right before a number names a thing: "Figure 3", "type 2", "iPhone 15"."""
    word = _LAST_WORD.search(text, max(0, start - 20), start)
    if word is not None and (
        word[1] is None or word[1].lower() in LABELS or (word[1][0].isupper() and word[1].lower() in NAMES)
    ):
        return True
    return _IDENTIFIED.search(text, max(0, start - 20), start) is not None


def is_titled(text: str, start: int) -> bool:
    """A number word in a title: "Stage Three", "Tier one", but not "the top five"."""
    word = _LAST_WORD.search(text, max(0, start - 20), start)
    return word is not None and bool(word[1]) and word[1][0].isupper() and word[1].lower() in LABELS


def is_name(text: str, start: int, end: int, surface: str) -> bool:
    """A bare number inside a name: "Boeing 737", "49 Ranch Road", "Armstrong, 25,"."""
    if _LETTERS_AFTER.match(text, end) or _TIMES_AFTER.match(text, end):
        return True
    if _PART_OF_NAME.search(text, max(0, start - 8), start):
        return True
    if start == 0 and _NAME_AFTER.match(text, end):  # a section number: "4.3 This trial ..."
        return True
    if COMPARISON_BEFORE.search(text, max(0, start - 16), start):
        return False
    if _VERB_AFTER.match(text, end):  # "Apollo 10 returned", "the Bugatti Veyron 16.4 has"
        whole = surface.isdigit() and _follows_name(text, start)
        if whole or _TWO_NAMES.search(text, max(0, start - 40), start):
            return True
    return surface.replace("-", "").isdigit() and bool(
        _NAME_AFTER.match(text, end) or _NAME_BEFORE.search(text, max(0, start - 24), start)
    )
