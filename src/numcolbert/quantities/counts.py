"""Finds the noun that a bare number counts: "1,200 patients", "seven European countries"."""

from __future__ import annotations

import re
from functools import cache

IRREGULAR = {
    "people": "person", "persons": "person", "men": "man", "women": "woman", "children": "child", "feet": "foot",
    "mice": "mouse", "lives": "life", "wives": "wife", "knives": "knife", "halves": "half", "shelves": "shelf",
    "leaves": "leaf", "criteria": "criterion", "analyses": "analysis", "series": "series", "staff": "staff",
    "fishermen": "fisherman", "businessmen": "businessman", "buses": "bus", "viruses": "virus", "gases": "gas",
    "bonuses": "bonus", "crises": "crisis", "diagnoses": "diagnosis", "species": "species", "personnel":
    "personnel", "shr": "share", "movies": "movie", "calories": "calorie", "cookies": "cookie", "aircraft":
    "aircraft", "homicides": "homicide", "teeth": "tooth", "shoes": "shoe", "axes": "axis", "bases": "basis",
    "matrices": "matrix", "indices": "index", "vertices": "vertex", "genera": "genus", "bacteria": "bacterium",
    "data": "data", "sheep": "sheep", "fish": "fish",
}  # fmt: skip
# Words that end a search for a counted noun: function words, verbs, adverbs that often follow a number.
NOT_COUNTED = frozenset(
    """a an the and or of in on at by to for from with without into over under between among per as is are was
    were be been being has have had having does did do done will would could should may might must can shall than
    then that this these those which who whom whose what when where while but if so not no nor yet it its he she
    they we you i his her their our your my him them us me also however vs versus plus minus up down about around
    above below after before since until during through against due because including although though whereas
    compared respectively ago later earlier each both either all any some more less least much many few
    further only just even still now already again too very well there here out off onto upon within across
    towards toward via such said says say according rose fell gained lost added dropped
    jumped slid climbed went goes comes makes takes looks increased decreased declined grew reported
    remains stays stands seems appears becomes gets gives shows includes means represents indicates suggests
    times always perhaps besides hence thus plus whereas unless nevertheless nonetheless afterwards overseas
    yes his hers ours yours theirs this us was has does is as its plus less across unless versus us
    january february march april may june july august september october november december jan feb mar apr jun jul
    aug sept sep oct nov dec monday tuesday wednesday thursday friday saturday sunday mln bln pct dlrs cts stg
    am pm a.m p.m gmt est edt shr net revs avg qtly div nine six mths""".split()
)
_ENDS_WITH_S = frozenset("ss us is as".split())
_WORD = re.compile(r"[ \u00a0\u2009-]([A-Za-z][A-Za-z'’-]*)")
MAX_WORDS = 4
# Nouns that stay singular between a number and what it describes: "an 11 member agreement".
_MODIFIERS = frozenset(
    "member person man woman speed cylinder gauge story bed seat patient item site arm".split()
)


@cache
def singular(word: str) -> str:
    """The lemma of a lower-case noun, by rule: 'countries' -> 'country'."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    if word.endswith("s") and word[-2:] not in _ENDS_WITH_S and len(word) > 2:
        return word[:-1]
    return word


def is_plural(word: str) -> bool:
    return word in IRREGULAR or (len(word) > 3 and word.endswith("s") and word[-2:] not in _ENDS_WITH_S)


def counted_noun(text: str, start: int, one: bool) -> tuple[str, int, int] | None:
    """(lemma, start, end) of the noun phrase after a number that ends at `start`.

    The first plural within four words is the head ("heart transplants"), as English marks number there;
    after "one" or "a" the word itself must do. A lower-case word that cannot stand inside a noun phrase
    ends the search.
    """
    position, begin = start, -1
    tied = text[start : start + 1] == "-"
    for _ in range(MAX_WORDS):
        match = _WORD.match(text, position)
        if match is None:
            return None
        word = match[1].rstrip("'’-")
        lower = word.lower().removesuffix("'s").removesuffix("’s")
        if lower in ("and", "or") and 0 <= begin and position > begin:  # "digital and physical sales"
            position = match.end()
            continue
        if lower in NOT_COUNTED or lower.endswith("ly"):
            return None
        if begin < 0:
            begin = match.start(1)
        end = match.start(1) + len(word)
        if tied:  # "six-cylinder engines" has six cylinders
            return singular(lower.split("-", 1)[0]), begin, begin + len(lower.split("-", 1)[0])
        head = lower.rsplit("-", 1)[-1]
        possessive = lower != word.lower()
        if one and not possessive:
            return singular(head), begin, end
        if not possessive and (is_plural(head) or (begin == match.start(1) and head in _MODIFIERS)):
            return singular(head), begin, end
        position = end
    return None
