"""Five small test sets, each for one thing that the main set leaves out.

bounds: "at least", "at most" and ranges; conversion: another unit than the passages use; formats: words,
scientific notation, suffixes; distractors: numbers in the query that carry no condition; two_conditions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import combinations, cycle
from random import Random
from typing import TYPE_CHECKING

from numcolbert.data import thresholds
from numcolbert.data.pair_index import Pair
from numcolbert.data.pool import Unit
from numcolbert.data.queries import QueryStyle
from numcolbert.data.writing import NumberStyle, write_number
from numcolbert.quantities import units
from numcolbert.types import Operator

if TYPE_CHECKING:
    from numcolbert.data.benchmark import Builder, JudgedQuery

SIMPLE: tuple[Operator, ...] = ("=", ">", "<")
ROUNDS = 20

# Units people convert between; the query takes one that most of its passages do not use.
CONVERTIBLE = {
    "currency:USD": ("USD", "US_cent"),
    "currency:GBP": ("GBP", "penny"),
    "percentage_point": ("percentage_point", "basis_point"),
    "time": ("minute", "hour", "day", "week", "month", "year"),
    "mass": ("microgram", "milligram", "gram", "kilogram", "tonne", "pound", "ounce", "ton"),
    "length": ("millimetre", "centimetre", "metre", "kilometre", "inch", "foot", "mile"),
    "volume": ("millilitre", "litre", "barrel", "gallon"),
    "area": ("square_foot", "square_metre", "acre", "hectare"),
    "temperature": ("celsius", "fahrenheit"),
    "pressure": ("mmHg", "kilopascal", "cmH2O"),
    "energy": ("kilocalorie", "kilojoule", "kilowatt_hour", "megawatt_hour", "gigawatt_hour"),
    "power": ("watt", "kilowatt", "megawatt", "gigawatt"),
    "mass/volume": ("milligram/decilitre", "gram/litre", "gram/decilitre", "milligram/litre"),
    "amount/volume": ("millimole/litre", "micromole/litre"),
    "volume/time": ("millilitre/minute", "litre/minute", "barrel/day", "millilitre/hour"),
    "mass/mass": ("milligram/kilogram", "microgram/kilogram", "gram/kilogram"),
    "mass/time": ("milligram/day", "gram/day"),
}  # fmt: skip
READABLE = (0.05, 2e4)
"""A converted number outside is written by nobody."""


def _fill(name: str, count: int, draws: Iterator[JudgedQuery | None]) -> list[JudgedQuery]:
    found: list[JudgedQuery] = []
    for query in draws:
        if query is not None:
            query.id = f"{name[0]}{len(found) + 1:04}"
            found.append(query)
            if len(found) == count:
                return found
    return found


def _rounds(builder: Builder, name: str) -> Iterator[tuple[Random, Pair]]:
    """The pairs in a new order again and again."""
    rng = Random(f"{builder.settings.seed} {name}")
    for _ in range(ROUNDS):
        pairs = list(builder.pairs)
        rng.shuffle(pairs)
        for pair in pairs:
            yield rng, pair


def bounds(builder: Builder, count: int) -> list[JudgedQuery]:
    operators: Iterator[Operator] = cycle((">=", "<=", "range"))

    def draws() -> Iterator[JudgedQuery | None]:
        operator = next(operators)
        for rng, pair in _rounds(builder, "bounds"):
            query = builder.draw(pair, operator, rng)
            yield query
            if query is not None:
                operator = next(operators)

    return _fill("bounds", count, draws())


def conversion(builder: Builder, count: int) -> list[JudgedQuery]:
    operators: Iterator[Operator] = cycle((">", "<", "="))

    def draws() -> Iterator[JudgedQuery | None]:
        operator = next(operators)
        for rng, pair in _rounds(builder, "conversion"):
            if query := converted(rng, pair, operator):
                yield query
                operator = next(operators)
        # Where one operator has run dry, the others go on: the number of queries comes first.
        for rng, pair in _rounds(builder, "more conversion"):
            for operator in SIMPLE:
                yield converted(rng, pair, operator)

    def converted(rng: Random, pair: Pair, operator: Operator) -> JudgedQuery | None:
        for unit in _other_units(pair, rng):
            query = builder.draw(pair, operator, rng, unit=unit)
            if query is not None and READABLE[0] <= abs(query.asked[0].value) <= READABLE[1]:
                return query
        return None

    return _fill("conversion", count, draws())


def _other_units(pair: Pair, rng: Random) -> list[Unit]:
    """Units of the pair's dimension near its own, but not the one most passages use."""
    main = pair.main_unit
    found = []
    for name in CONVERTIBLE.get(pair.dimension, ()):
        info = units.lookup(name)
        ratio = info.factor / main.factor
        if info.name != main.name and 1e-3 <= ratio <= 1e3:
            found.append(
                Unit(
                    info.name,
                    info.dimension,
                    info.factor,
                    info.offset,
                    info.surfaces or (name,),
                    info.prefixes,
                )
            )
    rng.shuffle(found)
    return found


