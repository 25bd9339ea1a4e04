"""Quantities that are not the thing's own: an average beside it in a sentence, "per 100 g" in a query.

Such a number may satisfy a condition that the thing's own violates: a 100-gram portion is no answer to a
question for foods with more than 20 g of protein.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from numcolbert.data.attribute_sentences import Frame, Stated
from numcolbert.data.pool import Unit
from numcolbert.data.writing import write_quantity

_BEFORE = (
    "The average is {r}. ", "The limit is {r}. ", "Others come to {r}. ", "Half of all come to {r} or more. ",
    "{r} would be allowed. ", "Elsewhere {r} is usual. ", "A sample of {r} was taken. ", "Per {r}, ",
    "In a portion of {r}, ", "For every {r}, ", "Out of {r}, ", "In a test with {r}, ",
)  # fmt: skip
_AFTER = (
    ", against an average of {r}", ", where {r} is usual", ", compared with {r} elsewhere",
    ", though {r} would be allowed", " ({r} on average)", ", in a class that ends at {r}",
    " in every {r}", " for every {r}", " out of {r}",
)  # fmt: skip

MEASURES = (
    "per 100 g", "per 100 grams", "in a 30 g serving", "per 100 ml", "in 250 ml", "per litre", "at 20 °C",
    "at 25 degrees Celsius", "from 0 to 100 km/h", "at 90 km/h", "per 100 km", "per 1,000 people",
    "for groups of 12", "in 24 hours", "after 12 months", "in the first 90 days", "at 50 Hz", "at 230 V",
    "on 8 GB of memory",
)  # fmt: skip
"""What a quantity in a query may be measured by or under; none of them sets a bound."""


def compared(frame: Frame, value: float, unit: Unit, rng: Random) -> Frame:
    """The sentence beside a quantity of the same kind that belongs to something else."""
    written = write_quantity(value, unit, rng)
    others = (*frame.others, Stated(None, unit, value))
    if frame.after.endswith(".") and rng.random() < 0.6:
        after = frame.after[:-1] + rng.choice(_AFTER).format(r=written) + "."
        return replace(frame, after=after, others=others)
    lead = rng.choice(_BEFORE).format(r=written)
    return replace(frame, before=lead[0].upper() + lead[1:] + frame.before, others=others)
