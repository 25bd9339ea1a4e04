"""From a noun phrase to the name of a concept: "our third-quarter total revenues" -> "revenue"."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import TYPE_CHECKING

from numcolbert.data.concept_table import singular, table
from numcolbert.data.words import word_list
from numcolbert.quantities.numbers import SCALES

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

PHRASE_POS = frozenset(("NOUN", "PROPN", "ADJ", "ADV", "VERB", "PART", "NUM", "SYM", "X"))
LONGEST_NAME = 5

HEDGES = word_list("hedges")

LOOSE_MODIFIERS = word_list("loose_modifiers")

GENERIC_HEADS = word_list("generic_heads")

UNCOUNTED = word_list("uncounted")
KINDLESS = word_list("kindless")
RELATIONAL_HEADS = word_list("relational_heads")
OWNERS = word_list("owners")

PER_SHARE = ("share", "diluted", "diluted share", "common share", "unit")
# "60% VO2max" and "5% of body weight" are shares of the thing and not its value.
PERCENT_OF = frozenset(
    (
        "maximal oxygen uptake",
        "heart rate",
        "forced expiratory volume",
        "forced vital capacity",
        "body weight",
    )
)
# Nouns that the tree may hang as adverbs on the verb: "an asset writedown" is no asset.
WRITE_DOWNS = frozenset(("writedown", "writedowns", "writeoff", "writeoffs", "writeup"))
CHANGE_WORDS = {True: "growth", False: "decline"}
_WORD = re.compile(r"[A-Za-z][\w&'’/.+-]*")
_DATE = re.compile(
    r"^(?:q[1-4]|[12]\d{3}|fy\d*|h[12]|[’']?\d{2}|\d{4}[-/]\d{2,4}|(?:jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec)[a-z.]*)$",
    re.IGNORECASE,
)


def name_of(noun: Token, inside: Container[int]) -> str | None:
    """The concept named by the phrase around `noun`, or None for a phrase that is none."""
    if noun.pos_ not in ("NOUN", "PROPN") or noun.i in inside:
        return None
    words = _left_words(noun, inside)
    if not words:
        return None
    if any(child.dep_ == "conj" and child.pos_ in ("NOUN", "PROPN") for child in noun.children):
        # "revenue and EBITDA were ..." may mean either; only "depreciation and amortization" is one thing
        return _joint(noun, words)
    complement = _complement(noun, words, inside)
    if complement is _BLOCKED or (complement is None and _goes_on(noun)):
        return None
    return resolve(words, complement, proper=noun.pos_ == "PROPN")


def _goes_on(noun: Token) -> bool:
    """The next words belong to the name, wherever the tree hangs them: "cash from operations"."""
    after = noun.doc[noun.i + 1 : noun.i + 3]
    if len(after) and after[0].lower_ in WRITE_DOWNS:
        return True
    return (
        len(after) == 2 and after[0].lower_ in ("from", "under") and after[1].pos_ in ("NOUN", "ADJ", "VERB")
    )


def resolve(words: list[str], complement: str | None = None, *, proper: bool = False) -> str | None:
    """Normalise a phrase given as words, head last; `complement` is "of X" or "per X"."""
    known = table()
    lowered = [word.lower().strip("'’.,") for word in words]
    lowered = [word for word in lowered if word]
    if not lowered:
        return None
    if complement:
        whole = f"{lowered[-1]} {complement}"
        for start in range(len(lowered)):
            candidate = " ".join([*lowered[start:-1], whole])
            if (name := known.canonical(candidate)) and _all_loose(lowered[:start]):
                return name
    else:
        for start in range(len(lowered)):
            if (name := known.canonical(" ".join(lowered[start:]))) and _all_loose(lowered[:start]):
                return name
    kept = [word for i, word in enumerate(lowered) if i == len(lowered) - 1 or not _is_loose(word)]
    head = singular(kept[-1])
    if not _WORD.fullmatch(head) or (len(head) < 3 and not known.canonical(head)):
        return None
    if head in GENERIC_HEADS and not (complement and head in RELATIONAL_HEADS) and len(kept) == 1:
        return None
    if head in GENERIC_HEADS and len(kept) > 1 and head not in QUALIFIED_HEADS:
        return None
    if (
        proper
        and complement is None
        and len(kept) == 1
        and not known.canonical(head)
        and not _looks_common(words[-1])
    ):
        return None
    name = " ".join([*kept[:-1], head])
    if complement:
        name = f"{name} {complement}"
    if len(name.split()) > LONGEST_NAME or any(_DATE.match(word) for word in kept):
        return None
    return known.canonical(name) or name


QUALIFIED_HEADS = word_list("qualified_heads")


def counted(span: Span) -> str | None:
    """The noun that is counted, with its modifiers; what can be counted need not be a property."""
    text = [token.lower_ for token in span if token.pos_ in ("NOUN", "PROPN", "ADJ")]
    text = [word for word in text if not _is_loose(word) and word not in KINDLESS and word not in SCALES]
    if not text or text[-1] in UNCOUNTED or not all(_WORD.fullmatch(word) for word in text) or len(text) > 3:
        return None
    return " ".join([*text[:-1], singular(text[-1])])


def known_before(doc: Doc, at: int) -> str | None:
    """A concept of the table whose name ends at token `at`: 'propofol' before '2 mg/kg'."""
    for length in (3, 2, 1):
        if at - length + 1 >= 0:
            name = table().canonical(doc[at - length + 1 : at + 1].text.lower())
            if name and doc[at].pos_ in ("NOUN", "PROPN"):
                return name
    return None


def known_after(doc: Doc, at: int, *, money: bool = False) -> str | None:
    """A substance of the table right behind its dose: '100 mg aspirin', '5 ml of normal saline'."""
    if part := at < len(doc) and doc[at].lower_ == "of":
        at += 1
    for length in (3, 2, 1):
        words = doc[at : at + length]
        if len(words) == length and words[-1].pos_ in ("NOUN", "PROPN"):
            if (part or money) and words[-1].dep_ == "compound" and words[-1].head.i >= at + length:
                return None  # "$5 million of working capital financing", "a $5 million asset writedown"
            name = table().canonical(words.text.lower())
            if name:
                return name
    return None


def change(name: str, *, rises: bool) -> str | None:
    """'revenue' -> 'revenue growth'; a change of a change is nothing anyone asks for."""
    return None if is_change(name) else f"{name} {CHANGE_WORDS[rises]}"


def is_change(name: str) -> bool:
    return name.endswith(("growth", "decline", "increase", "decrease", "reduction", "improvement", "change"))


def may_be_negative(name: str) -> bool:
    """Margins and returns fall below zero; rates and concentrations do not."""
    return is_change(name) or any(word in name for word in ("margin", "return", "sales", "revenue", "yield"))


def for_dimension(name: str, dimension: str) -> str | None:
    """The name once it is known what kind of quantity describes it: "net income" per share is EPS."""
    known = table()
    if "/" in dimension and dimension.startswith("currency:") and (per_share := known.per_share(name)):
        return per_share if dimension.split("/")[1] in PER_SHARE else None
    if dimension == "percent" and name in PERCENT_OF:
        return None
    if name == "body weight" and "/mass" in dimension:
        return None  # "2 µg/kg body weight" is the dose of something else
    if dimension == "ratio" and "debt" in name:
        return "net leverage" if name == "net debt" else None
    return name


class _Blocked(str):
    __slots__ = ()


_BLOCKED = _Blocked("")


def _left_words(noun: Token, inside: Container[int]) -> list[str]:
    """The noun and the modifiers that stand directly before it."""
    first = noun.i
    doc = noun.doc
    while first > 0:
        token = doc[first - 1]
        if token.i in inside or token.pos_ in ("DET", "PRON") or token.dep_ == "poss" or token.tag_ == "POS":
            break
        hyphen = token.text == "-" and first > 1
        attached = token.dep_ in ("compound", "amod", "nmod", "npadvmod", "advmod", "nummod", "punct") and (
            token.head.i >= first and token.head.i <= noun.i
        )
        if not (attached or hyphen) or (token.pos_ in ("PUNCT", "CCONJ") and not hyphen):
            break
        if token.pos_ == "NUM" and not re.search("[a-zA-Z]", token.text):
            break
        first -= 1
    return _joined_hyphens([doc[i].text for i in range(first, noun.i + 1)])


def _joined_hyphens(tokens: list[str]) -> list[str]:
    text = " ".join(tokens)
    return re.sub(r"\s*-\s*", "-", text).strip("-").split()


def _joint(noun: Token, words: list[str]) -> str | None:
    following = noun.doc[noun.i + 1 : noun.i + 4].text.lower().split()
    for length in (3, 2):
        phrase = " ".join([*words, *following[:length]]).lower()
        for start in range(len(words)):
            name = table().canonical(" ".join(phrase.split()[start:]))
            if name and _all_loose(
                [word.lower() for word in words[:start]]
            ):  # not "higher depreciation and ..."
                return name
    return None


def _complement(noun: Token, left: list[str], inside: Container[int]) -> str | None:
    """'per share', 'of surgery'; None where it says no more, _BLOCKED where it cannot be named."""
    for child in noun.children:
        if child.dep_ != "prep" or child.i < noun.i:
            continue
        preposition = child.lower_
        target = next((t for t in child.children if t.dep_ in ("pobj", "pcomp")), None)
        if target is None or target.i in inside:
            continue
        if preposition == "per":
            return f"per {singular(target.lower_)}"
        if preposition not in ("of", "on", "to", "from", "under") or child.i - noun.i > 2:
            continue
        words = [w.lower() for w in _left_words(target, inside)]
        words = [w for i, w in enumerate(words) if i == len(words) - 1 or not _is_loose(w)]
        if not words:
            return _BLOCKED
        head = singular(words[-1])
        if target.pos_ == "PRON" or head in OWNERS or target.ent_type_ or _DATE.match(head):
            continue
        if preposition == "of" and target.pos_ == "PROPN" and noun.lemma_.lower() not in RELATIONAL_HEADS:
            continue
        if preposition != "of":
            tail = f"{preposition} {' '.join(words)}"
            known = any(table().canonical(" ".join([*left[i:], tail]).lower()) for i in range(len(left)))
            if known:
                return tail
            if preposition == "on":
                continue
            return _BLOCKED  # "earnings from an investment", "debt to capital", "assets under construction"
        if target.pos_ not in ("NOUN", "PROPN") or len(words) > 3:
            return _BLOCKED
        plural_kept = " ".join(words)
        if table().canonical(f"{noun.lower_} of {plural_kept}"):
            return f"of {plural_kept}"
        return f"of {' '.join([*words[:-1], head])}"
    return None


def _is_loose(word: str) -> bool:
    return word in LOOSE_MODIFIERS or word in HEDGES or bool(_DATE.match(word))


def _all_loose(words: list[str]) -> bool:
    return all(_is_loose(word) for word in words)


def _looks_common(word: str) -> bool:
    """A drug or a measure at the start of a sentence is tagged as a name; an unknown acronym is one."""
    return word[1:].islower() and len(word) > 4
