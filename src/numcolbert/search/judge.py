"""Whether a passage's quantities satisfy what a query asks. Takes no part in the ranking."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from numcolbert.types import Condition, Quantity


def conditions_of(query: str) -> tuple[Condition, ...]:
    from numcolbert.quantities import conditions  # here, because the unit table takes a while to load

    return tuple(conditions(query))


def judge_quantity(quantity: Quantity, conditions: Iterable[Condition]) -> bool | None:
    """Whether it satisfies all conditions it can be compared with; None where there is none."""
    from numcolbert.quantities import satisfies

    verdicts = [verdict for c in conditions if (verdict := satisfies(quantity, c)) is not None]
    return all(verdicts) if verdicts else None


def judge_passage(quantities: Sequence[Quantity], conditions: Sequence[Condition]) -> bool | None:
    """True: for every dimension asked about, one quantity satisfies all conditions on it.

    False: some dimension has comparable quantities, and none of them does. None: no condition, or nothing in
    the passage to compare with one of them.
    """
    answers = [
        judge_group(quantities, [c for c in conditions if c.quantity.dimension == dimension])
        for dimension in dict.fromkeys(c.quantity.dimension for c in conditions)
    ]
    if False in answers:
        return False
    return None if not answers or None in answers else True


def judge_group(quantities: Sequence[Quantity], conditions: Sequence[Condition]) -> bool | None:
    verdicts = [judge_quantity(quantity, conditions) for quantity in quantities]
    if True in verdicts:
        return True
    return False if False in verdicts else None
