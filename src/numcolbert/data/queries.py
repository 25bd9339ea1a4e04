"""Query texts: `concept operator value unit` in the many ways people ask, with the span of each quantity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Literal

from numcolbert.data.phrases import (
    COMPARATIVES,
    COUNTED,
    LONG,
    MONTHS,
    NAMED,
    PHRASES,
    SHORT,
    SUBJECTS,
    TWO,
    YEARS,
)
from numcolbert.data.pool import Unit
from numcolbert.data.writing import NumberStyle, agreeing, kind_of, write_interval, write_quantity
from numcolbert.errors import UsageError
from numcolbert.types import Operator, Span

Form = Literal["short", "long", "any"]

# Characters that no text holds mark the quantity while the sentence around it is put together.
_OPEN, _CLOSE = "\x01", "\x02"


@dataclass(frozen=True, slots=True)
class Asked:
    """One condition to be put into words."""

    concept: str
    """The phrase to write, already the variant the caller wants."""
    operator: Operator
    value: float
    """Threshold in `unit`; the lower end of a range."""
    unit: Unit
    high: float | None = None
    """Upper end of a range, in `unit`."""


@dataclass(frozen=True, slots=True)
class QueryStyle:
    """What is fixed about the wording; everything else is drawn."""

    form: Form = "any"
    long_share: float = 0.5
    """Share of question-like queries of 8 to 15 words where `form` is "any"."""
    number_style: NumberStyle | None = None
    """None: drawn from the habits of the dimension."""
    distractor: bool = False
    """Put a number into the query that carries no condition: a year, a quarter, a model name."""
    measures: tuple[str, ...] = ()
    """What the quantity may be measured by ("per 100 g"); one of them ends the query."""
    subjects: tuple[str, ...] = ()
    """What is asked for ("phones", "companies"); () chooses by dimension."""
    domain: str = ""
    """A noun that short queries put before the concept ("phone weight"), where they name no subject."""
    templates: tuple[str, ...] = ()
    """Sentences to use instead of the general ones; slots as in `phrases.py`."""


@dataclass(frozen=True, slots=True)
class RenderedQuery:
    text: str
    spans: tuple[Span, ...]
    """One a condition, in order: value, scale word and unit (both ends for a range)."""


_DEFAULT = QueryStyle()


def render_query(asked: Sequence[Asked], rng: Random, style: QueryStyle = _DEFAULT) -> RenderedQuery:
    """Put one or two conditions into words.

    The same generator state gives the same text. `rng` is a `random.Random`: single draws from numpy would
    cost more than the rest of this function.
    """
    if not 1 <= len(asked) <= 2:
        raise UsageError(f"A query has one or two conditions, not {len(asked)}.", hint="split it")
    first = asked[0]
    subjects = style.subjects or SUBJECTS[kind_of(first.unit.dimension)]
    if len(asked) == 2:
        text = rng.choice(TWO)
        text = _fill(text, asked[1], rng, style, "2")
        text = _fill(text, first, rng, style, "")
    elif is_counted(first):
        text = _counted(first, rng, style)
    else:
        text = _fill(_template(rng, style), first, rng, style, "")
    text = text.replace("{s}", rng.choice(subjects))
    if style.measures:
        text = _ended(text, rng.choice(style.measures))
    if style.distractor:
        text = _with_distractor(text, rng)
    return _cut_marks(text)


def _template(rng: Random, style: QueryStyle) -> str:
    if style.templates:
        template = rng.choice(style.templates)
    else:
        is_long = style.form == "long" or (style.form == "any" and rng.random() < style.long_share)
        template = rng.choice(LONG if is_long else SHORT)
    if style.domain and "{s}" not in template:
        return template.replace("{c}", f"{style.domain} {{c}}")
    return template


def is_counted(asked: Asked) -> bool:
    """Whether the unit is the concept's own noun, so that naming both would say it twice."""
    if not asked.unit.dimension.startswith("count"):
        return False
    return " of " not in asked.concept and asked.concept.rsplit(" ", 1)[-1] in asked.unit.surfaces


