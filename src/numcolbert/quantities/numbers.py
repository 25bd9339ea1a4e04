"""Numbers as people write them: digits, fractions, powers of ten, words and scale words."""

from __future__ import annotations

import re

ONES = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15,
    "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19,
}  # fmt: skip
TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
    "ninety": 90,
}  # fmt: skip
SCALES = {
    "hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "quadrillion": 1e15,
    "mln": 1e6, "mlns": 1e6, "mn": 1e6, "mio": 1e6, "bln": 1e9, "blns": 1e9, "bn": 1e9, "trln": 1e12,
    "tn": 1e12, "lakh": 1e5, "crore": 1e7, "dozen": 12.0,
}  # fmt: skip
LETTER_SCALES = {"k": 1e3, "K": 1e3, "m": 1e6, "M": 1e6, "mm": 1e6, "MM": 1e6, "b": 1e9, "B": 1e9, "t": 1e12,
                 "T": 1e12}  # fmt: skip
VULGAR = {"½": 1 / 2, "⅓": 1 / 3, "⅔": 2 / 3, "¼": 1 / 4, "¾": 3 / 4, "⅕": 0.2, "⅖": 0.4, "⅗": 0.6, "⅘": 0.8,
          "⅙": 1 / 6, "⅚": 5 / 6, "⅛": 0.125, "⅜": 0.375, "⅝": 0.625, "⅞": 0.875}  # fmt: skip
FRACTION_WORDS = {"half": 1 / 2, "third": 1 / 3, "quarter": 1 / 4, "fourth": 1 / 4, "fifth": 1 / 5,
                  "sixth": 1 / 6, "seventh": 1 / 7, "eighth": 1 / 8, "tenth": 1 / 10}  # fmt: skip

VAGUE = {"tens": 10.0, "dozens": 12.0, "hundreds": 1e2, "thousands": 1e3, "millions": 1e6, "billions": 1e9,
         "trillions": 1e12}  # fmt: skip

_SPACE = "[ \u00a0\u2009\u202f]"
_THIN = "[\u00a0\u2009\u202f]"
_DECIMAL_COMMA = r"\d{1,3},\d{1,2}(?=\s?(?:%|[mµμ]?mol|[mkµμ]?g\b|m[lL]\b|[mc]m\b))"
# How amounts are written elsewhere, where nothing else can be meant: "5.000 euros" stays five.
_EURO_AHEAD = r"(?=\s?(?:(?:million|billion|mln|mn|bn|[Mm]io)\.?\s)?(?:€|[Ee]uros?\b|EUR\b))"
_EURO_BEHIND = r"(?:(?<=€)|(?<=€ )|(?<=\bEUR )|(?<=R\$)|(?<=R\$ ))"
_FRANC = r"(?=\s?(?:CHF|(?:Swiss )?francs?\b))"
_RUPEE_BEHIND = r"(?:(?<=₹)|(?<=₹ )|(?<=\bRs)|(?<=\bRs )|(?<=\bRs\.)|(?<=\bRs\. )|(?<=\bINR ))"
_DOTTED = r"(?<![\d.,])[1-9]\d{0,2}(?:\.\d{3})"
_LAKHS = r"\d{1,2}(?:,\d\d)+,\d{3}(?!\d)"
LOCAL = (
    rf"(?=\d{{1,3}}(?:[.,'’]|{_SPACE})\d)(?:"  # the rest is tried for these only: most numbers are plain
    rf"{_DOTTED}+,\d{{1,2}}(?![\d,])"  # 1.234,56
    rf"|{_DOTTED}{{2,}}(?![\d.]|,\d){_EURO_AHEAD}|{_EURO_BEHIND}{_DOTTED}{{2,}}(?!\d|[.,]\d)"  # 1.000.000 €
    rf"|(?<![\d.,])[1-9]\d{{0,2}}(?:{_SPACE}\d{{3}})+(?:,\d{{1,2}})?{_EURO_AHEAD}"  # 1 234,50 €
    rf"|(?<![\d.,])\d{{1,3}},\d{{1,2}}{_EURO_AHEAD}|{_EURO_BEHIND}\d{{1,3}},\d{{1,2}}(?![\d,])"  # 1,50 €
    rf"|(?<![\d.,])[1-9]\d{{0,2}}(?:['’]\d{{3}})+(?:{_FRANC}|(?<=['’]\d{{3}}['’]\d{{3}})(?!\d))"  # 1'200 CHF
    rf"|(?<=\bCHF )\d{{1,3}}(?:['’]\d{{3}})+(?!\d)"
    rf"|{_RUPEE_BEHIND}{_LAKHS}|(?<![\d.,]){_LAKHS}(?=\s?(?:rupees?\b|INR\b|₹)))"  # ₹12,34,567
)
_RAISED_POINT = r"·\d+(?![\d^*⁻⁰¹²³⁴⁵⁶⁷⁸⁹])"  # 33·2%, but not 5·10^3
_INTEGER = (
    r"(?<=[€£$])\d{1,3}(?: \d{3})+(?!\d)"  # €33 804
    rf"|\d{{1,3}}(?:,\d{{3}}|, 000)+(?!\d)|\d{{1,3}}(?:{_THIN}\d{{3}}| 0\d\d)+(?!\d)|\d+"
)
_POWER = (
    r"(?:[eE][-+−]?\d{1,2}(?![\w.])"  # 1.5e-3
    r"|\s?[x×*·]\s?10\s?(?:\^|\*\*)\s?\(?[-−–+]?\d{1,2}\)?"  # 1.5 x 10^-3
    r"|\s?[x×]\s?10[-−–⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+"  # 1.5 × 10⁻³
    r"|\s?[x×]\s?10[-−–][1-9]\d?(?!\d)|\s?×\s?10[1-9]\d?(?!\d))"  # 1.5 × 109, its superscript lost
)
_VULGAR = "[" + "".join(VULGAR) + "]"
LITERAL = (
    rf"(?:(?:(?P<whole>\d{{1,4}}(?:\.\d\d)?)(?:-|{_SPACE}))?(?P<top>\d{{1,2}})[/⁄](?P<bottom>\d{{1,3}})(?![\d/⁄]|\.\d)"
    rf"|(?:(?P<before>\d+){_SPACE}?)?(?P<vulgar>{_VULGAR})"
    rf"|(?P<plain>{_DECIMAL_COMMA}|(?:{LOCAL}|{_INTEGER})(?:\.\d+|{_RAISED_POINT})?|(?<![A-Za-z\d])\.\d+)"
    rf"(?P<power>{_POWER})?)"
)

