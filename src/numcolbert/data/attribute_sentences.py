"""Sentences about invented things and their attributes, from the tables in `attributes.toml`."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from numcolbert.data.pool import Unit
from numcolbert.data.writing import round_to, write_quantity


@dataclass(frozen=True, slots=True, eq=False)
class Attribute:
    domain: str
    concept: str
    variants: tuple[str, ...]
    units: tuple[Unit, ...]
    low: float
    """In `units[0]`."""
    high: float
    says: tuple[str, ...]
    whole: bool
    """Whether its values are counts."""

    @property
    def name(self) -> str:
        """The concept of its pair: a phone's weight is not an aircraft's."""
        return f"{self.domain} {self.concept}"

    @property
    def dimension(self) -> str:
        return self.units[0].dimension

    @property
    def counts_itself(self) -> bool:
        """Whether unit and concept are one word: "floors"."""
        return self.whole and self.concept in self.units[0].surfaces

    def plausible(self, rng: Random) -> float:
        """A value of `units[0]`, every order of magnitude of the range alike."""
        exponent = rng.uniform(math.log10(self.low), math.log10(self.high))
        value = round_to(10**exponent, rng.choice((1, 2, 2, 3, 3, 4)))
        return float(max(1, round(value))) if self.whole else value


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    one: str
    nouns: tuple[str, ...]
    names: tuple[str, ...]
    extras: tuple[str, ...]
    attributes: tuple[Attribute, ...]


@dataclass(frozen=True, slots=True)
class Stated:
    """A quantity that a sentence states beside the one it is about."""

    attribute: Attribute
    unit: Unit
    value: float


@dataclass(frozen=True, slots=True)
class Frame:
    """A sentence with a gap for one quantity."""

    before: str
    after: str
    others: tuple[Stated, ...]

    def fill(self, quantity: str) -> str:
        return self.before + quantity + self.after


@cache
def unit_table() -> dict[str, Unit]:
    return {
        key: Unit(
            name=entry.get("name", key),
            dimension=entry["dimension"],
            factor=float(entry["factor"]),
            offset=float(entry.get("offset", 0.0)),
            surfaces=tuple(entry["surfaces"]),
            prefixes=tuple(entry.get("prefixes", ())),
        )
        for key, entry in _tables()["units"].items()
    }


@cache
def domains() -> tuple[Domain, ...]:
    units = unit_table()

    def attribute(one: str, entry: dict[str, Any]) -> Attribute:
        low, high = entry["range"]
        return Attribute(
            domain=one,
            concept=entry["concept"],
            variants=tuple(entry["variants"]),
            units=tuple(units[name] for name in entry["units"]),
            low=float(low),
            high=float(high),
            says=tuple(entry["says"]),
            whole=units[entry["units"][0]].dimension.startswith("count"),
        )

    return tuple(
        Domain(
            one=entry["one"],
            nouns=tuple(entry["noun"]),
            names=tuple(entry["names"]),
            extras=tuple(entry["extras"]),
            attributes=tuple(attribute(entry["one"], a) for a in entry["attributes"]),
        )
        for entry in _tables()["domain"]
    )


@cache
def _tables() -> dict[str, Any]:
    file = Path(__file__).with_name("attributes.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))


_STARTS = (
    "Ar", "Bel", "Cor", "Dal", "El", "Fen", "Gar", "Hol", "Is", "Jor", "Kel", "Lun", "Mar", "Nor", "Or",
    "Pel", "Quin", "Ros", "Sal", "Tar", "Ul", "Ver", "Wes", "Xan", "Yor", "Zel", "Bran", "Cas", "Dren", "Est",
    "Fal", "Grim", "Hav", "Ing", "Kal", "Lor", "Mon", "Nev", "Osk", "Pra",
)  # fmt: skip
_MIDDLES = (
    "a", "e", "i", "o", "u", "an", "en", "or", "ar", "il", "em", "um", "ov", "ek", "ist", "ond", "al",
)  # fmt: skip
_ENDS = (
    "da", "ton", "vik", "ra", "lo", "mir", "nia", "dale", "ford", "ix", "on", "is", "us", "ka", "wick",
    "berg", "ley", "na", "mont", "tia", "go", "sted", "vo", "ren", "th",
)  # fmt: skip
_GIVEN = (
    "Anna", "Ben", "Clara", "David", "Elena", "Farid", "Grace", "Hugo", "Ines", "Jonas", "Kofi", "Lena",
    "Mateo", "Nadia", "Omar", "Petra", "Quinn", "Rosa", "Samir", "Tara", "Uwe", "Vera", "Wei", "Yuki",
)  # fmt: skip
_SOURCES = (
    "the owner", "an independent test", "the local paper", "its website", "a recent survey", "experts",
    "the brochure", "an inspector", "most guides", "the register", "a former employee",
)  # fmt: skip
_LEADS = (
    "In practice", "On paper", "As expected", "To everyone's surprise", "By all accounts", "Even today",
    "For comparison", "Under these conditions", "Back in {Y}", "As reported in {Y}", "Once again",
)  # fmt: skip

# {E}/{e} the thing, {v} the verb phrase with the gap, {v2} another attribute's, {n}/{n2} concept and
# quantity, {x} an extra clause, {L} a lead, {w}/{W} a source.
SENTENCES = (
    "{E} {v}.", "{E} {v}.", "{E} {v}, {x}.", "{L}, {e} {v}.", "{E} {v} and {v2}.", "{E} {v2} and {v}.",
    "{E}, which {v2}, {v}.", "{E}, which {v}, {v2}.", "With {n2}, {e} {v}.", "The {c} of {e} is {q}.",
    "The {c} of {e} is {q}, {x}.", "{E}: {c} {q}, {c2} {q2}.", "{E}: {c2} {q2}, {c} {q}.",
    "{E} is listed with {n2} and {n}.", "According to {w}, {e} {v}.", "{W} put the {c} of {e} at {q}.",
    "{E} {v}, {x}, and {v2}.", "At {q}, the {c} of {e} surprised {w}.", "Although it {v2}, {e} {v}.",
    "{W} confirmed that {e} {v}.", "There is also {e}, {x}, which {v}.", "{L}, the {c} of {e} was {q}.",
    "{E} {v2}, {v3} and {v}.", "If {w} can be trusted, {e} {v} and {v2}.", "{c}: {q} ({e}, {x})",
)  # fmt: skip


COUNTING_SENTENCES = tuple(s for s in SENTENCES if "{v}" in s or "{n}" in s)


def invented_name(rng: Random) -> str:
    middle = rng.choice(_MIDDLES) if rng.random() < 0.5 else ""
    return rng.choice(_STARTS) + middle + rng.choice(_ENDS)


def entity_name(domain: Domain, rng: Random) -> str:
    text = rng.choice(domain.names)
    while "{X}" in text:
        text = text.replace("{X}", invented_name(rng), 1)
    if "{P}" in text:
        text = text.replace("{P}", rng.choice(_GIVEN))
    if "{N}" in text:
        text = text.replace("{N}", str(rng.choice((2, 3, 5, 7, 8, 9, 11, 12, 15, 20, 40, 70, 300, 500))))
    return text


def make_frame(domain: Domain, attribute: Attribute, rng: Random, entity: str | None = None) -> Frame:
    """A sentence about a thing of the domain with a gap where the attribute's quantity goes."""
    entity = entity or entity_name(domain, rng)
    text = rng.choice(COUNTING_SENTENCES if attribute.counts_itself else SENTENCES)
    others = _other_attributes(domain, attribute, rng)
    stated: list[Stated] = []

    def state(other: Attribute) -> str:
        unit = rng.choice(other.units)
        value = other.plausible(rng)
        if unit is not other.units[0]:
            base = value * other.units[0].factor + other.units[0].offset
            value = round_to((base - unit.offset) / unit.factor, 3)
        stated.append(Stated(other, unit, value))
        return write_quantity(value, unit, rng)

    # Longer slots first: "{v2}" must be gone before "{v}" is looked for.
    for slot, other in (("2", others[0]), ("3", others[-1])):
        if f"{{v{slot}}}" in text:
            text = text.replace(f"{{v{slot}}}", rng.choice(other.says).replace("{q}", state(other)))
        if f"{{n{slot}}}" in text:
            text = text.replace(f"{{n{slot}}}", _named(other).replace("{q}", state(other)))
        if f"{{c{slot}}}" in text:
            text = text.replace(f"{{c{slot}}}", other.concept).replace(f"{{q{slot}}}", state(other))
    if "{v}" in text:
        text = text.replace("{v}", rng.choice(attribute.says))
    if "{n}" in text:
        text = text.replace("{n}", _named(attribute))
    if "{c}" in text:
        text = text.replace("{c}", attribute.concept)
    text = text.replace("{E}", entity[0].upper() + entity[1:]).replace("{e}", entity)
    for slot, choices in (("{x}", domain.extras), ("{L}", _LEADS), ("{w}", _SOURCES)):
        if slot in text:
            text = text.replace(slot, rng.choice(choices))
    if "{W}" in text:
        source = rng.choice(_SOURCES)
        text = text.replace("{W}", source[0].upper() + source[1:])
    if "{Y}" in text:
        text = text.replace("{Y}", str(rng.randint(1950, 2025)))
    before, after = text.split("{q}")
    return Frame(before, after, tuple(stated))


def _other_attributes(domain: Domain, attribute: Attribute, rng: Random) -> Sequence[Attribute]:
    """Two attributes beside the given one (the same twice where the domain has no third)."""
    first = rng.choice(domain.attributes)
    while first is attribute:
        first = rng.choice(domain.attributes)
    last = rng.choice(domain.attributes)
    return first, (first if last is attribute else last)


def _named(attribute: Attribute) -> str:
    """The attribute as a noun with its quantity: "a top speed of {q}", "{q}" for what counts itself."""
    concept = attribute.concept
    if attribute.counts_itself:
        return "{q}"
    if concept.endswith("s") and not concept.endswith("ss"):
        return f"{concept} of {{q}}"
    return ("an " if concept[0].lower() in "aeiou" else "a ") + f"{concept} of {{q}}"
