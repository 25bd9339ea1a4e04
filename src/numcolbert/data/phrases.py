"""The words that carry an operator, by the place they can take in a sentence."""

from __future__ import annotations

from dataclasses import dataclass

from numcolbert.types import Operator


@dataclass(frozen=True, slots=True)
class Phrases:
    """Patterns around the quantity `{q}` (`{a}` and `{b}` for the ends of a range)."""

    after: tuple[str, ...]
    """Behind a noun: "revenue above $2 billion"."""
    predicate: tuple[str, ...]
    """Behind "is" or "was"."""
    verb: tuple[str, ...]
    """A whole verb phrase: "exceeded $2 billion"."""
    before: tuple[str, ...]
    """Before a noun: "more than $2 billion in revenue"."""


def _open(*phrases: str) -> tuple[str, ...]:
    return tuple(p if "{" in p else p + " {q}" for p in phrases)


PHRASES: dict[Operator, Phrases] = {
    "=": Phrases(
        after=_open(
            "of", "equal to", "of exactly", "exactly", "at", "equalling", "amounting to", "precisely",
            "standing at", "that equals", "=", "of precisely", "set at",
        ),
        predicate=_open("exactly", "equal to", "precisely", "{q}", "exactly equal to"),
        verb=_open("is", "was", "equals", "amounted to", "came to", "stood at", "was exactly", "came in at"),
        before=_open("exactly", "precisely", "{q}"),
    ),
    ">": Phrases(
        after=_open(
            "more than", "above", "over", "greater than", "higher than", "exceeding", "in excess of",
            "larger than", "surpassing", "bigger than", "beyond", "topping", ">",
        ),
        predicate=_open("more than", "above", "over", "greater than", "higher than", "in excess of",
                        "larger than", "well above", "bigger than"),
        verb=_open("exceeds", "exceeded", "is above", "was over", "surpassed", "topped", "is more than",
                   "came in above", "rose above", "went beyond"),
        before=_open("more than", "over", "above", "in excess of", "greater than"),
    ),
    "<": Phrases(
        after=_open(
            "less than", "below", "under", "lower than", "smaller than", "beneath", "short of",
            "not reaching", "<", "that is under",
        ),
        predicate=_open("less than", "below", "under", "lower than", "smaller than", "short of",
                        "well below"),
        verb=_open("is below", "was under", "fell short of", "stayed below", "remained under", "is less than",
                   "did not reach", "came in below", "was lower than"),
        before=_open("less than", "under", "below"),
    ),
    ">=": Phrases(
        after=_open("at least", "of at least", "no less than", "not less than", "of no less than",
                    "a minimum of", ">=", "≥", "{q} or more", "of {q} or more", "{q} or higher",
                    "{q} and above", "no lower than", "not below"),
        predicate=_open("at least", "no less than", "not less than", "{q} or more", "not below",
                        "no lower than", "{q} or higher"),
        verb=_open("is at least", "was at least", "was no less than", "reached at least", "is not below",
                   "amounted to {q} or more"),
        before=_open("at least", "no less than", "a minimum of", "not less than"),
    ),
    "<=": Phrases(
        after=_open("at most", "of at most", "no more than", "not more than", "of no more than", "up to",
                    "a maximum of", "<=", "≤", "{q} or less", "of {q} or less", "{q} or lower",
                    "not exceeding", "no higher than", "not above"),
        predicate=_open("at most", "no more than", "not more than", "{q} or less", "not above",
                        "no higher than", "{q} or lower"),
        verb=_open("is at most", "was at most", "was no more than", "did not exceed", "is not above",
                   "amounted to {q} or less", "does not exceed"),
        before=_open("at most", "no more than", "up to", "a maximum of", "not more than"),
    ),
    "range": Phrases(
        after=("between {a} and {b}", "from {a} to {b}", "{a}-{b}", "in the range {a} to {b}",
               "ranging from {a} to {b}", "of {a} to {b}", "of between {a} and {b}", "within {a}-{b}",
               "somewhere between {a} and {b}", "anywhere from {a} to {b}"),
        predicate=("between {a} and {b}", "from {a} to {b}", "in the range of {a} to {b}",
                   "somewhere between {a} and {b}"),
        verb=("is between {a} and {b}", "was between {a} and {b}", "lies between {a} and {b}",
              "ranges from {a} to {b}", "fell between {a} and {b}"),
        before=("between {a} and {b}", "from {a} to {b}", "{a}-{b}"),
    ),
}  # fmt: skip

