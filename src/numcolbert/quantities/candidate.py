"""A number under construction."""

from __future__ import annotations

from dataclasses import dataclass

from numcolbert.quantities.units import UnitInfo
from numcolbert.types import Span


@dataclass(slots=True)
class Candidate:
    """A number with what was found around it; its span grows as scale, unit and range join it."""

    start: int
    end: int
    value_start: int
    value_end: int
    mantissa: float
    scale: float = 1.0
    unit: UnitInfo | None = None
    unit_span: Span | None = None
    counted: bool = False
    """The unit is a noun ("patients"), not an entry of the unit table."""
    currency_before: bool = False
    spelled: bool = False
    """Written in words."""
    hyphened: bool = False
    """A word is tied to it from the left: "sub-7 nanometre", "covid-19"."""
    high: float | None = None
    """The other end of a range, scale applied."""
    vague: bool = False
    resume: int = 0
    """Where reading goes on if not at `end`: behind "of protein per 100 g", which belongs to the unit."""
    rejected: bool = False

    @property
    def value(self) -> float:
        if self.scale == 1:
            return self.mantissa
        return round(self.mantissa * self.scale, 6)  # 8.3 million is not 8300000.000000001
