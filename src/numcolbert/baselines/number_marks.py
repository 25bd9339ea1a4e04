"""Numbers replaced by one token each, as DeepQuant reads a text; plain regular expressions, no labels."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass

NUMBER_TOKEN = "[unused1]"
"""The `[num]` of the paper, on a vocabulary entry that BERT never trained."""

_SCALES = {
    "hundred": 1e2, "thousand": 1e3, "k": 1e3, "million": 1e6, "mln": 1e6, "mm": 1e6, "m": 1e6,
    "billion": 1e9, "bln": 1e9, "bn": 1e9, "b": 1e9, "trillion": 1e12, "trln": 1e12, "tn": 1e12,
}  # fmt: skip
# One-letter scales are read only behind a currency: "5 m" is a length, "$5m" is not.
_WORDS = "|".join(word for word in _SCALES if len(word) > 2 or word in ("bn", "tn"))
_NUMBER = re.compile(
    rf"""(?P<currency>[$€£¥]\s?)?
    (?<![\w.,])(?P<sign>[-+−])?(?P<digits>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d+(?:\.\d+)?)
    (?:(?P<scale>[\s-]?(?:{_WORDS})\b)|(?P<letter>(?:k|mm|m|b)\b))?""",
    re.VERBOSE | re.IGNORECASE,
)

LOWEST_EXPONENT, HIGHEST_EXPONENT = -8, 14
ZERO = 0
EXPONENTS = HIGHEST_EXPONENT - LOWEST_EXPONENT + 2
"""Classes: zero, then one for each power of ten."""


@dataclass(frozen=True, slots=True)
class MarkedText:
    text: str
    """Every value is `NUMBER_TOKEN`, followed by its unit; a currency before the number moves behind it."""
    values: tuple[float, ...]


def mark_numbers(text: str) -> MarkedText:
    values: list[float] = []

    def replaced(found: re.Match[str]) -> str:
        currency, scale, letter = found["currency"], found["scale"], found["letter"]
        value = float(found["digits"].replace(",", ""))
        rest = ""
        if scale:
            value *= _SCALES[scale.strip(" -").lower()]
        elif letter and currency:
            value *= _SCALES[letter.lower()]
        elif letter:
            rest = letter
        values.append(-value if found["sign"] in ("-", "−") else value)
        return f" {NUMBER_TOKEN} {(currency or '').strip()}{rest}"

    # Where a text holds the token itself, there would be more tokens than values.
    return MarkedText(_NUMBER.sub(replaced, text.replace(NUMBER_TOKEN, " ")), tuple(values))


def exponent_and_mantissa(value: float) -> tuple[int, float]:
    """(class of the exponent, mantissa in 1..10): 2500 is 2.5 and the class of 10^3; zero has its own."""
    if abs(value) < sys.float_info.min or not math.isfinite(value):  # below, powers of ten are no numbers
        return ZERO, 1.0
    exponent = math.floor(math.log10(abs(value)))
    mantissa = abs(value) / 10.0**exponent
    if mantissa >= 10:  # log10 rounds down at powers of ten
        exponent, mantissa = exponent + 1, mantissa / 10
    clipped = min(max(exponent, LOWEST_EXPONENT), HIGHEST_EXPONENT)
    return clipped - LOWEST_EXPONENT + 1, min(max(mantissa, 1.0), 10.0)
