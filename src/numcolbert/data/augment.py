"""The three augmentations: another phrase for the concept, another unit, another value.

Everything here returns what it really wrote, so that the caller recomputes the label instead of trusting it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from numcolbert.data.pool import Concept, Unit
from numcolbert.data.triple import same_value
from numcolbert.data.writing import WrittenNumber, digits_of, read_number, round_to, same_number
from numcolbert.types import Operator, Span

_SIGN = re.compile(r"(?:negative|minus|[-−–])\s*", re.IGNORECASE)

# Scale words one may take instead of another when the new value asks for it, in the same spelling.
_SCALE_FAMILIES: tuple[tuple[tuple[float, str], ...], ...] = (
    ((1e3, "thousand"), (1e6, "million"), (1e9, "billion"), (1e12, "trillion")),
    ((1e6, "mln"), (1e9, "bln")),
    ((1e3, "k"), (1e6, "m"), (1e9, "bn")),
    ((1e3, "K"), (1e6, "M"), (1e9, "B")),
)


def concept_phrase(concept: Concept, rng: Random, expansion: float) -> str:
    """The concept's own phrase or, with probability `expansion`, one that stands for it."""
    if concept.variants and rng.random() < expansion:
        return rng.choice(concept.variants)
    return concept.name


def convert(value: float, source: Unit, target: Unit) -> float:
    return (value * source.factor + source.offset - target.offset) / target.factor


def convertible_units(unit: Unit, units: Sequence[Unit], ratio: float = 2000.0) -> list[Unit]:
    """Other units of the dimension in which a person would still state the same amount."""
    return [
        other
        for other in units
        if other.dimension == unit.dimension
        and other.name != unit.name
        and 1 / ratio <= other.factor / unit.factor <= ratio
        and (other.surfaces or other.prefixes)
    ]


def write_like(value: float, style: WrittenNumber, extra_decimals: int = 0) -> tuple[str, float]:
    """`value` in the surface style of another number, and the value that text really says."""
    scale, scale_text = _fitting_scale(value, style)
    mantissa = value / scale
    decimals = style.decimals + extra_decimals
    if scale < style.scale:
        decimals = max(decimals, 1)
    size = abs(mantissa)
    if size and size < 10 ** (-decimals):  # do not round a small value away
        decimals = len(digits_of(round_to(mantissa, 2)).partition(".")[2])
    decimals = min(decimals, 9)
    if extra_decimals and same_number(mantissa, round(mantissa, style.decimals)):
        decimals = style.decimals  # nobody writes 170.0 where 17 stood
    text = f"{mantissa:,.{decimals}f}" if style.grouped or size >= 1e5 else f"{mantissa:.{decimals}f}"
    return text + scale_text, float(text.replace(",", "")) * scale


def _fitting_scale(value: float, style: WrittenNumber) -> tuple[float, str]:
    """The style's own scale word, or its neighbour where the number before it would read strangely."""
    size = abs(value) / style.scale
    if not style.scale_text or 0.5 <= size < 2000:
        return style.scale, style.scale_text
    stripped = style.scale_text.strip(" -")
    lead = style.scale_text[: len(style.scale_text) - len(stripped)]
    for family in _SCALE_FAMILIES:
        if (style.scale, stripped) in family:
            fitting = [(scale, word) for scale, word in family if abs(value) >= scale]
            if fitting:
                return fitting[-1][0], lead + fitting[-1][1]
            return 1.0, ""
    return style.scale, style.scale_text


def rewrite_value(
    text: str, value_span: Span, old_value: float, new_value: float, rng: Random
) -> tuple[str, float] | None:
    """Put another value into a sentence, in the style of the one that stands there.

    Returns the new sentence and the value it states (rounded as the style asks), or None where the surface is
    not understood: words, fractions, or digits that do not say `old_value`. A negative value can only be
    replaced by another.
    """
    start, end = value_span
    sign = 1.0
    if old_value < 0:  # "negative $51 million", "minus 0.2 %": the sign stays, wherever it stands
        if new_value >= 0:
            return None
        sign = -1.0
        if written_sign := _SIGN.match(text, start, end):
            start = written_sign.end()
    style = read_number(text[start:end])
    if style is None or not same_number(sign * style.value, old_value, 1e-9):
        return None
    extra = 0 if style.decimals or abs(old_value) >= 100 else int(rng.random() < 0.3)
    written, stated = write_like(sign * new_value, style, extra)
    return text[:start] + written + text[end:], sign * stated


