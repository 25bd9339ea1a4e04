"""Numbers and quantities as people write them, and back.

Every writer is exact: what it returns reads back as the value it was given, or it returns None and the caller
takes another style.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from random import Random
from typing import Literal, NamedTuple

from numcolbert.data.plurals import plural_of
from numcolbert.data.pool import Unit

NumberStyle = Literal["plain", "grouped", "scale", "suffix", "scientific", "words"]

SCALE_WORDS: tuple[tuple[float, str], ...] = (
    (1e12, "trillion"),
    (1e9, "billion"),
    (1e6, "million"),
    (1e3, "thousand"),
)
_MONEY_SUFFIXES = {1e12: ("tn",), 1e9: ("bn", "B", " bln"), 1e6: ("m", "M", " mln"), 1e3: ("k", "K")}
_COUNT_SUFFIXES = {1e3: ("k",)}
# Suffixes that can be read back wherever they stand; "m" after anything but money is a metre.
_READ_SCALES = {
    "trillion": 1e12, "tn": 1e12, "trln": 1e12, "billion": 1e9, "bn": 1e9, "bln": 1e9, "b": 1e9,
    "million": 1e6, "mln": 1e6, "mn": 1e6, "mm": 1e6, "m": 1e6, "thousand": 1e3, "k": 1e3, "hundred": 1e2,
}  # fmt: skip

_ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


class WrittenNumber(NamedTuple):
    """A number surface taken apart: "2.50 billion" is 2.50, two decimals, " billion"."""

    mantissa: float
    decimals: int
    grouped: bool
    scale: float
    scale_text: str

    @property
    def value(self) -> float:
        return self.mantissa * self.scale


_NUMBER = re.compile(r"(?P<digits>-?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?)(?P<scale>\s?-?[A-Za-z]*)\Z")


def read_number(surface: str) -> WrittenNumber | None:
    """Take a digit number with an optional scale word apart; None for any other surface."""
    match = _NUMBER.match(surface)
    if match is None or not match["digits"] or match["digits"] in ("-", "."):
        return None
    scale_text = match["scale"]
    scale = 1.0
    if scale_text:
        known = _READ_SCALES.get(scale_text.strip().lstrip("-").lower())
        if known is None:
            return None
        scale = known
    digits = match["digits"]
    whole, _, fraction = digits.partition(".")
    return WrittenNumber(float(digits.replace(",", "")), len(fraction), "," in whole, scale, scale_text)


def same_number(one: float, other: float, tolerance: float = 1e-12) -> bool:
    return one == other or abs(one - other) <= tolerance * max(abs(one), abs(other))


def round_to(value: float, digits: int) -> float:
    """`value` with `digits` significant digits, as the float a person would have typed."""
    return float(f"{value:.{digits - 1}e}")


@lru_cache(maxsize=1 << 16)
def digits_of(value: float) -> str:
    """Plain decimal digits, never an exponent: 2.5e9 is '2500000000'."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    text = repr(value)
    return format(Decimal(text), "f") if "e" in text else text


def grouped_digits_of(value: float) -> str:
    whole, dot, fraction = digits_of(value).partition(".")
    return f"{int(whole):,}{dot}{fraction}" if whole not in ("", "-", "-0") else whole + dot + fraction


@lru_cache(maxsize=4096)
def number_words(value: int) -> str:
    """Words for 0 to 999: 205 is 'two hundred and five'."""
    if value < 20:
        return _ONES[value]
    if value < 100:
        tens, ones = divmod(value, 10)
        return _TENS[tens] + (f"-{_ONES[ones]}" if ones else "")
    hundreds, rest = divmod(value, 100)
    return f"{_ONES[hundreds]} hundred" + (f" and {number_words(rest)}" if rest else "")


