"""Text to quantities and conditions. Takes no part in ranking."""

from numcolbert.quantities import units
from numcolbert.quantities.conditions import conditions, satisfies
from numcolbert.quantities.extract import extract

__all__ = ["conditions", "extract", "satisfies", "units"]
