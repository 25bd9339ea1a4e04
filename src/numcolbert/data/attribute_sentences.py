"""Sentences about invented things and their attributes, from the tables in `attributes.toml`."""

from __future__ import annotations

import math
import re
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

    attribute: Attribute | None
    """None where it is not the thing's own."""
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

_TWO_MARKS = re.compile(r",([,.:)])")
_SLOT = re.compile(r"(\{\w+\})")
_PARSED = tuple(tuple(part for part in _SLOT.split(s) if part) for s in SENTENCES)
_PARSED_COUNTING = tuple(parts for parts in _PARSED if "{v}" in parts or "{n}" in parts)


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


def named_with_kind(domain: Domain, rng: Random) -> str:
    """A thing whose name says what it is: "the ship Kelvik", "the Kelvik 5, a ship"."""
    if rng.random() < 0.5:
        return f"the {domain.one} {invented_name(rng)}"
    article = "an" if domain.one[0] in "aeiou" else "a"
    return f"{entity_name(domain, rng)}, {article} {domain.one},"


def make_frame(domain: Domain, attribute: Attribute, rng: Random, entity: str | None = None) -> Frame:
    """A sentence about a thing of the domain with a gap where the attribute's quantity goes."""
    entity = entity or entity_name(domain, rng)
    parts = rng.choice(_PARSED_COUNTING if attribute.counts_itself else _PARSED)
    others: dict[str, Attribute] = {}
    stated: list[Stated] = []
    out: list[str] = []
    for part in parts:
        if part[0] != "{":
            out.append(part)
        elif part[-2].isdigit():
            number = part[-2]
            if number not in others:
                others[number] = _another(domain, (attribute, *others.values()), rng)
            out.append(_other_slot(part[1], others[number], stated, rng))
        else:
            out.append(_slot(part[1], domain, attribute, entity, rng))
    text = "".join(out)
    if "{Y}" in text:
        text = text.replace("{Y}", str(rng.randrange(1950, 2026)))
    if entity.endswith(","):  # it brings a comma where there may be another mark
        text = _TWO_MARKS.sub(r"\1", text)
    before, _, after = text.partition("{q}")
    return Frame(before, after, tuple(stated))


def _slot(slot: str, domain: Domain, attribute: Attribute, entity: str, rng: Random) -> str:
    if slot == "e":
        return entity
    if slot == "E":
        return entity[0].upper() + entity[1:]
    if slot == "v":
        return rng.choice(attribute.says)
    if slot == "c":
        return attribute.concept
    if slot == "q":
        return "{q}"
    if slot == "n":
        return _named(attribute)
    if slot == "x":
        return rng.choice(domain.extras)
    if slot == "L":
        return rng.choice(_LEADS)
    source = rng.choice(_SOURCES)
    return source if slot == "w" else source[0].upper() + source[1:]


def _other_slot(slot: str, other: Attribute, stated: list[Stated], rng: Random) -> str:
    """What a sentence says of another attribute; notes the quantity it states."""
    if slot == "c":
        return other.concept
    pattern = {"v": rng.choice(other.says), "n": _named(other), "q": "{q}"}[slot]
    unit = rng.choice(other.units)
    value = other.plausible(rng)
    if unit is not other.units[0]:
        base = value * other.units[0].factor + other.units[0].offset
        value = round_to((base - unit.offset) / unit.factor, 3)
    stated.append(Stated(other, unit, value))
    return pattern.replace("{q}", write_quantity(value, unit, rng))


def _another(domain: Domain, taken: Sequence[Attribute], rng: Random) -> Attribute:
    """An attribute of the domain that the sentence does not have yet; every domain has three."""
    found = rng.choice(domain.attributes)
    while found in taken:
        found = rng.choice(domain.attributes)
    return found


def _named(attribute: Attribute) -> str:
    """The attribute as a noun with its quantity: "a top speed of {q}", "{q}" for what counts itself."""
    concept = attribute.concept
    if attribute.counts_itself:
        return "{q}"
    if concept.endswith("s") and not concept.endswith("ss"):
        return f"{concept} of {{q}}"
    return ("an " if concept[0].lower() in "aeiou" else "a ") + f"{concept} of {{q}}"