def _scaled(value: float) -> tuple[str, float, str] | None:
    """The mantissa as text, the scale, and its word, where at most three decimals say the value exactly."""
    size = abs(value)
    for scale, word in SCALE_WORDS:
        if size >= scale:
            # "1.25 million" but never "1.25 thousand"
            text = digits_of(round(value / scale, 3 if scale > 1e3 else 0))
            if same_number(float(text) * scale, value):
                return text, scale, word
            return None
    return None


def write_number(value: float, style: NumberStyle, rng: Random, *, money: bool = False) -> str | None:
    """`value` in one style, or None where that style cannot say exactly this number."""
    if style == "plain":
        return digits_of(value)
    if style == "grouped":
        return grouped_digits_of(value) if abs(value) >= 1000 else None
    if style == "words":
        return _in_words(value)
    if style == "scientific":
        if not value or 1e-2 <= abs(value) < 1e4:
            return None
        mantissa, _, exponent = f"{value:.9e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".")
        written = f"{mantissa}e{int(exponent)}"
        if float(written) != value:
            return None
        return written if rng.random() < 0.5 else f"{mantissa} × 10^{int(exponent)}"
    scaled = _scaled(value)
    if scaled is None:
        return None
    text, scale, word = scaled
    if style == "scale":
        return f"{text} {word}"
    suffixes = (_MONEY_SUFFIXES if money else _COUNT_SUFFIXES).get(scale)
    return text + rng.choice(suffixes) if suffixes else None


def _in_words(value: float) -> str | None:
    if value != int(value) or value < 1:
        return None
    whole = int(value)
    if whole < 1000:
        return number_words(whole)
    for scale, word in SCALE_WORDS:
        if whole >= scale:
            count, rest = divmod(whole, int(scale))
            return f"{number_words(count)} {word}" if not rest and count < 1000 else None
    return None


# Which styles suit which kind of unit, the likeliest first; cumulative weights.
_STYLES: dict[str, tuple[tuple[NumberStyle, ...], tuple[float, ...]]] = {
    "money": (("scale", "grouped", "suffix", "plain", "words"), (0.45, 0.65, 0.85, 0.96, 1.0)),
    "count": (("grouped", "plain", "scale", "words", "suffix"), (0.4, 0.72, 0.86, 0.95, 1.0)),
    "share": (("plain", "words"), (0.96, 1.0)),
    "other": (("plain", "grouped", "scale", "words", "scientific"), (0.6, 0.8, 0.9, 0.96, 1.0)),
}


@lru_cache(maxsize=4096)
def kind_of(dimension: str) -> str:
    """The writing habits of a dimension: money, count, share (of a hundred) or other."""
    if dimension.startswith("currency:"):
        return "money"
    if dimension.startswith("count") or dimension == "number":
        return "count"
    return "share" if dimension in ("percent", "ratio", "fraction", "percentage_point") else "other"


def any_number(value: float, dimension: str, rng: Random) -> str:
    """`value` in a style drawn from the habits of its dimension."""
    kind = kind_of(dimension)
    styles, weights = _STYLES[kind]
    drawn = rng.random()
    for style, weight in zip(styles, weights, strict=True):
        if drawn < weight:
            return write_number(value, style, rng, money=kind == "money") or digits_of(value)
    return digits_of(value)


class _Surfaces(NamedTuple):
    one: tuple[str, ...]
    many: tuple[str, ...]
    before: tuple[str, ...]


