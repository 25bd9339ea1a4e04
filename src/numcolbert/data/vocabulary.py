"""The integers of a triple stream: units, dimensions and (concept, dimension) pairs of all its sources."""

from __future__ import annotations

from collections.abc import Iterable

from numcolbert.data.pool import Unit


class Vocabulary:
    """Grows while the sources register, then stays as it is; equal sources give equal numbers."""

    def __init__(self) -> None:
        self.units: list[Unit] = []
        self.dimensions: list[str] = []
        self.pairs: list[tuple[str, str]] = []
        """(concept name, dimension)"""
        self._unit: dict[str, int] = {}
        self._dimension: dict[str, int] = {}
        self._pair: dict[tuple[str, str], int] = {}

    def unit(self, unit: Unit) -> int:
        position = self._unit.get(unit.name)
        if position is None:
            position = self._unit[unit.name] = len(self.units)
            self.units.append(unit)
            self.dimension(unit.dimension)
        elif not (self.units[position].surfaces or self.units[position].prefixes):
            self.units[position] = unit
        return position

    def dimension(self, name: str) -> int:
        position = self._dimension.get(name)
        if position is None:
            position = self._dimension[name] = len(self.dimensions)
            self.dimensions.append(name)
        return position

    def pair(self, concept: str, dimension: str) -> int:
        key = (concept, dimension)
        position = self._pair.get(key)
        if position is None:
            position = self._pair[key] = len(self.pairs)
            self.pairs.append(key)
            self.dimension(dimension)
        return position

    def add_units(self, units: Iterable[Unit]) -> list[int]:
        return [self.unit(unit) for unit in units]