_SMALL = rf"(?:(?:{'|'.join(TENS)})(?:[ -]?(?:{'|'.join(list(ONES)[1:10])}))?|{'|'.join(reversed(ONES))})"
_SCALE = "(?:thousand|million|billion|trillion)"
_GROUP = rf"(?:(?:{_SMALL}|an?)[ -]hundred(?:[ -](?:and[ -])?{_SMALL})?|{_SMALL})"
_PARTS = "hal(?:f|ves)|thirds?|quarters?|fourths?|fifths?|sixths?|sevenths?|eighths?|tenths?"
_AND_PART = "and[ -](?:an?|one|two|three)[ -](?:half|thirds?|quarters?)"
_PART_OF_ONE = "half(?= an? )|an? (?:third|quarter|fifth|tenth)(?= of an? )"
WORDS = (
    rf"(?:half an? (?:{_SCALE}|dozen)|{_PART_OF_ONE}"
    rf"|(?:one|two|three|four|five|six|seven|nine)[ -](?:{_PARTS})\b"
    rf"|{_GROUP}[ -]{_AND_PART}(?:[ -]{_SCALE})?(?![a-z])"
    rf"|{_GROUP}(?:[ -]{_SCALE},?[ -](?:and[ -])?{_GROUP})+(?:[ -]{_SCALE})?"
    rf"|(?:{_GROUP}|an?)[ -]{_SCALE}"
    rf"|{_GROUP}(?:fold)?|an?[ -]dozen)(?![a-z])"
)
# What only a loose reading counts: vague plurals and shares.
LOOSE = (
    r"(?:(?:tens|hundreds|dozens|thousands|millions|billions|trillions) of (?:thousands of |millions of "
    r"|billions of )?|half(?= (?:of|the))|an? (?:third|quarter|fifth|tenth)(?= of\b))"
)
_DIGITS_ONLY = re.compile(LITERAL)
_WITH_WORDS = re.compile(rf"{LITERAL}|(?<![A-Za-z])(?=[a-zA-Z])(?ai:(?P<words>{WORDS})|(?P<loose>{LOOSE}))")
_DIGIT = re.compile(rf"[\d{''.join(VULGAR)}]")
_LETTERS = re.compile(r"[a-z]+")
_TELLING = frozenset([*ONES, *TENS, "hundred", "thousand", "million", "billion", "trillion", "half", "dozen",
                      "third", "quarter", "fifth", "tenth", *VAGUE, *(f"{w}fold" for w in ONES)])  # fmt: skip