# Surfaces that the extractor must read and that hardly anyone types.
_RARE = frozenset(
    (
        "buck", "bucks", "quid", "quids", "dls", "c", "C", "F", "pc", "gm", "gms", "kgm", "kgms", "Kg", "mgm",
        "degC", "degF", "degK", "deg C", "deg F", "mm-Hg", "mm hg", "mmhg", "mt", "MT", "horses", "kws", "kn",
        "gramme", "grammes", "milligramme", "milligrammes", "kilogramme", "kilogrammes", "KW", "Kcal",
        "Cal", "cals", "megs", "gigs", "gig", "dbs", "Mbyte", "kbyte", "Kbyte", "GByte", "ccm",
        "MByte", "Gbyte", "m^2", "cm^2", "mm^2", "km^2", "m^3", "m 2", "t", "d", "y", "mo", "mos", "HZ",
        "BHP", "pound sterlings", "pound stgs", "pound stg", "dlr", "ct", "bips",
        "japanese yens", "yuans", "chinese yuans", "renminbis", "lires",
        "kelvins", "molars", "millimolars", "micromolars", "nanomolars", "kHZ", "MHZ", "GHZ", "Rs.", "rs",
    )
)  # fmt: skip
_RARE_BEFORE = frozenset(
    {"US dollars", "USD$", "US $", "$US", "U.S. $", "U.S.$", "Y=", "UK£", "stg", "Euro", "PS"}
)


def is_usual(surface: str) -> bool:
    """Whether people would type this surface into a query."""
    if "-" in surface and len(surface) > 6:  # "basis-point", "dlr-a-share": adjectives, not units
        return False
    if surface in _RARE or surface.endswith((".", "gms", "sterlings", "stgs")) or surface != surface.strip():
        return False
    if "$" in surface or any(character in surface for character in "％￥₤ℓ℃℉º”"):
        return False
    return not surface.startswith(("u.s. ", "us ", "american ", "u.s "))


_USUAL_DOUBLED = frozenset({"lbs", "yrs", "hrs", "mins", "secs", "cts", "dlrs", "bps"})
_ABBREVIATIONS = frozenset({"min", "sec", "gal", "bit"})


def _is_abbreviation(surface: str) -> bool:
    """Whether a surface stays as it is in the plural: "kg", "mmol", "kcal"."""
    return (
        surface in _ABBREVIATIONS
        or surface.endswith(("mol", "cal"))
        or not any(letter in "aeiou" for letter in surface.lower())
    )


def _plurals(surface: str) -> set[str]:
    """What the plural may look like: "dollars per share", "pennies", "square feet"."""
    head, space, rest = surface.partition(" ")
    forms = {f"{head}s{space}{rest}", f"{head}es{space}{rest}", f"{head[:-1]}ies{space}{rest}", surface + "s"}
    forms |= {surface.replace("foot", "feet"), surface.replace("inch", "inches")}
    return forms - {surface}


@lru_cache(maxsize=4096)
def _surfaces_of(unit: Unit) -> _Surfaces:
    """The usual surfaces of a unit, by number and place; all of them where none is usual."""
    after = tuple(s for s in unit.surfaces if is_usual(s)) or (() if unit.prefixes else unit.surfaces)
    if unit.dimension.startswith("count"):  # "loans", not "first draw PPP loans", where a corpus has both
        after = tuple(dict.fromkeys(s.lower() for s in after if " " not in s)) or after
    known = set(after)
    if unit.dimension.startswith("count") and unit.name in known:  # its name is the singular: "rct"
        others = tuple(s for s in after if s != unit.name)
        return _Surfaces((unit.name,), others or (plural_of(unit.name),), ())
    singular = {s for s in after if not _is_abbreviation(s) and any(p in known for p in _plurals(s))}
    plural = {p for s in singular for p in _plurals(s) if p in known}
    doubled = {s for s in after if s[:-1] in known and s[-1:] == "s" and _is_abbreviation(s[:-1])}
    after = tuple(s for s in after if s not in doubled or s in _USUAL_DOUBLED)
    one = tuple(s for s in after if s not in plural)
    many = tuple(s for s in after if s not in singular)
    before = tuple(p for p in unit.prefixes if p not in _RARE_BEFORE and not set(p) & set("￥₤"))
    return _Surfaces(one or after, many or after, before or unit.prefixes)


