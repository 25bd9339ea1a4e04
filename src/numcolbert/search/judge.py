"""Whether a passage's quantities satisfy what a query asks. Takes no part in the ranking."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from numcolbert.search.results import JudgedQuantity
from numcolbert.types import Condition, Quantity


def conditions_of(query: str) -> tuple[Condition, ...]:
    from numcolbert.quantities import conditions  # here, because the unit table takes a while to load

    return tuple(conditions(query))


def judge(quantities: Iterable[Quantity], conditions: Sequence[Condition]) -> list[JudgedQuantity]:
    """Each quantity with its own verdict."""
    return [JudgedQuantity(quantity, _verdict(quantity, conditions)) for quantity in quantities]


def satisfied(quantities: Sequence[Quantity], conditions: Sequence[Condition]) -> bool | None:
    """The verdict on a whole passage.

    True: for every dimension asked about, one quantity satisfies all conditions on it.
    False: for some dimension there are comparable quantities, and none of them does.
    None: the query has no condition, or the passage has nothing to compare with one of them.
    """
    answers = []
    for dimension in dict.fromkeys(c.quantity.dimension for c in conditions):
        asked = [c for c in conditions if c.quantity.dimension == dimension]
        verdicts = [_verdict(quantity, asked) for quantity in quantities]
        answers.append(True if True in verdicts else False if False in verdicts else None)
    if False in answers:
        return False
    return None if not answers or None in answers else True


def _verdict(quantity: Quantity, conditions: Iterable[Condition]) -> bool | None:
    """Whether it satisfies all conditions that it can be compared with; None where there is none."""
    from numcolbert.quantities import satisfies

    verdicts = [verdict for c in conditions if (verdict := satisfies(quantity, c)) is not None]
    return all(verdicts) if verdicts else None
