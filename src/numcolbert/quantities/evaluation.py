"""Measures extractors against NewsQuant: precision, recall and F1 for the value, and for value and unit.

The gold file is that of "CQE: A Comprehensive Quantity Extractor" (EMNLP 2023). Its rule: a quantity is found
when its value is right, and fully right when its normalised unit is right too; a range is right when both
ends are. Each gold quantity is matched with at most one extracted quantity of its sentence, and the reverse.
"""

from __future__ import annotations

import json
import math
import re
import time
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from numcolbert.errors import InputError, MissingDependencyError
from numcolbert.files import require_file
from numcolbert.quantities import counts
from numcolbert.quantities.extract import extract
from numcolbert.types import Quantity

PUBLISHED = {"CQE": (92.0, 85.6), "quantulum3": (73.0, 47.2)}
"""F1 for value, and for value and unit, as the paper reports them on this file."""

RELATIVE_TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True)
class Extracted:
    """What any extractor says of one quantity; `low` and `high` are equal unless it is a range."""

    low: float
    high: float
    units: frozenset[str]
    """Every name under which the unit may stand in the gold file; "" for none."""


@dataclass(frozen=True, slots=True)
class Gold:
    low: float
    high: float
    units: frozenset[str]


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    quantities: tuple[Gold, ...]


@dataclass(frozen=True, slots=True)
class Score:
    precision: float
    recall: float

    @property
    def f1(self) -> float:
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    value: Score
    value_and_unit: Score
    sentences_per_second: float


Extractor = Callable[[str], list[Extracted]]


@cache
def unit_map() -> dict[str, tuple[str, ...]]:
    entries = tomllib.loads((Path(__file__).parent / "newsquant_units.toml").read_text(encoding="utf-8"))[
        "units"
    ]
    return {name: (ours,) if isinstance(ours, str) else tuple(ours) for name, ours in entries.items()}


def _lemmas(phrase: str) -> str:
    return " ".join(
        counts.singular(word) for word in phrase.lower().split() if word not in ("of", "the", "and")
    )


def gold_units(phrase: str, *, whole: bool = False) -> frozenset[str]:
    """Our names for a unit of the gold file.

    The annotators keep the modifiers of a counted noun ("heart transplant"), our unit is the noun alone; any
    word of the phrase is therefore right, unless `whole` asks for all of them.
    """
    phrase = phrase.lower().strip()
    mapped = unit_map().get(phrase)
    if mapped:
        return frozenset(mapped)
    if " per " in phrase:
        top, bottom = phrase.split(" per ", 1)
        return frozenset(
            f"{t}/{b}" for t in gold_units(top, whole=whole) for b in gold_units(bottom, whole=whole)
        )
    table_name = phrase.replace(" ", "_")
    if phrase.startswith("%"):  # a share of something: "two-thirds of the sales"
        return frozenset({"", "percent"})
    if whole:
        return frozenset({_lemmas(phrase), table_name})
    return frozenset({phrase, table_name} | {counts.singular(word) for word in phrase.split()})


def _gold_value(text: str) -> tuple[float, float]:
    ends = re.fullmatch(r"\s*(\d[\d.]*)\s*-\s*(\d[\d.]*)\s*", text)
    low, high = (float(ends[1]), float(ends[2])) if ends else (float(text), float(text))
    return min(low, high), max(low, high)


def read_gold(path: Path, *, whole: bool = False) -> list[Sentence]:
    """The sentences of the gold file; `whole` as in `gold_units`."""
    require_file(path, "gold file")
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        return [
            Sentence(
                entry["text"],
                tuple(
                    Gold(*_gold_value(q["value"]), gold_units(q["normalized_unit"], whole=whole))
                    for q in entry["quantities"]
                ),
            )
            for entry in entries
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"'{path}' is not a NewsQuant file: {error}.",
            hint="pass NewsQuant.json of https://github.com/satya77/CQE_Evaluation",
        ) from error


def ours(loose: bool = True, *, whole: bool = False) -> Extractor:
    """Our extractor; with `whole` a count's unit is the noun phrase as written, not its head."""

    def name(text: str, quantity: Quantity) -> str:
        plain_count = quantity.dimension == f"count:{quantity.unit}"
        if whole and plain_count and quantity.unit_span:
            return _lemmas(text[slice(*quantity.unit_span)])
        return quantity.unit or ""

    def run(text: str) -> list[Extracted]:
        return [
            Extracted(
                q.value if q.low is None else q.low,
                q.value if q.high is None else q.high,
                frozenset({name(text, q)}),
            )
            for q in extract(text, loose=loose, for_labels=not loose)
        ]

    return run


def quantulum3() -> Extractor:
    """quantulum3 without its classifier, which current scikit-learn cannot load."""
    try:
        from quantulum3 import classifier, parser
    except ModuleNotFoundError as error:
        raise MissingDependencyError.for_extra("quantulum3", "baselines", "Running quantulum3") from error
    classifier.USE_CLF = False

    def run(text: str) -> list[Extracted]:
        found = []
        for quantity in parser.parse(text):
            name = quantity.unit.name.lower()
            uncertainty = quantity.uncertainty or 0.0
            names = {"" if name == "dimensionless" else name} | set(
                gold_units(name) if name != "dimensionless" else ()
            )
            found.append(
                Extracted(quantity.value - uncertainty, quantity.value + uncertainty, frozenset(names))
            )
        return found

    return run


def _same(left: float, right: float) -> bool:
    return math.isclose(left, right, rel_tol=RELATIVE_TOLERANCE, abs_tol=1e-8)


def matches(gold: Sequence[Gold], found: Sequence[Extracted]) -> tuple[int, int]:
    """(values right, values and units right) under a one-to-one matching."""
    free = list(found)
    pairs = 0
    both = 0
    unmatched: list[Gold] = []
    for wanted in gold:  # first those that are right in both, so that no weaker match takes their place
        for one in free:
            if _same(wanted.low, one.low) and _same(wanted.high, one.high) and wanted.units & one.units:
                free.remove(one)
                both += 1
                break
        else:
            unmatched.append(wanted)
    for wanted in unmatched:
        for one in free:
            if _same(wanted.low, one.low) and _same(wanted.high, one.high):
                free.remove(one)
                pairs += 1
                break
    return both + pairs, both


def measure(extractor: Extractor, sentences: Iterable[Sentence]) -> Outcome:
    gold = extracted = values = full = 0
    seconds = 0.0
    count = 0
    for sentence in sentences:
        start = time.perf_counter()
        found = extractor(sentence.text)
        seconds += time.perf_counter() - start
        right, both = matches(sentence.quantities, found)
        gold, extracted = gold + len(sentence.quantities), extracted + len(found)
        values, full, count = values + right, full + both, count + 1

    def score(right: int) -> Score:
        return Score(right / extracted if extracted else 0.0, right / gold if gold else 0.0)

    return Outcome(score(values), score(full), count / seconds if seconds else 0.0)


def halves(sentences: Sequence[Sentence]) -> tuple[list[Sentence], list[Sentence]]:
    """The even sentences, on which rules were developed, and the odd ones, kept out of that."""
    return list(sentences[::2]), list(sentences[1::2])
