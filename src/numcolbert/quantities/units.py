"""The unit table: names, dimensions, factors and every surface people write.

The factors stand in `units.toml`, so that neither reading text nor converting needs a unit library; `pint` is
asked only to confirm them (`pint_factor`) and to look up units that the table does not have.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from numcolbert.errors import InputError
from numcolbert.quantities.words import SAME_COUNT

SI_PREFIXES = {
    "f": ("femto", 1e-15), "p": ("pico", 1e-12), "n": ("nano", 1e-9), "µ": ("micro", 1e-6),
    "m": ("milli", 1e-3), "c": ("centi", 1e-2), "d": ("deci", 1e-1), "h": ("hecto", 1e2),
    "k": ("kilo", 1e3), "M": ("mega", 1e6), "G": ("giga", 1e9), "T": ("tera", 1e12), "P": ("peta", 1e15),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class UnitInfo:
    """A canonical unit: what it is worth and how it is written."""

    name: str
    dimension: str
    factor: float
    """base value = value * factor + offset"""
    offset: float = 0.0
    surfaces: tuple[str, ...] = ()
    """Written after the number, symbols and spelled forms, singular and plural."""
    prefixes: tuple[str, ...] = ()
    """Written before the number ("$")."""
    pint: str | None = None

    def to_base(self, value: float) -> float:
        return value * self.factor + self.offset

    def from_base(self, value: float) -> float:
        return (value - self.offset) / self.factor


@dataclass(slots=True)
class Table:
    units: dict[str, UnitInfo] = field(default_factory=dict)
    exact: dict[str, UnitInfo] = field(default_factory=dict)
    """Symbols, as they stand."""
    folded: dict[str, UnitInfo] = field(default_factory=dict)
    """Spelled forms and unmistakable symbols in lower case."""
    before: dict[str, UnitInfo] = field(default_factory=dict)
    """What stands before the number."""


def plural(word: str) -> str:
    """'gram' -> 'grams', 'penny' -> 'pennies', 'pound per inch' stays with the caller's `plurals`."""
    if word.endswith(("s", "x", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        return word[:-1] + "ies"
    return word + "s"


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _spelled(entry: dict[str, Any]) -> list[str]:
    names = _split(entry.get("names", ""))
    if "plurals" in entry:
        return names + _split(entry["plurals"])
    return [form for name in names for form in (name, plural(name))]


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))


class _Builder:
    def __init__(self) -> None:
        self.table = Table()
        self._surfaces: dict[str, list[str]] = {}
        self._symbols: dict[str, list[str]] = {}
        self._before: dict[str, list[str]] = {}
        self._facts: dict[str, UnitInfo] = {}

    def add(
        self,
        info: UnitInfo,
        symbols: list[str],
        spelled: list[str],
        before: list[str] | None = None,
    ) -> None:
        self._facts.setdefault(info.name, info)
        self._symbols.setdefault(info.name, []).extend(symbols)
        self._surfaces.setdefault(info.name, []).extend(spelled)
        self._before.setdefault(info.name, []).extend(before or [])

    def physical(self, dimension: str, name: str, entry: dict[str, Any]) -> None:
        symbols, spelled = _split(entry.get("symbols", "")), _spelled(entry)
        factor, pint = float(entry["factor"]), entry.get("pint")
        name = entry.get("same", name)
        info = UnitInfo(name, dimension, factor, float(entry.get("offset", 0.0)), pint=pint)
        self.add(info, symbols, spelled)
        for letter in entry.get("si", "").split():
            prefix, power = SI_PREFIXES[letter]
            letters = "µμ" if letter == "µ" else letter
            scaled = UnitInfo(prefix + name, dimension, factor * power, pint=pint and f"{power}*{pint}")
            self.add(
                scaled,
                [one + symbol for symbol in symbols for one in letters if "." not in symbol],
                [prefix + form for form in spelled],
            )

    def currency(self, code: str, entry: dict[str, Any]) -> None:
        dimension = f"currency:{code}"
        after = _split(entry.get("after", ""))
        spelled = [form for name in after for form in _inflected(name)]
        codes = [code] if entry.get("code", True) else []
        self.add(UnitInfo(code, dimension, 1.0), codes, spelled, _split(entry.get("before", "")))
        if minor := entry.get("minor"):
            spelled = [form for name in _split(minor["after"]) for form in _inflected(name)]
            self.add(UnitInfo(minor["name"], dimension, 0.01), [], spelled)

    def build(self) -> Table:
        table = self.table
        for name, fact in self._facts.items():
            symbols, spelled, before = self._symbols[name], self._surfaces[name], self._before[name]
            info = UnitInfo(
                name, fact.dimension, fact.factor, fact.offset,
                tuple(dict.fromkeys(symbols + spelled)), tuple(dict.fromkeys(before)), fact.pint,
            )  # fmt: skip
            table.units[name] = info
            for symbol in symbols:
                table.exact.setdefault(symbol, info)
            for form in spelled:
                table.folded.setdefault(form.lower(), info)
            for prefix in before:
                table.before.setdefault(prefix, info)
        # "KG", "Km" and "GHZ" are read where no other symbol differs from them in case alone.
        owners: dict[str, set[str]] = {}
        for symbol, info in table.exact.items():
            owners.setdefault(symbol.lower(), set()).add(info.name)
        for symbol, info in table.exact.items():
            bits = info.dimension == "data/time" and "/" in symbol  # "GB/s" are bytes
            if len(symbol) > 1 and len(owners[symbol.lower()]) == 1 and not bits:
                table.folded.setdefault(symbol.lower(), info)
        return table


