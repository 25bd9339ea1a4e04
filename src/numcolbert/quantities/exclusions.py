"""Numbers that are no quantities: dates, clock times, identifiers, names, references."""

from __future__ import annotations

import re

MONTH = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"  # noqa: E501
# Stretches of text in which no digit is a quantity.
BLOCKED = re.compile(
    rf"""
    (?:https?://|www\.)\S+ | [\w.+-]+@[\w-]+\.[\w.]+                        # addresses
  | \b\d{{1,2}}[/.-]\d{{1,2}}[/.-](?:19|20)?\d\d\b | \b(?:19|20)\d\d[-/]\d{{1,2}}[-/]\d{{1,2}}\b  # 1/2/2020
  | \b{MONTH}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?(?:\s?(?:-|–|to|and|or|,)\s?\d{{1,2}}(?:st|nd|rd|th)?(?![\d.%]|\s?(?:mln|bln|pct|per|[a-z]*illion)))*(?:,?\s+(?:19|20)\d\d\b)?(?![\d.]*[%\d])  # March 29 2019
  | \b\d{{1,2}}(?:st|nd|rd|th)?(?:\s?[-–/]\s?\d{{1,2}})?(?:\s+of)?[\s-]{MONTH}\b\.?(?:,?[\s-](?:19|20)?\d\d\b)?
  | \b(?:19|20)\d\d\s?(?:-|–|—|/|\bto\b|and)\s?(?:(?:19|20)\d\d|\d\d)\b(?!\s?(?:%|pct|per\b|[a-z]*illion|mln|bln|[.,]\d))  # 1987-88
  | ['’]\d\d(?:s\b|\b) | \b(?:19|20|18)\d\ds\b | \b\d0s\b                    # the 1980s, '87
  | (?-i:\b(?:FY|CY|Q|H)\s?['’]?\d{{1,4}}\b | \b[1-4]Q(?:\d\d)?\b | \b[12]H(?:\d\d)?\b)            # Q3, FY21
  | \b\d{{1,2}}[:.h]\d\d(?::\d\d)?\s?(?:a\.?m\b\.?|p\.?m\b\.?|gmt|est|edt|et|pt|hrs|hours\b)
  | \b\d{{1,2}}:\d\d(?::\d\d)?(?:\.\d+)?\b | \b\d{{1,2}}\s?(?:[ap]\.m\b\.?|[ap]m\b|o['’]clock)  # 10:27 PM
  | \b\d{{3,4}}\s(?:gmt|GMT|est|EST|edt|EDT)\b
  | \b(?:\+?\d{{1,3}}[-.\s])?\(?\d{{3}}\)?[-.\s]\d{{3}}[-.]\d{{4}}\b | \b1-8\d\d-[\w-]+        # telephone
  | \b\d+(?:\.\d+){{2,}}\b                                                   # 3.2.1
  | \[\s?\d+(?:\s?[-–,;]\s?\d+)*\s?\]                                        # [12, 14]
  | \b\d+(?:st|nd|rd|th)\b                                                   # ordinals
  | \b24/7\b | \b9/11\b
  | \bcovid\s?-\s?19\b | (?-i:\b(?:[2-6]G|[23]D|[48]K|401\(?k\)?)\b)
    """,  # noqa: E501
    re.VERBOSE | re.IGNORECASE,
)
# A label right before a number names a thing: "Figure 3", "Section 12", "type 2", "iPhone 15".
LABEL = re.compile(
    r"(?:\b(?:fig(?:ure|s|ures)?|tables?|sections?|sec|chapters?|pages?|pp?|eq(?:uation)?s?|appendix|items?|rows?|"
    r"slides?|exhibits?|notes?|footnotes?|steps?|parts?|paragraphs?|articles?|rules?|lines?|boxes|box|"
    r"figs?|refs?|references?|phases?|types?|groups?|stages?|grades?|classe?s?|levels?|tiers?|categor(?:y|ies)|"
    r"cohorts?|arms?|visits?|weeks?|days?|months?|years?|cycles?|periods?|trials?|stud(?:y|ies)|experiments?|"
    r"models?|versions?|series|mark|route|highway|interstate|channel|flight|gate|lot|unit|units|suite|apt|"
    r"nos?\.?|number|numbers|#|vol(?:ume)?\.?|issue|episodes?|seasons?|rounds?|games?|quarter|question|scenario|"
    r"iphone|ipad|galaxy|windows|android|ios|playstation|xbox|boeing|airbus|fortune|nasdaq|russell|nikkei|"
    r"s\s?&?\s?p|ftse|dax|cac|dow|big|top|formula|basel|area|title|category|catalog|case|code|zip|id|isbn|issn|doi|"
    r"form|schedule|act|bill|resolution|proposition|amendment|psalm|vitamin|factor|chromosome|exon|omega)"
    r"|[#№§])\.?\s?$",
    re.IGNORECASE,
)
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
    r"approximately|roughly|up to|equals?|some))\s*$",
    re.IGNORECASE,
)


def blocked_spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in BLOCKED.finditer(text)]


_YEARS = re.compile(r"(?:1[5-9]|2[01])\d\d(?:\s?(?:and|to|or|[-–])\s?(?:1[5-9]|2[01])\d\d)?")
_NAME_BEFORE = re.compile(r"(?:(?<![.?!:;]\s)(?<!^)\b[A-Z][A-Za-z&.'’]*|\b[A-Z][a-z]+,)\s$")
_NAME_AFTER = re.compile(r"\s[A-Z][a-z]|\s[A-Z]+\b")
_LETTERS_AFTER = re.compile(r"[A-Za-z_]|-[a-z]")


def is_year(text: str, start: int, surface: str) -> bool:
    """A bare four-digit number (or two) that reads as a year."""
    return bool(_YEARS.fullmatch(surface)) and not COMPARISON_BEFORE.search(text, max(0, start - 16), start)


def is_year_before_noun(text: str, start: int, surface: str) -> bool:
    """ "2018 sales" and "in 1950 customers ..." count nothing; "total of 2018 patients", "1650 subjects" do."""
    if not is_year(text, start, surface):
        return False
    if "1980" <= surface[:4] <= "2030":
        return not _COUNTING_BEFORE.search(text, max(0, start - 16), start)
    return start == 0 or bool(_YEAR_BEFORE.search(text, max(0, start - 16), start))


def is_labelled(text: str, start: int) -> bool:
    return bool(LABEL.search(text, max(0, start - 20), start))


def is_name(text: str, start: int, end: int, surface: str) -> bool:
    """A bare number inside a name: "Boeing 737", "49 Ranch Road", "Armstrong, 25,"."""
    if _LETTERS_AFTER.match(text, end):
        return True
    return surface.isdigit() and bool(
        _NAME_AFTER.match(text, end) or _NAME_BEFORE.search(text, max(0, start - 24), start)
    )