def value_beside(value: float, direction: int, rng: Random, near: float, *, whole: bool = False) -> float:
    """A value on one side (-1 below, +1 above) of another.

    With probability `near` it is a hard one: 1 to 10 % away, one step of the last digit away, or made of the
    same digits in another order or magnitude (20,000 and 2,000). Otherwise anything up to 100 times away.
    """
    if value == 0:
        return direction * float(rng.choice((1, 2, 5, 10, 0.5 if not whole else 3)))
    sign = direction if value > 0 else -direction  # the side on which the absolute value lies
    size = abs(value)
    drawn = rng.random()
    if drawn < near:
        kind = rng.random()
        if kind < 0.45:
            other = size * (1 + sign * rng.uniform(0.01, 0.1))
        elif kind < 0.65:
            other = size + sign * _last_step(size)
        elif kind < 0.85:
            factor = rng.choice((10.0, 10.0, 10.0, 100.0, 1000.0 if size >= 1e4 else 10.0))
            other = size * factor**sign
        else:
            other = _swapped_digits(size, rng)
            if (other - size) * sign <= 0:
                other = round_to(size * (1 + sign * rng.uniform(0.05, 0.3)), 3)
        digits = rng.choice((2, 3, 4)) if kind < 0.45 else 12
    else:
        other = size * 10 ** (sign * rng.uniform(0.05, 2.0 if rng.random() < 0.3 else 1.0))
        digits = rng.choice((1, 2, 2, 3))
    other = round_to(other, digits) if other > 0 else 0.0
    if whole:
        other = float(round(other))
    if (other - size) * sign <= 0 or same_value(other, size):
        other = size + sign * (1.0 if whole else size * 0.1)
    other = max(other, 0.0)
    return other if value > 0 else -other


def _last_step(size: float) -> float:
    """One in the last digit that is written: 1 for 12, 0.1 for 2.5, 100 for 2,300."""
    text = digits_of(size)
    _, _, fraction = text.partition(".")
    if fraction:
        return float(f"1e-{len(fraction)}")
    return float(10 ** min(len(text) - len(text.rstrip("0")), len(text) - 1))


def _swapped_digits(size: float, rng: Random) -> float:
    digits = list(digits_of(size))
    places = [i for i, c in enumerate(digits) if c.isdigit()]
    if len(places) < 2:
        return size
    i = rng.randrange(len(places) - 1)
    a, b = places[i], places[i + 1]
    digits[a], digits[b] = digits[b], digits[a]
    return float("".join(digits))


def value_for(
    operator: Operator,
    low: float,
    high: float,
    wanted: bool,
    rng: Random,
    near: float,
    *,
    at: float,
    whole: bool = False,
) -> float:
    """A value that satisfies the condition (`wanted`) or violates it, often close to the threshold.

    With probability `at` it is the threshold itself, where that satisfies an inclusive bound or violates a
    strict one; for `near` see `value_beside`.
    """
    if operator == "range":
        if wanted:
            inside = round_to(rng.uniform(low, high), 3)
            return inside if low <= inside <= high else low
        return (
            value_beside(low, -1, rng, near, whole=whole)
            if rng.random() < 0.5
            else value_beside(high, 1, rng, near, whole=whole)
        )
    if operator == "=":
        return low if wanted else value_beside(low, rng.choice((-1, 1)), rng, near, whole=whole)
    above = (operator[0] == ">") == wanted
    if (operator in (">=", "<=")) == wanted and rng.random() < at:
        return low
    return value_beside(low, 1 if above else -1, rng, near, whole=whole)
