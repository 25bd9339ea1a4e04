"""The hand-made table of concepts: which phrases name the same thing, and which a wider one."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from numcolbert.data.plurals import plural_of
from numcolbert.data.words import word_list
from numcolbert.quantities.counts import singular as counted_singular
from numcolbert.quantities.words import IRREGULAR_PLURALS

FILES = ("finance.toml", "medicine.toml")

PLURAL_ONLY = word_list("same_in_plural")


_DATA = {"data": "datum"}  # one concept, though nobody counts data


def singular(word: str) -> str:
    """'revenues' -> 'revenue', 'inventories' -> 'inventory'; words like 'sales' and 'diabetes' stay."""
    if word in PLURAL_ONLY or word.endswith("'s") or (len(word) < 4 and word not in IRREGULAR_PLURALS):
        return word
    return _DATA.get(word) or counted_singular(word)


def plural(word: str) -> str:
    if word in PLURAL_ONLY or (word.endswith("s") and not word.endswith("ss")) or len(word) < 3:
        return word
    return plural_of(word)


CHANGES = {
    "growth": ("growth in {0}", "increase in {0}", "{0} increase", "rise in {0}"),
    "decline": ("decline in {0}", "decrease in {0}", "{0} decrease", "drop in {0}", "reduction in {0}"),
}
CHANGE_OF = {
    "increase": "growth", "growth": "growth", "rise": "growth",
    "decline": "decline", "decrease": "decline", "drop": "decline", "reduction": "decline",
}  # fmt: skip


@dataclass(slots=True)
class Table:
    names: dict[str, str] = field(default_factory=dict)
    """Any known phrase in lower case, head singular -> canonical name."""
    same: dict[str, tuple[str, ...]] = field(default_factory=dict)
    broader: dict[str, tuple[str, ...]] = field(default_factory=dict)
    domains: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Canonical name -> the tables that have it."""
    _per_share: dict[str, str] = field(default_factory=dict)

    def canonical(self, phrase: str) -> str | None:
        """The canonical name of a phrase in lower case, or None if the table does not have it."""
        known = self.names.get(phrase) or self.names.get(_key(phrase))
        if known:
            return known
        base, _, last = phrase.rpartition(" ")
        if base and last in CHANGE_OF and (name := self.names.get(base) or self.names.get(_key(base))):
            return f"{name} {CHANGE_OF[last]}"
        return None

    def domains_of(self, name: str) -> tuple[str, ...]:
        """The tables that know a concept; "X growth" belongs where X does."""
        base, _, last = name.rpartition(" ")
        return self.domains.get(name) or (self.domains.get(base, ()) if last in CHANGES else ())

    def per_share(self, name: str) -> str | None:
        return self._per_share.get(name)

    def close_variants(self, name: str) -> tuple[str, ...]:
        """Other names for the same thing, best known first; "X growth" varies with X."""
        if name in self.same:
            return self.same[name]
        base, _, last = name.rpartition(" ")
        if base and last in CHANGES:
            forms = CHANGES[last]
            bases = (base, *self.same.get(base, ())[:4])
            made = [f"{b} {last}" for b in bases] + [form.format(b) for b in bases for form in forms]
            return tuple(dict.fromkeys(v for v in made if v != name))
        return ()

    def wide_variants(self, name: str) -> tuple[str, ...]:
        """Names for a wider class and the bare head noun: good for training, too vague for a judged query."""
        head = name.split()[-1]
        heads = (head,) if " " in name and " of " not in name and " per " not in name else ()
        return tuple(dict.fromkeys((*self.broader.get(name, ()), *heads)))


def _key(phrase: str) -> str:
    first, _, last = phrase.rpartition(" ")
    return f"{first} {singular(last)}" if first else singular(last)


@cache
def table() -> Table:
    made = Table()
    for file in FILES:
        loaded = tomllib.loads((Path(__file__).parent / file).read_text(encoding="utf-8"))
        for name, entry in loaded["concepts"].items():
            for phrase in (name, *entry["same"]):
                # The first table to claim a phrase keeps it, but a concept always owns its own name.
                made.names.setdefault(phrase.lower(), name)
                made.names.setdefault(_key(phrase.lower()), name)
            made.domains[name] = (*made.domains.get(name, ()), Path(file).stem)
            made.same[name] = tuple(dict.fromkeys((*made.same.get(name, ()), *entry["same"])))
            made.broader[name] = tuple(dict.fromkeys((*made.broader.get(name, ()), *entry["broader"])))
        for name in loaded["concepts"]:
            made.names[name.lower()] = made.names[_key(name.lower())] = name
        made._per_share.update(loaded.get("per_share", {}))
    return made