# Comparatives that fit only what is measured: a dimension and, where some are given, words of the concept.
COMPARATIVES: tuple[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...] = (
    (("age",), ("time",), ("older than",), ("younger than",)),
    (("price", "cost", "fare", "rent", "fee"), ("currency",),
     ("dearer than", "costlier than", "more expensive than"), ("cheaper than", "less expensive than")),
    (("height", "elevation"), ("length",), ("taller than",), ("shorter than",)),
    (("depth",), ("length",), ("deeper than",), ("shallower than",)),
    (("width",), ("length",), ("wider than", "broader than"), ("narrower than",)),
    (("distance", "range"), ("length",), ("farther than", "further than"), ("nearer than", "closer than")),
    (("length",), ("length",), ("longer than",), ("shorter than",)),
    ((), ("time",), ("longer than",), ("shorter than",)),
    ((), ("mass",), ("heavier than", "weighing more than"), ("lighter than", "weighing less than")),
    ((), ("temperature",), ("hotter than", "warmer than"), ("colder than", "cooler than")),
    ((), ("length/time",), ("faster than", "quicker than"), ("slower than",)),
    ((), ("count",), ("numbering more than",), ("fewer than", "numbering fewer than")),
)  # fmt: skip

SHORT = (
    "{c} {after}", "{c} {after}", "{c} {after}", "{c} {after}", "{before} in {c}", "{before} of {c}",
    "{c} that {verb}", "{c}: {predicate}", "{c} {verb}", "the {c} was {predicate}", "with {c} {after}",
    "{before} for {c}", "a case with {c} {after}", "{c} is {predicate}",
)  # fmt: skip

LONG = (
    "{s} with {c} {after}",
    "{s} with {before} in {c}",
    "{s} that had {c} {after}",
    "{s} whose {c} {verb}",
    "{s} where the {c} was {predicate}",
    "which {s} have {c} {after}?",
    "which {s} reported {c} {after}?",
    "which of the {s} had {before} in {c}?",
    "what {s} are there with {c} {after}?",
    "are there any {s} whose {c} {verb}?",
    "find {s} where {c} is {predicate}",
    "find all {s} in which the {c} {verb}",
    "list the {s} that mention {c} {after}",
    "list {s} in which {c} {verb}",
    "show me {s} in which {c} was {predicate}",
    "show {s} that report {before} of {c}",
    "I am looking for {s} with {c} {after}",
    "tell me about {s} where the {c} {verb}",
    "who or what had {c} {after}?",
    "where is it said that {c} {verb}?",
    "in which {s} is the {c} {predicate}?",
    "do any {s} describe {c} {after}?",
    "search for {s} that state {c} {after}",
    "give me examples of {s} with {c} {after}",
    "can you point to {s} where {c} {verb}?",
)

TWO = (
    "{c} {after} and {c2} {after2}",
    "{c} {after} with {c2} {after2}",
    "{c} {after}, {c2} {after2}",
    "{s} with {c} {after} and {c2} {after2}",
    "{s} whose {c} {verb} and whose {c2} {verb2}",
    "{s} with {c} {after} but {c2} {after2}",
    "which {s} have {c} {after} as well as {c2} {after2}?",
    "find {s} where {c} is {predicate} and {c2} is {predicate2}",
    "{c} {after} while {c2} {verb2}",
)

# Counts whose noun is the concept itself: "more than 200 patients".
COUNTED = (
    "{before}", "{before}", "{s} with {before}", "which {s} had {before}?", "{s} that mention {before}",
    "were there {before}?", "find {s} with {before}", "a total of {before}", "there were {before}",
)  # fmt: skip

SUBJECTS: dict[str, tuple[str, ...]] = {
    "money": ("companies", "firms", "businesses", "reports", "statements", "results", "groups"),
    "count": ("reports", "studies", "cases", "statements", "groups", "places"),
    "share": ("reports", "studies", "statements", "results", "cases"),
    "other": ("reports", "studies", "cases", "results", "statements", "passages"),
}

YEARS = tuple(range(1987, 2027))
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December")  # fmt: skip
NAMED = ("since COVID-19", "in the age of 5G", "on a Boeing 737", "with an iPhone 15", "under Windows 11",
         "in a phase 3 trial", "for type 2 diabetes", "on Form 10-K", "at Studio 54", "on Route 66",
         "in the G20 countries", "for the Fortune 500", "in the S&P 500", "after 9/11", "on an Airbus A320",
         "with a PlayStation 5", "in Formula 1", "as in table 3", "see section 4.2", "in study NCT01234567",
         "with a Galaxy S22", "on channel 4", "in area 51", "for the Mark II")  # fmt: skip
