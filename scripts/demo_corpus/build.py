"""Write the demo corpus: facts (facts/*.tsv) through sentence templates (templates.toml) to JSON lines.

    python scripts/demo_corpus/build.py            # writes src/numcolbert/assets/demo.jsonl

Every sentence is ours; figures are reference knowledge, the chemical elements' from the `mendeleev` tables
and the countries' area and population from GeoNames, both kept in facts/ as plain columns.
"""

from __future__ import annotations

import csv
import json
import math
import re
import tomllib
from pathlib import Path

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


def sentences() -> list[dict[str, str]]:
    spec = tomllib.loads((HERE / "templates.toml").read_text(encoding="utf-8"))
    units = {key: tuple(value) for key, value in spec.pop("units").items()}
    adaptive = spec.pop("adaptive")
    made: list[dict[str, str]] = []
    for kind, attributes in spec.items():
        with (HERE / "facts" / f"{kind}.tsv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        for position, row in enumerate(rows):
            for turn, templates in enumerate(attributes.values()):
                # Neighbouring things get different phrasings of the same attribute.
                text = fill(templates[(position + turn) % len(templates)], row, units, adaptive)
                if text:
                    made.append({"text": text, "kind": kind, "about": row["name"]})
    for line in (HERE / "facts" / "records.txt").read_text(encoding="utf-8").splitlines():
        made.append({"text": line, "kind": "records", "about": ""})
    counters: dict[str, int] = {}
    for item in made:
        counters[item["kind"]] = counters.get(item["kind"], 0) + 1
        item["id"] = f"{item['kind']}-{counters[item['kind']]}"
    return [{"id": m["id"], "text": m["text"], "kind": m["kind"], "about": m["about"]} for m in made]


def main() -> None:
    lines = [json.dumps(item, ensure_ascii=False) for item in sentences()]
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
