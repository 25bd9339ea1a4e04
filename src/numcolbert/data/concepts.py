"""Which noun phrase a quantity describes, read off the dependency tree.

"Adjusted EBITDA was $5 million" says something about adjusted EBITDA; "revenue increased 12% to $2.2 billion"
says two things, about the growth of revenue and about revenue. These phrases become relevance labels, so the
rules here would rather say nothing than guess: no phrase for bounds ("at least 18 years"), for ratios ("12%
of patients"), for subjects that own or pay the amount rather than measure it ("we paid $5 million").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from numcolbert.data import headlines
from numcolbert.data import noun_phrases as phrases
from numcolbert.data.stated import states_value
from numcolbert.data.words import word_list
from numcolbert.errors import UsageError
from numcolbert.types import Quantity

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

LEVEL_VERBS = word_list("level_verbs")
LEVEL_VERBS_AT = word_list("level_verbs_at")
RISE = word_list("rise_verbs")
FALL = word_list("fall_verbs")
UP = frozenset(["up", "higher"])
DOWN = frozenset(["down", "lower"])
TIME_NOUNS = word_list("time_nouns")
RISE_NOUNS = word_list("rise_nouns")
FALL_NOUNS = word_list("fall_nouns")
COMPARISONS = word_list("comparisons")

SIGNED = frozenset(("percent", "percentage_point", "temperature"))
# What is added to an amount, or taken from it, is not the amount: "added $0.02 of FFO".
CONTRIBUTED = re.compile(
    r"\b(?:add(?:s|ed|ing)?|contribut(?:e|es|ed|ing)|releas(?:e|es|ed|ing)|up|down|negative|worth)\s+"
    r"(?:(?:an?|about|additional|almost|another|approximately|around|incremental|nearly|roughly|some)\s+)*$",
    re.IGNORECASE,
)
OR_ELSE = re.compile(r",?\s*or(?:\s+about)?\s+")


def find(doc: Doc, quantities: Sequence[Quantity]) -> list[str | None]:
    """For each quantity of the sentence the phrase it describes, normalised, or None where unsure."""
    found = headlines.find(doc.text, quantities)
    if found is not None:
        return found
    finder = _Finder(doc, quantities)
    return [finder.phrase(position) for position in range(len(quantities))]


class _Finder:
    """The rules, with the sentence they look at."""

    def __init__(self, doc: Doc, quantities: Sequence[Quantity]) -> None:
        self.doc = doc
        self.quantities = quantities
        self.spans = [_tokens(doc, quantity) for quantity in quantities]
        self.inside: dict[int, int] = {}
        """Token -> the quantity it belongs to."""
        for position, span in enumerate(self.spans):
            for token in span:
                self.inside.setdefault(token.i, position)

    def phrase(self, position: int) -> str | None:
        quantity = self.quantities[position]
        signed = quantity.dimension in SIGNED or quantity.dimension.startswith("currency:")
        if not states_value(self.doc.text, quantity) or (quantity.value < 0 and not signed):
            return None  # a waist of -5 cm is a change of the waist
        if quantity.dimension.startswith("count:"):
            return self._counted(position)
        found = self._of_noun(position) or self._subject(position) or self._modified(position)
        found = found or self._beside(position) or self._again(position)
        if (
            found
            and quantity.value < 0
            and quantity.dimension == "percent"
            and not phrases.may_be_negative(found)
        ):
            return None  # an HbA1c of -0.3% is a change of it
        if found and quantity.value < 0 and found.endswith(phrases.CHANGE_WORDS[False]):
            return None  # "a decrease of -1.1%" is one of 1.1%
        return found and phrases.for_dimension(found, quantity.dimension)

    # -- where the phrase stands -------------------------------------------------------------------------

    def _root(self, position: int) -> Token:
        """The token of the quantity that hangs on the rest of the sentence."""
        span = self.spans[position]
        for token in span:
            if token.head.i < span.start or token.head.i >= span.end or token.head is token:
                return token
        return span.root

    def _of_noun(self, position: int) -> str | None:
        """'revenue of $5 million', 'a pressure at 80 mmHg'."""
        root = self._root(position)
        preposition = root.head
        if root.dep_ != "pobj" or preposition.lower_ not in ("of", "at", "to", "by", "from"):
            return None
        noun = preposition.head
        if noun.i in self.inside or noun.pos_ not in ("NOUN", "PROPN"):
            return None
        if preposition.lower_ != "of":
            return None
        above = noun.head.head if noun.dep_ == "pobj" and noun.head.lower_ in ("in", "of") else noun
        lemma = above.lemma_.lower()
        if above is not noun and (lemma in RISE_NOUNS or lemma in FALL_NOUNS):
            base = self._name(noun)  # "a reduction in CRP of 0.13 mg/L"
            return base and phrases.change(base, rises=lemma in RISE_NOUNS)
        if above is not noun and lemma in ("change", "difference", "variation"):
            return None
        return self._measured(noun)

    def _measured(self, noun: Token) -> str | None:
        """The phrase headed by `noun`; for 'an increase in revenue' the growth of that revenue."""
        lemma = noun.lemma_.lower()
        if lemma in RISE_NOUNS or lemma in FALL_NOUNS:
            inner = _object_of(noun, ("in", "of"), self.inside)
            if inner is not None:
                base = self._name(inner)
                return base and phrases.change(base, rises=lemma in RISE_NOUNS)
            if noun.n_lefts == 0:
                return None
        return self._name(noun)

    def _subject(self, position: int) -> str | None:
        """'EBITDA was $5 million', 'sales rose 12% to $5 million', 'revenue was up 4%'."""
        root = self._root(position)
        link = root
        preposition = ""
        if root.dep_ == "pobj":
            link = root.head
            preposition = link.lower_
            while link.dep_ == "prep" and link.head.dep_ == "prep":  # "compared to", "in at"
                link = link.head
                preposition = f"{link.lower_} {preposition}"
        verb = link.head
        adverb = ""
        if verb.lower_ in UP | DOWN and verb.head.pos_ in ("VERB", "AUX"):
            adverb, verb = verb.lower_, verb.head
        elif verb.pos_ not in ("VERB", "AUX"):
            return None
        subject = _subject_of(verb, self.inside)
        if subject is None or subject.i in self.inside:
            return None
        return self._says(verb, adverb, preposition, subject, position)

    def _says(self, verb: Token, adverb: str, preposition: str, subject: Token, position: int) -> str | None:
        lemma = verb.lemma_.lower()
        name = self._name(subject)
        if name is None:
            return None
        words = preposition.split()
        change = lemma in RISE or lemma in FALL or bool(adverb)
        rises = lemma in RISE if not adverb else adverb in UP
        if adverb and lemma not in LEVEL_VERBS | LEVEL_VERBS_AT | RISE | FALL:
            return None  # "net flows drove balances up 28% to $94 billion"
        if change:
            if not words or words == ["by"]:
                if self._ends_change(position):
                    return None if phrases.is_change(name) else name
                return phrases.change(name, rises=rises)
            if words[-1] in ("to", "from") and len(words) == 1 and not phrases.is_change(name):
                return name
            return None
        if words and words[0] in COMPARISONS:
            return name if lemma in LEVEL_VERBS else None
        if not words and lemma in LEVEL_VERBS:
            return name if self._first_complement(verb, position) else None
        if words in (["to"], ["from"]) and lemma in ("amount", "come"):
            return name
        if words in (["to"], ["from"]) and lemma == "range":  # one end alone is no value
            return name if self.quantities[position].low is not None else None
        if words and words[-1] == "at" and lemma in LEVEL_VERBS_AT:
            return name
        if words == ["in"] and lemma == "come":
            return name
        return None

    def _ends_change(self, position: int) -> bool:
        """The value is where a change led to, as in 'fell by $44 million to $355 million'."""
        if position == 0:
            return False
        before, here = self.quantities[position - 1], self.quantities[position]
        gap = self.doc.text[before.span[1] : here.span[0]]
        return before.dimension == here.dimension and gap.strip() == "to"

    def _first_complement(self, verb: Token, position: int) -> bool:
        """Nothing but hedges stands between verb and quantity: 'was about $5 million'."""
        span = self.spans[position]
        between = self.doc[verb.i + 1 : span.start]
        return all(
            token.lower_ in phrases.HEDGES
            or token.i in self.inside
            or token.is_punct
            or token.lower_ in ("or", "and")
            for token in between
        )

    def _modified(self, position: int) -> str | None:
        """'a $300 million credit facility', '100 mg codeine'; '$50 million of free cash flow'."""
        quantity, root = self.quantities[position], self._root(position)
        if root.dep_ in ("nummod", "compound", "amod", "quantmod", "nmod") and root.head.i not in self.inside:
            noun = root.head
            if quantity.dimension == "time" and noun.lemma_.lower() not in TIME_NOUNS:
                return None  # "30-day mortality" is no time
            if noun.i > root.i and noun.pos_ in ("NOUN", "PROPN"):
                return self._measured(noun) if self._adjacent(position, noun) else None
        if quantity.dimension in ("percent", "ratio"):
            return None
        money = quantity.dimension.startswith("currency")
        if money and CONTRIBUTED.search(self.doc.text[: quantity.span[0]]):
            return None
        if known := phrases.known_after(self.doc, self.spans[position].end, money=money):
            return known
        inner = _object_of(root, ("of", "in"), self.inside)
        span = self.spans[position]
        if inner is not None and span.end < len(self.doc) and self.doc[span.end].lower_ in ("of", "in"):
            by_means_of = inner.lower_ in (
                "cash",
                "stock",
                "shares",
            )  # "$5 million in cash" was paid, not held
            if self.doc[span.end].lower_ == "in" and (by_means_of or not money):
                return None
            return self._name(inner)
        return None

    def _adjacent(self, position: int, noun: Token) -> bool:
        """Only words of the noun's own phrase stand between the quantity and its noun."""
        between = self.doc[self.spans[position].end : noun.i]
        return all(t.i not in self.inside and t.pos_ in phrases.PHRASE_POS for t in between)

    def _beside(self, position: int) -> str | None:
        """'propofol 2 mg/kg', 'mean age (45.3 years)', 'FEV1 = 2.1 L'."""
        span = self.spans[position]
        at = span.start - 1
        while at >= 0 and self.doc[at].text in ("(", "=", ":", "[", "~", "≈"):
            at -= 1
        if at < 0 or at in self.inside:
            return None
        noun = self.doc[at]
        opened = self.doc[span.start - 1].text in ("(", "=", "[")
        if at == span.start - 1 and (known := phrases.known_before(self.doc, at)):
            return known
        if noun.pos_ not in ("NOUN", "PROPN") or (not opened and self._starts_clause(span)):
            return None
        after = self.doc[span.end].text if span.end < len(self.doc) else ")"
        if opened and (at - 1 in self.inside or after[0].isalpha()):
            return None  # "4% lidocaine (77%)" and "recurrence (93% ipsilateral)" speak of something else
        if (
            noun.head.i > noun.i
            and noun.dep_ in ("compound", "amod", "nmod")
            and noun.head.i not in self.inside
        ):
            return None
        return self._name(noun)

    def _again(self, position: int) -> str | None:
        """'95 minutes in group A and 110 minutes in group B', '$234 million or $2.79 per share'."""
        if position == 0:
            return None
        previous, quantity = self.quantities[position - 1], self.quantities[position]
        gap = self.doc.text[previous.span[1] : quantity.span[0]]
        if quantity.dimension.startswith(previous.dimension + "/"):
            return self.phrase(position - 1) if OR_ELSE.fullmatch(gap) else None
        if quantity.dimension != previous.dimension or self._shares_noun(position):
            return None
        root = self._root(position)
        link = root.head if root.dep_ == "pobj" and root.head.lower_ in COMPARISONS else root
        if link is root and self.doc.text.startswith((" for ", " to "), quantity.span[1]):
            return None  # "$140 million of maintenance capital, and $60 million for the repayment of debt"
        if link is not root or root.dep_ == "conj":
            return self.phrase(position - 1) if self.inside.get(link.head.i) == position - 1 else None
        return None

    def _shares_noun(self, position: int) -> bool:
        """What follows belongs to another noun: '$2 billion in loans, $1 million and 6% senior notes'."""
        if position + 1 == len(self.quantities):
            return False
        here, after = self.quantities[position], self.quantities[position + 1]
        gap = self.doc.text[here.span[1] : after.span[0]].strip()
        return gap == "and" and after.dimension != here.dimension

    def _starts_clause(self, span: Span) -> bool:
        """The quantity is subject or time of what follows: 'in surgery 5 days later'."""
        root = span.root
        return root.dep_ in ("nsubj", "nsubjpass", "npadvmod", "nmod") and root.head.i > root.i

    def _counted(self, position: int) -> str | None:
        """'1,200 new patients': the counted noun itself."""
        noun = self.spans[position][-1]
        following = self.doc[noun.i + 1 : noun.i + 2]
        if noun.dep_ == "compound" and any(token.pos_ in ("NOUN", "PROPN") for token in following):
            return None
        return phrases.counted(self.spans[position])

    def _name(self, noun: Token) -> str | None:
        return phrases.name_of(noun, self.inside)