def agreeing(phrase: str, unit: Unit, value: float) -> str:
    """A phrase that ends in the unit's noun, in the number the value asks for: "adult patients"."""
    lead, _, noun = phrase.rpartition(" ")
    if abs(value) == 1 or noun != unit.name:  # the name of a count is its singular
        return phrase
    known = [s for s in unit.surfaces if " " not in s and s != noun and s[:2] == noun[:2]]
    many = known[0] if known else noun if noun.endswith("s") else plural_of(noun)
    return f"{lead} {many}" if lead else many


def attach(number: str, surface: str, rng: Random) -> str:
    """A number and the unit after it, with a space where one belongs."""
    spelled = number[-1].isalpha()
    if not surface[:1].isalpha() and not spelled:
        return number + surface if surface[0] in "%°′″×" or rng.random() < 0.5 else f"{number} {surface}"
    if surface == "x" and not spelled:
        return number + surface
    scientific = "e" in number  # "2.2e4km" reads as a name
    short = len(surface) <= 3 and not spelled and not scientific and surface not in _READ_SCALES
    return number + surface if short and rng.random() < 0.2 else f"{number} {surface}"


def unit_surface(unit: Unit, value: float, rng: Random) -> tuple[str, bool]:
    """A surface of the unit that agrees in number with the value, and whether it stands before it."""
    surfaces = _surfaces_of(unit)
    if surfaces.before and (not surfaces.many or rng.random() < 0.6):
        return rng.choice(surfaces.before), True
    choices = surfaces.one if abs(value) == 1 else surfaces.many
    return (rng.choice(choices) if choices else ""), False


def write_quantity(value: float, unit: Unit, rng: Random, style: NumberStyle | None = None) -> str:
    """Value, scale word and unit: "$2 billion", "2bn dollars", "3,500 kg", "twelve patients"."""
    surface, before = unit_surface(unit, value, rng)
    kind = kind_of(unit.dimension)
    number = None
    if style is not None:
        number = write_number(value, style, rng, money=kind == "money")
    if number is None:
        number = any_number(value, unit.dimension, rng)
    if not surface:
        return number
    if before:
        if number[0].isalpha():  # nobody writes "$two billion"
            number = digits_of(value)
        space = " " if surface[-1].isalpha() else ""
        return f"{surface}{space}{number}{_rate_tail(unit)}"
    if number[0].isalpha() and (len(surface) <= 2 or not surface[0].isalpha()):
        number = digits_of(value)  # "eight %" and "two kg" are nobody's style
    if number.endswith("B"):  # "$12B" is money, "12B euros" reads as bytes
        number = f"{number[:-1]}bn"
    return f"{number} {surface}" if kind == "count" else attach(number, surface, rng)


def _rate_tail(unit: Unit) -> str:
    """What stands behind the number of a rate whose unit begins before it: "$5 per share"."""
    _, slash, per = unit.name.partition("/")
    return f" per {_DENOMINATORS.get(per, per.replace('_', ' '))}" if slash else ""


_DENOMINATORS = {"diluted": "diluted share", "common": "common share"}


def write_interval(low: float, high: float, unit: Unit, joiner: str, rng: Random) -> str:
    """Both ends and one unit: "5 to 7 kg", "$2 billion and $3 billion"; the joiner stands between them."""
    surface, before = unit_surface(unit, high, rng)
    kind = kind_of(unit.dimension)
    styles, weights = _STYLES[kind]
    style = rng.choices(styles, cum_weights=weights)[0]
    if style == "words" or (joiner == "-" and style == "scientific"):
        style = "plain"
    elif style == "suffix" and not before:  # "100m and 300m dollars" would be metres
        style = "scale"
    ends = [write_number(v, style, rng, money=kind == "money") for v in (low, high)]
    if None in ends:
        ends = [digits_of(low), digits_of(high)]
    first, last = (end or "" for end in ends)
    if not surface:
        return f"{first}{joiner}{last}"
    if before:
        space = " " if surface[-1].isalpha() else ""
        return f"{surface}{space}{first}{joiner}{surface}{space}{last}{_rate_tail(unit)}"
    return f"{first}{joiner}{attach(last, surface, rng)}"