STYLES: tuple[NumberStyle, ...] = ("words", "scientific", "grouped", "suffix", "scale")


def formats(builder: Builder, count: int) -> list[JudgedQuery]:
    """The rarest style that can say the threshold is taken, so that all get their share."""
    used: Counter[NumberStyle] = Counter()
    operators: Iterator[Operator] = cycle(SIMPLE)

    def draws() -> Iterator[JudgedQuery | None]:
        for rng, pair in _rounds(builder, "formats"):
            query = _formatted(builder, pair, next(operators), rng, used)
            yield query

    return _fill("formats", count, draws())


def _formatted(
    builder: Builder, pair: Pair, operator: Operator, rng: Random, used: Counter[NumberStyle]
) -> JudgedQuery | None:
    settings = builder.settings
    money = pair.dimension.startswith("currency:")
    for threshold in thresholds.choose(pair, operator, rng, settings.fewest, settings.most):
        styles = [s for s in STYLES if write_number(threshold.value, s, Random(0), money=money) is not None]
        relevant = pair.satisfying(threshold)
        phrase = builder.wording.phrase(pair, relevant, rng, expanded=False)
        if phrase is None or not styles:
            continue
        style = min(styles, key=lambda s: used[s])
        parts = [(pair, threshold, phrase)]
        query = builder.judge(parts, relevant, pair.rows - relevant, rng, QueryStyle(number_style=style))
        if query is not None:
            used[style] += 1
            return query
    return None


def distractors(builder: Builder, count: int) -> list[JudgedQuery]:
    operators: Iterator[Operator] = cycle(SIMPLE)

    def draws() -> Iterator[JudgedQuery | None]:
        operator = next(operators)
        for rng, pair in _rounds(builder, "distractors"):
            query = builder.draw(pair, operator, rng, style=QueryStyle(distractor=True))
            yield query
            if query is not None:
                operator = next(operators)

    return _fill("distractors", count, draws())


def two_conditions(builder: Builder, count: int) -> list[JudgedQuery]:
    together: defaultdict[tuple[Pair, Pair], list[int]] = defaultdict(list)
    by_row: defaultdict[int, list[Pair]] = defaultdict(list)
    for pair in builder.pairs:
        for row in pair.rows:
            by_row[row].append(pair)
    for row, pairs in by_row.items():
        for one, other in combinations(sorted(pairs, key=lambda p: p.key), 2):
            if one.name != other.name:
                together[one, other].append(row)
    couples = sorted(
        (couple for couple, rows in together.items() if len(rows) >= 3), key=lambda c: (c[0].key, c[1].key)
    )

    def draws() -> Iterator[JudgedQuery | None]:
        rng = Random(f"{builder.settings.seed} two_conditions")
        for _ in range(ROUNDS):
            rng.shuffle(couples)
            for couple in couples:
                yield _two(builder, couple, sorted(together[couple]), rng)

    return _fill("two_conditions", count, draws())


def _two(builder: Builder, couple: tuple[Pair, Pair], rows: list[int], rng: Random) -> JudgedQuery | None:
    """Two bounds around a few sentences that speak of both concepts."""
    for _ in range(12):
        parts = []
        relevant = set(rows)
        anchor = rng.choice(rows)
        for pair in couple:
            operator: Operator = rng.choice((">", "<"))
            values = sorted({q.base_value for _, q in pair.mentions})
            value = next(q.base_value for row, q in pair.mentions if row == anchor)
            place = values.index(value)
            beside = (
                values[max(0, place - rng.randint(1, 3))]
                if operator == ">"
                else values[min(len(values) - 1, place + rng.randint(1, 3))]
            )
            unit = pair.main_unit
            low, high = sorted((v - unit.offset) / unit.factor for v in (value, beside))
            number = thresholds.round_between(low, high, rng)
            if number is None:
                break
            threshold = thresholds.Threshold(operator, number, unit)
            relevant &= pair.satisfying(threshold)
            phrase = builder.wording.phrase(pair, {anchor}, rng, expanded=False) or pair.name
            parts.append((pair, threshold, phrase))
        if len(parts) == 2:
            query = builder.judge(parts, relevant, (couple[0].rows | couple[1].rows) - relevant, rng, None)
            if query is not None:
                return query
    return None


SUITES: dict[str, Callable[[Builder, int], list[JudgedQuery]]] = {
    "bounds": bounds,
    "conversion": conversion,
    "formats": formats,
    "distractors": distractors,
    "two_conditions": two_conditions,
}