def _tokens(doc: Doc, quantity: Quantity) -> Span:
    """The tokens a quantity covers, whole ones."""
    span = doc.char_span(*quantity.span, alignment_mode="expand")
    if span is None or not len(span):
        raise UsageError(
            f"A quantity at {quantity.span} does not lie in the sentence.", hint="extract from the same text"
        )
    return span


def _subject_of(verb: Token, inside: dict[int, int]) -> Token | None:
    """The subject, also of a verb that shares it: 'sales rose 5% and totaled $3 million'."""
    for _ in range(3):
        for child in verb.children:
            if child.dep_ in ("nsubj", "nsubjpass"):
                return child
        if verb.dep_ == "acl" and verb.head.dep_ == "ROOT" and verb.lemma_.lower() in RISE | FALL:
            return verb.head  # "margin improved by 5%", taken for "margin, improved by 5%"
        if verb.dep_ not in ("conj", "xcomp") or verb.head.pos_ not in ("VERB", "AUX"):
            return None
        if verb.dep_ == "conj" and _has_own_subject(verb, inside):
            return None
        verb = verb.head
    return None


def _has_own_subject(verb: Token, inside: dict[int, int]) -> bool:
    """A noun stands where its subject would, though the tree hangs it elsewhere: 'and sales were ...'."""
    for token in reversed(verb.doc[verb.head.i + 1 : verb.i]):
        if token.dep_ == "cc" or token.is_punct:
            break
        if token.pos_ in ("NOUN", "PROPN", "PRON") and token.i not in inside:
            return True
    return any(token.tag_ in ("WDT", "WP") for token in verb.doc[verb.head.i + 1 : verb.i])


def _object_of(noun: Token, prepositions: tuple[str, ...], inside: dict[int, int]) -> Token | None:
    for child in noun.children:
        if child.dep_ == "prep" and child.lower_ in prepositions and child.i > noun.i:
            for inner in child.children:
                if inner.dep_ == "pobj" and inner.i not in inside:
                    return inner
    return None
