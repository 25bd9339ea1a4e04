"""Where to put the threshold of a query, so that a few passages satisfy it and more do not."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from numcolbert.data.pool import Unit
from numcolbert.types import Condition, Operator, Quantity

if TYPE_CHECKING:
    from numcolbert.data.pair_index import Pair

TRIES = 6
EXACT_SHARE = 0.3
"""How often a strict bound is an observed value itself, which then does not satisfy it."""


@dataclass(frozen=True, slots=True)
class Threshold:
    operator: Operator
    value: float
    """In `unit`; the lower end of a range."""
    unit: Unit
    high: float | None = None

    @property
    def base_value(self) -> float:
        return self.value * self.unit.factor + self.unit.offset

    @property
    def base_high(self) -> float:
        return (self.value if self.high is None else self.high) * self.unit.factor + self.unit.offset

    def condition(self) -> Condition:
        is_range = self.operator == "range"
        quantity = Quantity(
            value=self.value,
            unit=self.unit.name,
            dimension=self.unit.dimension,
            base_value=self.base_value,
            span=(0, 0),
            value_span=(0, 0),
            low=self.value if is_range else None,
            high=self.high,
            base_low=self.base_value if is_range else None,
            base_high=self.base_high if is_range else None,
        )
        return Condition(self.operator, quantity, (0, 0))


def choose(
    pair: Pair, operator: Operator, rng: Random, fewest: int, most: int, unit: Unit | None = None
) -> Iterator[Threshold]:
    """Candidates, best first drawn; each is satisfied by `fewest` to `most` sentences of the pair."""
    match operator:
        case "=":
            candidates = _equal(pair, rng, fewest, most, unit)
        case ">" | "<" | ">=" | "<=":
            candidates = _bound(pair, operator, rng, fewest, most, unit)
        case _:
            candidates = _range(pair, rng)
    tried = 0
    for threshold in candidates:
        if fewest <= len(pair.satisfying(threshold)) <= most:
            yield threshold
            tried += 1
            if tried >= TRIES:
                return


def _equal(pair: Pair, rng: Random, fewest: int, most: int, unit: Unit | None) -> Iterator[Threshold]:
    sentences: defaultdict[float, set[int]] = defaultdict(set)
    for row, quantity in pair.mentions:
        sentences[quantity.base_value].add(row)
    values = sorted(
        {
            (q.value, q.unit)
            for _, q in pair.mentions
            if not q.is_range and q.value and fewest <= len(sentences[q.base_value]) <= most
        }
    )
    rng.shuffle(values)
    for value, name in values:
        own = pair.units[str(name)]
        if unit is None or unit is own:
            yield Threshold("=", value, own)
        else:
            restated = float(f"{(value * own.factor + own.offset - unit.offset) / unit.factor:.3g}")
            if abs(restated * unit.factor + unit.offset - value * own.factor - own.offset) <= 1e-3 * abs(
                value * own.factor + own.offset
            ):
                yield Threshold("=", restated, unit)


def _bound(
    pair: Pair, operator: Operator, rng: Random, fewest: int, most: int, unit: Unit | None
) -> Iterator[Threshold]:
    """A number between the last sentence that shall satisfy the bound and the first that shall not."""
    upward = operator in (">", ">=")
    ends = pair.sentence_ends(upward=upward)  # extreme first
    places = [k for k in range(fewest, min(most, len(ends) - 1) + 1) if ends[k - 1][0] != ends[k][0]]
    rng.shuffle(places)
    for k in places:
        inside, outside = ends[k - 1], ends[k]
        own = pair.units[str(inside[1].unit)]
        if operator in (">=", "<="):
            yield Threshold(operator, inside[1].value, own)
            continue
        if unit is None and rng.random() < EXACT_SHARE and not outside[1].is_range:
            yield Threshold(operator, outside[1].value, pair.units[str(outside[1].unit)])
            continue
        chosen = unit or own
        low, high = sorted((end[0] - chosen.offset) / chosen.factor for end in (inside, outside))
        number = round_between(low, high, rng)
        if number is not None:
            yield Threshold(operator, number, chosen)


def _range(pair: Pair, rng: Random) -> Iterator[Threshold]:
    """Two observed or round numbers around a few neighbouring values, away from both extremes."""
    values = sorted({q.base_value for _, q in pair.mentions if not q.is_range})
    unit = pair.main_unit
    for _ in range(60):
        if len(values) < 4:
            return
        first = rng.randrange(0, len(values) - 1)
        last = min(len(values) - 1, first + rng.randint(1, 6))
        low, high = ((values[i] - unit.offset) / unit.factor for i in (first, last))
        low, high = float(f"{low:.4g}"), float(f"{high:.4g}")
        if 0 < low < high:
            yield Threshold("range", low, unit, high)


def round_between(low: float, high: float, rng: Random) -> float | None:
    """The number with the fewest digits strictly between two others; which of several is drawn."""
    if not low < high:
        return None
    size = max(abs(low), abs(high))
    top = math.floor(math.log10(size)) if size else 0
    for exponent in range(top, top - 5, -1):
        step = 10.0**exponent
        first, last = math.floor(low / step) + 1, math.ceil(high / step) - 1
        if first <= last:
            number = float(f"{rng.randint(first, min(last, first + 20)) * step:.6g}")
            if low < number < high and number:
                return number
    return None
