"""The units of a pool, numbered as they are met, with the ways the corpus writes them."""

from __future__ import annotations

from collections import Counter

from numcolbert.data.pool import Unit
from numcolbert.quantities import units
from numcolbert.quantities.units import UnitInfo
from numcolbert.types import Quantity

OBSERVED = 6

# "a dividend of 28 cents" and "a dividend of $0.28 a share" are one and the same, so for figures that are by
# nature per share the denominator says nothing, and must not keep the two from being compared.
PER_SHARE = ("/share", "/diluted", "/diluted share", "/common", "/common share", "/unit", "/diluted unit")
PER_SHARE_CONCEPTS = frozenset(
    ("dividend", "distribution", "special dividend", "stock price", "offering price", "exercise price")
)


class UnitCollector:
    def __init__(self) -> None:
        self._position: dict[str, int] = {}
        self._infos: list[UnitInfo] = []
        self._after: list[Counter[str]] = []
        self._before: list[Counter[str]] = []

    def add(self, quantity: Quantity, text: str, concept: str | None) -> int:
        """The number of the quantity's unit; -1 for a bare number."""
        if quantity.unit is None:
            return -1
        name = quantity.unit
        per_share = next((tail for tail in PER_SHARE if name.endswith(tail)), None)
        if per_share and quantity.dimension.startswith("currency:") and concept and is_per_share(concept):
            name = name.removesuffix(per_share)
        position = self._position.get(name)
        if position is None:
            position = self._position[name] = len(self._infos)
            self._infos.append(_info(name, quantity))
            self._after.append(Counter())
            self._before.append(Counter())
        if quantity.unit_span is not None and name == quantity.unit:
            surface = text[slice(*quantity.unit_span)]
            before = quantity.unit_span[0] < quantity.value_span[0]
            (self._before if before else self._after)[position][surface] += 1
        return position

    def units(self) -> list[Unit]:
        made = []
        for info, after, before in zip(self._infos, self._after, self._before, strict=True):
            seen = tuple(surface for surface, _ in after.most_common(OBSERVED))
            made.append(
                Unit(
                    info.name,
                    info.dimension,
                    info.factor,
                    info.offset,
                    tuple(dict.fromkeys((*info.surfaces, *(() if info.surfaces else seen)))),
                    tuple(dict.fromkeys((*info.prefixes, *(() if info.prefixes else before)))),
                )
            )
        return made


def is_per_share(concept: str) -> bool:
    return "per share" in concept or concept in PER_SHARE_CONCEPTS


def _info(name: str, quantity: Quantity) -> UnitInfo:
    if quantity.dimension.startswith("count:") and "/" not in name:
        return units.count_unit(name)
    return units.lookup(name)