def _inflected(name: str) -> list[str]:
    if len(name) <= 3 or not name[-1].isalpha() or name.endswith("s") or name in {"sterling", "pence"}:
        return [name]
    return [name, plural(name)]


@cache
def table() -> Table:
    builder = _Builder()
    for dimension, entries in _read("units.toml").items():
        for name, entry in entries.items():
            builder.physical(dimension, name, entry)
    for code, entry in _read("currencies.toml").items():
        builder.currency(code, entry)
    return builder.build()


def all_units() -> list[UnitInfo]:
    """Every unit of the table. Count nouns and compound rates are made while reading and not listed."""
    return list(table().units.values())


def count_unit(lemma: str) -> UnitInfo:
    """The unit of counted things: "patient" for "1,200 patients". Synonyms share their dimension."""
    return UnitInfo(lemma, f"count:{SAME_COUNT.get(lemma, lemma)}", 1.0)


@cache
def per(numerator: UnitInfo, denominator: UnitInfo | str) -> UnitInfo:
    """A rate: `per(USD, "share")` is "USD/share", `per(mile, hour)` converts into kilometre/hour."""
    if isinstance(denominator, str):
        name, dimension, factor = denominator, denominator, 1.0
    else:
        name, dimension, factor = denominator.name, denominator.dimension, denominator.factor
    return UnitInfo(
        f"{numerator.name}/{name}", f"{numerator.dimension}/{dimension}", numerator.factor / factor
    )


ONE = UnitInfo("1", "number", 1.0)
"""The numerator of "per litre" alone."""


def times(number: float, unit: UnitInfo) -> UnitInfo:
    """A unit said by the hundred or the thousand: the denominator of "mg per 100 ml"."""
    return UnitInfo(f"{number:g}_{unit.name}", unit.dimension, unit.factor * number)


_SCALED_NAME = re.compile(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)_(.+)")
_NOUN = re.compile(r"[a-z][a-z'’ -]*")


def lookup(name: str) -> UnitInfo:
    """The unit with this canonical name or surface ("kilogram", "kg", "USD/share", "mg/dl").

    Gives back the unit of every quantity that is not a plain count, rates of counted nouns included. Raises
    `InputError` for a name that neither the table nor pint knows.
    """
    known = find(name)
    if known:
        return known
    head, *denominators = name.split("/")
    if head == ONE.name and denominators:
        numerator: UnitInfo | None = ONE
    else:
        numerator = find(head) or (count_unit(head) if denominators and _NOUN.fullmatch(head) else None)
    if numerator is None or not denominators:
        return _from_pint(name)
    for part in denominators:
        scaled = _SCALED_NAME.fullmatch(part)
        unit = find(scaled[2]) if scaled else None
        numerator = per(numerator, times(float(scaled[1]), unit) if scaled and unit else find(part) or part)
    return numerator


def find(name: str) -> UnitInfo | None:
    """The unit of the table with this canonical name or surface."""
    found = table()
    return (
        found.units.get(name)
        or found.exact.get(name)
        or found.folded.get(name.lower())
        or found.before.get(name)
    )


@cache
def _registry() -> Any:
    import pint

    return pint.UnitRegistry(autoconvert_offset_to_baseunit=True)


def _from_pint(name: str) -> UnitInfo:
    import pint

    try:
        amount = 1.0 * _registry().parse_expression(name)
        for base in all_units():
            if base.pint and not base.offset and amount.is_compatible_with(_pint_amount(base)):
                factor = float((amount / _pint_amount(base)).to("").magnitude)
                return UnitInfo(name, base.dimension, factor * base.factor, pint=name)
        base_amount = amount.to_base_units()
        return UnitInfo(name, str(base_amount.dimensionality), float(base_amount.magnitude), pint=name)
    except (pint.PintError, ValueError, TypeError, AttributeError, SyntaxError) as error:
        raise InputError(
            f"The unit '{name}' is not known.", hint="for a counted noun use units.count_unit"
        ) from error


def _pint_amount(unit: UnitInfo) -> Any:
    return 1.0 * _registry().parse_expression(unit.pint)


def pint_factor(unit: UnitInfo, base: UnitInfo) -> float:
    """What pint says one `unit` is worth in `base`: the check on the table."""
    if unit.offset:  # a difference of one degree
        registry = _registry()
        degree = registry.Quantity(1.0, unit.pint).to(base.pint) - registry.Quantity(0.0, unit.pint).to(
            base.pint
        )
        return float(degree.magnitude)
    return float((_pint_amount(unit) / _pint_amount(base)).to("").magnitude)