def _counted(asked: Asked, rng: Random, style: QueryStyle) -> str:
    """ "more than 200 female patients": the concept takes the place of the unit."""
    counted = agreeing(asked.concept, asked.unit, asked.value)
    noun = Unit(asked.unit.name, asked.unit.dimension, asked.unit.factor, surfaces=(counted,))
    phrase = rng.choice(PHRASES[asked.operator].before)
    text = COUNTED[0] if style.form == "short" else rng.choice(COUNTED)
    if asked.operator == "<" and rng.random() < 0.5:
        phrase = "fewer than {q}"
    written = _quantity(
        phrase, Asked(asked.concept, asked.operator, asked.value, noun, asked.high), rng, style
    )
    return text.replace("{before}", written)


def _fill(template: str, asked: Asked, rng: Random, style: QueryStyle, number: str) -> str:
    """Fill the slots of one condition (`{c}`, `{after}` ...; `{c2}`, `{after2}` ... for the second)."""
    text = template.replace("{c" + number + "}", asked.concept)
    phrases = PHRASES[asked.operator]
    for slot in ("after", "predicate", "verb", "before"):
        mark = "{" + slot + number + "}"
        if mark in text:
            phrase = rng.choice(getattr(phrases, slot))
            if slot in ("after", "predicate") and asked.operator in "><" and rng.random() < 0.25:
                special = comparatives(asked.concept, asked.unit.dimension, asked.operator)
                phrase = rng.choice(special) + " {q}" if special else phrase
            return text.replace(mark, _quantity(phrase, asked, rng, style))
    if "{q}" in text:  # the operator is in the template's own words
        return text.replace("{q}", _quantity("{q}", asked, rng, style))
    raise UsageError(f"The template {template!r} has no place for a quantity.", hint="add {after} to it")


@lru_cache(maxsize=1 << 14)
def comparatives(concept: str, dimension: str, operator: Operator) -> tuple[str, ...]:
    """Comparatives that suit the concept's words ("older than" for an age), else the dimension's."""
    words = set(concept.lower().replace("-", " ").split())
    head = dimension.split(":")[0]
    for keys, dimensions, more, less in COMPARATIVES:
        if head in dimensions and (not keys or words.intersection(keys)):
            return more if operator == ">" else less
    return ()


def _quantity(phrase: str, asked: Asked, rng: Random, style: QueryStyle) -> str:
    """The operator phrase with the quantity in it, marked at both ends."""
    if asked.operator != "range":
        written = write_quantity(asked.value, asked.unit, rng, style.number_style)
        return phrase.replace("{q}", f"{_OPEN}{written}{_CLOSE}")
    if asked.high is None:
        raise UsageError(f"The range on '{asked.concept}' has no upper end.", hint="set `high`")
    start, end = phrase.index("{a}"), phrase.index("{b}")
    joiner = phrase[start + 3 : end]
    written = write_interval(asked.value, asked.high, asked.unit, joiner, rng)
    return f"{phrase[:start]}{_OPEN}{written}{_CLOSE}{phrase[end + 3 :]}"


def _with_distractor(text: str, rng: Random) -> str:
    """Add a number that carries no condition, before or after everything else."""
    distractor = distractor_phrase(rng)
    if rng.random() < 0.25 and distractor.startswith(("in ", "for ", "since ", "during ")):
        return f"{distractor}, {text}"
    return _ended(text, distractor)


def _ended(text: str, with_words: str) -> str:
    return f"{text[:-1]} {with_words}?" if text.endswith("?") else f"{text} {with_words}"


def distractor_phrase(rng: Random) -> str:
    drawn = rng.random()
    year = rng.choice(YEARS)
    if drawn < 0.3:
        return f"{rng.choice(('in', 'for', 'during', 'in fiscal', 'since'))} {year}"
    if drawn < 0.45:
        return f"in {rng.choice(MONTHS)} {year}"
    if drawn < 0.55:
        return f"in Q{rng.randint(1, 4)} {year}"
    if drawn < 0.65:
        quarter = rng.choice(("first", "second", "third", "fourth"))
        return f"for the {quarter} quarter of {year}"
    if drawn < 0.75:
        return f"on {rng.choice(MONTHS)} {rng.randint(1, 28)}, {year}"
    return rng.choice(NAMED)


def _cut_marks(text: str) -> RenderedQuery:
    pieces = text.split(_OPEN)
    out = [pieces[0]]
    length = len(pieces[0])
    spans = []
    for piece in pieces[1:]:
        inside, outside = piece.split(_CLOSE)
        spans.append((length, length + len(inside)))
        out += (inside, outside)
        length += len(inside) + len(outside)
    return RenderedQuery("".join(out), tuple(spans))
