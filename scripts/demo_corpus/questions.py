"""Write a test set of the demo corpus: questions with a condition, and the sentences that satisfy it.

    python scripts/demo_corpus/questions.py benchmarks/facts
    python scripts/demo_corpus/questions.py benchmarks/facts-unseen --facts scripts/demo_corpus/unseen
    python -m numcolbert.train.evaluate MODEL benchmarks/facts -o RUNS

The second is about other kinds of things: the first finds weaknesses, and is read for that, the second only
measures. What is asked stands in questions.toml. The facts say which sentences are right, in whatever unit
they tell them; no extractor takes part. Thresholds keep a distance from the values on both sides, so that a
rounded sentence is on the same side as its fact.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from corpus import HERE, Rendering, Sentence, number, read_templates, told, worded

from numcolbert.config import read_toml
from numcolbert.evaluate.trec import write_qrels
from numcolbert.files import replacing_folder
from numcolbert.program import parser_of, program
from numcolbert.quantities import extract
from numcolbert.reproduce.imported import write_texts

JUDGEMENTS = "qrels.trec"
EACH = 2
"""Questions of a column with the same operator, at most, where questions.toml does not say `each`."""
FEWEST, MOST = 2, 10
"""Sentences that satisfy a comparison."""
APART = 0.03
"""The gap around a threshold, as a share of the value: no rounding crosses it."""
DIRECTIONS = {">": "more", "<": "less", "=": "equal"}
WORDS: Rendering = (1, 0, 0, "#")
"""Counts of people and money, written with their size: 67 million."""


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    operator: str
    kind: str
    column: str
    phrase: str
    """What is asked for in two words: ships, speed."""
    span: tuple[int, int]
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    """Sentences that tell the same figure of other things."""

    def attributes(self) -> dict[str, Any]:
        """What the folder of a test set says of a query; systems that are given the condition read it."""
        (asked,) = extract(self.text[slice(*self.span)])
        return {
            "operator": self.operator,
            "kind": self.kind,
            "concept": f"{self.kind} {self.column}",
            "phrase": self.phrase,
            "value": asked.value,
            "unit": asked.unit,
            "dimension": asked.dimension,
            "base_value": asked.base_value,
            "base_high": asked.base_value,
            "span": self.span,
        }


def questions(folder: Path = HERE) -> Iterator[Question]:
    _, units, _ = read_templates(folder)
    asked = read_toml(folder / "questions.toml")
    corpus, each = list(told(folder)), asked.pop("each", EACH)
    for kind, columns in asked.items():
        noun = columns.pop("noun")
        for column, wording in columns.items():
            tellers = [s for s in corpus if s.kind == kind and column in s.figures]
            rng = Random(f"{kind} {column}")
            for operator, direction in DIRECTIONS.items():
                drawn = list(_conditions(tellers, column, operator, wording["units"], units))
                for written, right in rng.sample(drawn, min(each, len(drawn))):
                    before = wording[direction].partition("{q}")[0].format(noun=noun)
                    text = wording[direction].format(noun=noun, q=written)
                    span = (len(before), len(before) + len(written))
                    wrong = tuple(s.id for s in tellers if s.id not in right)
                    phrase = f"{noun} {column}"
                    yield Question(text, operator, kind, column, phrase, span, right, wrong)


def _conditions(
    tellers: Sequence[Sentence], column: str, operator: str, keys: Sequence[str], units: dict[str, Rendering]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every quantity that can be asked for, as it is written, and the sentences that are right."""
    for key in keys if operator != "=" else keys[:1]:  # equal is what is written in the fact's own unit
        factor, offset, decimals, around = units.get(key, WORDS)
        values = {s.id: s.figures[column] * factor + offset for s in tellers}
        steps = sorted(set(values.values()), reverse=operator == ">")
        for here, beyond in pairwise(steps):
            if operator == "=":
                others = (abs(other - here) for other in steps if other != here)
                if min(others) < APART / 3 * abs(here):
                    continue
                asked, right = here, tuple(i for i, value in values.items() if value == here)
                text = worded(asked) if key == "words" else number(asked, decimals)
            else:
                right = tuple(i for i, value in values.items() if (value - here) * (here - beyond) >= 0)
                threshold = _round_between(here, beyond)
                if key == "words" and threshold != float(f"{threshold or 0:.1e}"):
                    continue  # in words it would be rounded once more
                if threshold is None or not FEWEST <= len(right) <= min(MOST, len(values) - len(right)):
                    continue
                text = worded(threshold) if key == "words" else number(threshold, 4)
            yield around.replace("#", text), right


def _round_between(one: float, other: float) -> float | None:
    """The roundest number in the middle half between two, None where they are too close."""
    low, high = sorted((one, other))
    gap = high - low
    if gap < APART * max(abs(low), abs(high)):
        return None
    low, high = low + gap / 4, high - gap / 4
    for digit in range(math.ceil(math.log10(gap)) + 1, -5, -1):
        step = 10.0**digit
        candidate = math.ceil(low / step) * step
        if candidate <= high:
            return round(candidate, 6)
    return None


def write(folder: Path, facts: Path = HERE, *, overwrite: bool = False) -> int:
    """The folder of the test set; how many questions it has."""
    made = {f"q{i:03}": question for i, question in enumerate(questions(facts), start=1)}
    # Records tell of the same things in ways that no fact judges.
    passages = {s.id: s.text for s in told(facts) if s.kind != "records"}
    attributes = {i: question.attributes() for i, question in made.items()}
    right = {i: dict.fromkeys(question.right, 1) for i, question in made.items()}
    wrong = {i: dict.fromkeys(question.wrong, 0) for i, question in made.items()}
    with replacing_folder(folder, overwrite=overwrite, mark=JUDGEMENTS) as aside:
        write_texts(aside / "corpus.jsonl", passages.items())
        write_texts(aside / "queries.jsonl", ((i, question.text) for i, question in made.items()))
        write_qrels(aside / JUDGEMENTS, right)
        write_qrels(aside / "about.trec", {i: right[i] | wrong[i] for i in made})
        (aside / "attributes.json").write_text(json.dumps(attributes, indent=1) + "\n", encoding="utf-8")
    return len(made)


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--facts", type=Path, default=HERE, help="folder of facts, templates and questions")
    parser.add_argument("--overwrite", action="store_true")
    chosen = parser.parse_args(arguments)
    written = write(chosen.folder, chosen.facts, overwrite=chosen.overwrite)
    sys.stdout.write(f"{written} questions\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
