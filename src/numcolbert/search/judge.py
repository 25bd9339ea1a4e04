"""Whether a passage's quantities satisfy what a query asks. Takes no part in the ranking."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from numcolbert.search.results import JudgedQuantity
from numcolbert.types import Condition, Quantity


def conditions_of(query: str) -> tuple[Condition, ...]:
    from numcolbert.quantities import conditions  # here, because the unit table takes a while to load

    return tuple(conditions(query))


def judge(text: str, quantities: Sequence[Quantity], conditions: Sequence[Condition]) -> list[JudgedQuantity]:
    """Each quantity of a passage with its own verdict."""
    if not conditions:
        return [JudgedQuantity(quantity, None) for quantity in quantities]
    verdicts = (_verdict(text, read, conditions) for read in _readings(text, quantities))
    return [JudgedQuantity(quantity, verdict) for quantity, verdict in zip(quantities, verdicts, strict=True)]


def satisfied(text: str, quantities: Sequence[Quantity], conditions: Sequence[Condition]) -> bool | None:
    """The verdict on a whole passage.

    True: for every dimension asked about, one quantity satisfies all conditions on it.
    False: for some dimension there are comparable quantities, and none of them does.
    None: the query has no condition, or the passage has nothing to compare with one of them.
    """
    if not conditions:
        return None
    read = _readings(text, quantities)
    answers = []
    for dimension in dict.fromkeys(c.quantity.dimension for c in conditions):
        asked = [c for c in conditions if c.quantity.dimension == dimension]
        answers.append(_any(_verdict(text, one, asked) for one in read))
    return False if False in answers else None if None in answers else True


def _readings(text: str, quantities: Sequence[Quantity]) -> list[tuple[Quantity, ...]]:
    from numcolbert.quantities.stated import readings

    return readings(text, quantities)


def _verdict(text: str, read: Sequence[Quantity], conditions: Sequence[Condition]) -> bool | None:
    """Whether one reading satisfies all conditions that it can be compared with; None where there is none."""
    from numcolbert.quantities.stated import holds

    answers = []
    for quantity in read:
        verdicts = [verdict for c in conditions if (verdict := holds(text, quantity, c)) is not None]
        answers.append(all(verdicts) if verdicts else None)
    return _any(answers)


def _any(verdicts: Iterable[bool | None]) -> bool | None:
    """True if one is, else False if one is."""
    found = set(verdicts)
    return True if True in found else False if False in found else None
