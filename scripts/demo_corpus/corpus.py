"""Write the demo corpus: facts (facts/*.tsv) through sentence templates (templates.toml) to JSON lines.

    python scripts/demo_corpus/corpus.py           # writes src/numcolbert/assets/demo.jsonl

Every sentence is ours; figures are reference knowledge, the chemical elements' from the `mendeleev` tables
and the countries' area and population from GeoNames, both kept in facts/ as plain columns. unseen/ is no part
of the corpus: other kinds of things, for questions alone (questions.py), with figures from `airportsdata`,
GeoNames and the data sets that come with R.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from numcolbert.config import read_toml
from numcolbert.files import require_file

HERE = Path(__file__).parent
TARGET = HERE.parent.parent / "src" / "numcolbert" / "assets" / "demo.jsonl"

# unit key -> (factor and offset from the fact's own unit, decimals kept, text around the number)
Rendering = tuple[float, float, int, str]
Adaptive = dict[str, list[tuple[float, str]]]
BEFORE_A_VOWEL = re.compile(r"\b([Aa]) (?=(?![Ee]u|[Uu]|one\b)[AEIOaeio])")
"""The article before a name that begins with a vowel as it is spoken: an orca, a European bison."""
PLACEHOLDER = re.compile(r"\{(\w+)(?:\|(\w+))?\}")


def number(value: float, decimals: int) -> str:
    """Group thousands, keep at most `decimals` places (-n: n significant figures) and no trailing zeros.

    Below 1 two significant figures are kept in any case: a bee weighs 0.0035 ounces, not 0.
    """
    if decimals < 0:
        value, decimals = float(f"{value:.{-decimals - 1}e}"), 1
    if 0 < abs(value) < 1:
        decimals = max(decimals, 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace("-", "−")


def worded(value: float) -> str:
    """Large numbers the way people write them: '67 million', '1.4 billion'."""
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if value >= size:
            scaled = value / size
            return f"{number(scaled, 0 if scaled >= 100 else 1)} {word}"
    return number(value, 0)


def fill(template: str, row: dict[str, str], units: dict[str, Rendering], adaptive: Adaptive) -> str | None:
    """The sentence, or None where the row lacks a fact the template needs."""
    missing = False

    def put(match: re.Match[str]) -> str:
        nonlocal missing
        key, unit = match.groups()
        text = row.get(key, "")
        missing |= not text
        if not text or unit is None:
            return text
        if unit == "words":
            return worded(float(text))
        if unit in adaptive:
            unit = next(name for limit, name in adaptive[unit] if float(text) < limit)
        factor, offset, decimals, around = units[unit]
        return around.replace("#", number(float(text) * factor + offset, decimals))

    sentence = BEFORE_A_VOWEL.sub(r"\1n ", PLACEHOLDER.sub(put, template))
    return None if missing else sentence[0].upper() + sentence[1:]


@dataclass(frozen=True, slots=True)
class Sentence:
    id: str
    text: str
    kind: str
    about: str
    figures: dict[str, float] = field(default_factory=dict)
    """The facts it tells with a unit: column -> value, in the column's own unit."""


def read_templates(
    folder: Path = HERE,
) -> tuple[dict[str, dict[str, list[str]]], dict[str, Rendering], Adaptive]:
    """Templates by kind and attribute, units, and units chosen by size. Units of this folder hold in all."""
    units: dict[str, Rendering] = {}
    for source in dict.fromkeys((HERE, folder)):
        spec = read_toml(source / "templates.toml")
        units |= {key: tuple(value) for key, value in spec.pop("units").items()}
        adaptive = spec.pop("adaptive", {})
    return spec, units, adaptive


def told(folder: Path = HERE) -> Iterator[Sentence]:
    """All sentences, with the figures they tell."""
    spec, units, adaptive = read_templates(folder)
    for kind, attributes in spec.items():
        facts = require_file(folder / "facts" / f"{kind}.tsv", "table of facts")
        with facts.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        count = 0
        for position, row in enumerate(rows):
            for turn, templates in enumerate(attributes.values()):
                # Neighbouring things get different phrasings of the same attribute.
                template = templates[(position + turn) % len(templates)]
                if text := fill(template, row, units, adaptive):
                    count += 1
                    figures = {key: float(row[key]) for key, unit in PLACEHOLDER.findall(template) if unit}
                    yield Sentence(f"{kind}-{count}", text, kind, row["name"], figures)
    records = folder / "facts" / "records.txt"
    lines = records.read_text(encoding="utf-8").splitlines() if records.is_file() else []
    for number_of, line in enumerate(lines, start=1):
        yield Sentence(f"records-{number_of}", line, "records", "")


def sentences() -> list[dict[str, str]]:
    return [{"id": s.id, "text": s.text, "kind": s.kind, "about": s.about} for s in told()]


def main() -> None:
    lines = [json.dumps(item, ensure_ascii=False) for item in sentences()]
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