class Finder:
    """Finds the numbers of one text, from any position on.

    Most texts hold no number word; in those, jumping from digit to digit is several times faster than trying
    the whole grammar at every letter.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._words = not _TELLING.isdisjoint(_LETTERS.findall(text.lower()))
        self.any = self._words or _DIGIT.search(text) is not None

    def next(self, position: int) -> re.Match[str] | None:
        if self._words:
            return _WITH_WORDS.search(self.text, position)
        while digit := _DIGIT.search(self.text, position):
            start = digit.start()
            if (
                start > position
                and self.text[start - 1] == "."
                and not self.text[start - 2 : start - 1].isalnum()
            ):
                start -= 1  # ".5"
            if match := _DIGITS_ONLY.match(self.text, start):
                return match
            position = digit.end()
        return None


SCALE = re.compile(
    rf"(?:{_SPACE}|-)?(?P<word>(?ai:{'|'.join(sorted(SCALES, key=len, reverse=True))}))(?![A-Za-z])"
    r"(?:\.(?=\s?(?:€|[Ee]uros?\b|EUR\b)))?"  # "5 Mio. €"
    rf"|{_SPACE}?(?P<letter>mm|MM|[kKmMbBtT])(?![\w%²³/])"
)
_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−–", "0123456789---")
_EXPONENT = re.compile(r"(?:[eE]|10\s?(?:\^|\*\*)?\s?\(?)([-+]?\d+)\)?$")


def literal_value(match: re.Match[str]) -> float | None:
    """The value of a digit number, None for a fraction that is none ("24/7")."""
    if match["vulgar"]:
        return float(match["before"] or 0) + VULGAR[match["vulgar"]]
    if match["top"]:
        top, bottom = int(match["top"]), int(match["bottom"])
        if top >= bottom or bottom == 0:
            return None
        whole = match["whole"] or "0"
        return float(whole) + top / bottom / (100 if "." in whole else 1)  # "5.43-1/2 dlrs" has half a cent
    value = float(_plain(match["plain"]))
    if match["power"]:
        exponent = _EXPONENT.search(match["power"].translate(_SUPERSCRIPT))
        if exponent:
            power = int(exponent[1])
            return value * 10.0**power if abs(power) < 60 else None
    return value


_DECIMAL_COMMA_LAST = re.compile(r",\d{1,2}$")
_MARKS = re.compile("[, '’\u00a0\u2009\u202f]")


def _plain(written: str) -> str:
    """A number as Python writes it."""
    if _DECIMAL_COMMA_LAST.search(written) or written.count(".") > 1:  # "5,5 mmol/l", "1.234,56", "1.000.000"
        written = written.replace(".", "").replace(",", ".")
    return _MARKS.sub("", written).replace("·", ".")


_MIXED = re.compile(
    r"(?P<whole>.+)[ -]and[ -](?P<parts>an?|one|two|three)[ -](?P<part>half|third|quarter)s?"
    r"(?:[ -](?P<scale>\w+))?"
)
AND_PART = re.compile(r"[ -]and[ -]a[ -](half|third|quarter)\b")
"""Behind digits: "2 and a half"."""


def words_value(text: str) -> float:
    """'twenty-five thousand' -> 25000, 'half a million' -> 500000, 'two-thirds' -> 0.667, 'sixfold' -> 6."""
    if mixed := _MIXED.fullmatch(text.lower()):  # "two and a half million"
        value = words_value(mixed["whole"]) + ONES.get(mixed["parts"], 1) * FRACTION_WORDS[mixed["part"]]
        return value * SCALES.get(mixed["scale"] or "", 1.0)
    total = current = 0.0
    for word in re.split(r"[\s,-]+", text.lower()):
        stem = word.removesuffix("fold")
        if stem in ONES:
            current += ONES[stem]
        elif stem in TENS:
            current += TENS[stem]
        elif word == "hundred":
            current = (current or 1) * 100
        elif word == "dozen":
            current = (current or 1) * 12
        elif word in SCALES:
            total, current = total + (current or 1) * SCALES[word], 0.0
        elif word == "half" and not current:
            current = 0.5
        elif word.removesuffix("s") in FRACTION_WORDS or word == "halves":
            current = (current or 1) * FRACTION_WORDS.get(word.removesuffix("s"), 0.5)
        elif word and word not in ("a", "an", "and"):  # "seventyfive"
            tens = next(t for t in TENS if word.startswith(t))
            current += TENS[tens] + ONES[word.removeprefix(tens)]
    return total + current


def loose_values(text: str) -> tuple[float, float]:
    """(low, high) of a vague amount: 'tens of thousands of' -> (1e4, 1e5); a share has low == high."""
    words = [word for word in text.lower().split() if word not in ("of", "a", "an")]
    if words[0] in FRACTION_WORDS:
        share = FRACTION_WORDS[words[0]]
        return share, share
    if words == ["dozens"]:
        return 12.0, 120.0
    low = 1.0
    for word in words:
        low *= VAGUE[word]
    return low, low * 10
