"""What can be wrong with training data: duplicates, leakage, imbalance, wrong labels, overlong texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from numcolbert.data.held_out import HeldOut, threshold_key
from numcolbert.data.text_rows import read_rows
from numcolbert.data.triple import Triple, satisfies
from numcolbert.data.triple_files import Vocabularies
from numcolbert.errors import InputError
from numcolbert.files import all_files, require_file

_SPACES = re.compile(r"\W+")


@dataclass(frozen=True, slots=True)
class LabelCheck:
    """The labels against the extractor, which did not make them."""

    conditions: int = 0
    conditions_read: float = 0.0
    """Share of query conditions that the extractor reads with the same operator and threshold."""
    quantities: int = 0
    quantities_read: float = 0.0
    """Share of labelled passage quantities that the extractor finds with the same dimension and value."""
    positives: int = 0
    positives_confirmed: float = 0.0
    """Share of positives in which it finds a quantity that satisfies the condition."""


@dataclass(frozen=True, slots=True)
class Report:
    triples: int
    duplicate_triples: int
    duplicate_queries: int
    leaked_queries: tuple[str, ...]
    """Training queries that are, letter for letter, queries of a test set."""
    leaked_thresholds: tuple[str, ...]
    """Conditions with the pair, operator and threshold of a test query."""
    leaked_pairs: tuple[str, ...]
    """Held-out pairs that are asked about."""
    operators: dict[str, int]
    dimensions: dict[str, int]
    units: dict[str, int]
    pairs_asked: int
    conditions_per_query: dict[str, int]
    labels: LabelCheck = field(default_factory=LabelCheck)
    lengths: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def leaks(self) -> bool:
        return bool(self.leaked_queries or self.leaked_thresholds or self.leaked_pairs)


def check_triples(
    triples: Sequence[Triple],
    names: Vocabularies,
    *,
    held_out: HeldOut,
    test_queries: Iterable[str] = (),
    verify: int = 0,
    tokenizer: Path | None = None,
) -> Report:
    """Look at finished triples; `verify` of them are read again by the extractor."""
    tests = {normalised(query) for query in test_queries}
    seen_triples: Counter[tuple[str, str, str]] = Counter()
    seen_queries: Counter[str] = Counter()
    operators: Counter[str] = Counter()
    units: Counter[str] = Counter()
    dimensions: Counter[str] = Counter()
    conditions: Counter[str] = Counter()
    pairs: set[int] = set()
    leaked_queries, leaked_thresholds, leaked_pairs = set(), set(), set()
    for triple in triples:
        seen_triples[triple.query, triple.positive.text, triple.negative.text] += 1
        seen_queries[triple.query] += 1
        conditions[str(len(triple.conditions))] += 1
        if normalised(triple.query) in tests:
            leaked_queries.add(triple.query)
        for c in triple.conditions:
            concept, dimension = names.pairs[c.pair]
            operators[c.operator] += 1
            units[names.units[c.unit].name] += 1
            dimensions[dimension] += 1
            pairs.add(c.pair)
            if (concept, dimension) in held_out.pairs:
                leaked_pairs.add(f"{concept} [{dimension}]")
            if threshold_key(concept, dimension, c.operator, c.base_value) in held_out.thresholds:
                leaked_thresholds.add(f"{concept} [{dimension}] {c.operator} {c.base_value:g}")
    return Report(
        triples=len(triples),
        duplicate_triples=_repeated(seen_triples),
        duplicate_queries=_repeated(seen_queries),
        leaked_queries=tuple(sorted(leaked_queries)),
        leaked_thresholds=tuple(sorted(leaked_thresholds)),
        leaked_pairs=tuple(sorted(leaked_pairs)),
        operators=dict(operators.most_common()),
        dimensions=dict(dimensions.most_common()),
        units=dict(units.most_common()),
        pairs_asked=len(pairs),
        conditions_per_query=dict(sorted(conditions.items())),
        labels=verify_labels(triples[:verify], names) if verify else LabelCheck(),
        lengths=token_lengths(triples, tokenizer) if tokenizer else {},
    )


def normalised(text: str) -> str:
    """Letters and digits alone: case, space and punctuation do not make a query another one."""
    return _SPACES.sub(" ", text.lower()).strip()


def _repeated(counted: Counter[Any]) -> int:
    return sum(count - 1 for count in counted.values())


def verify_labels(triples: Sequence[Triple], names: Vocabularies) -> LabelCheck:
    from numcolbert.quantities import conditions as read_conditions

    asked: list[bool] = []
    labelled: list[bool] = []
    positives: list[bool] = []
    for triple in triples:
        parsed = read_conditions(triple.query)
        for c in triple.conditions:
            dimension = names.dimensions[c.dimension]
            asked.append(
                any(
                    p.operator == c.operator
                    and p.quantity.dimension == dimension
                    and _close(p.quantity.base_low or p.quantity.base_value, c.base_value)
                    for p in parsed
                )
            )
        stated = _stated(triple.positive.text)
        for passage, found in ((triple.positive, stated), (triple.negative, _stated(triple.negative.text))):
            labelled += [
                any(_close(value, q.base_value) for value in found.get(names.dimensions[q.dimension], ()))
                for q in passage.quantities
            ]
        if triple.conditions:
            positives.append(
                all(
                    any(
                        satisfies(c.operator, value, c.base_value, c.base_high)
                        for value in stated.get(names.dimensions[c.dimension], ())
                    )
                    for c in triple.conditions
                )
            )
    return LabelCheck(
        conditions=len(asked),
        conditions_read=_share(asked),
        quantities=len(labelled),
        quantities_read=_share(labelled),
        positives=len(positives),
        positives_confirmed=_share(positives),
    )


def _stated(text: str) -> dict[str, list[float]]:
    """The base values the extractor finds, by dimension; both ends of a range."""
    from numcolbert.quantities import extract

    found: dict[str, list[float]] = {}
    for q in extract(text, for_labels=True):
        ends = [end for end in (q.base_low, q.base_high) if end is not None] or [q.base_value]
        found.setdefault(q.dimension, []).extend(ends)
    return found


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else 0.0


def _close(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * max(abs(one), abs(other))


def token_lengths(triples: Sequence[Triple], tokenizer: Path) -> dict[str, dict[str, float]]:
    """Tokens in queries and passages: mean, median, 95th and 99th percentile, longest."""
    from tokenizers import Tokenizer

    require_file(tokenizer, "tokenizer")
    try:
        reader = Tokenizer.from_file(str(tokenizer))
    except Exception as error:
        raise InputError(
            f"'{tokenizer}' is not a tokenizer: {error}.", hint="give the tokenizer.json of the model"
        ) from error
    reader.no_truncation()
    reader.no_padding()
    texts = {
        "query": [t.query for t in triples],
        "passage": [p.text for t in triples for p in (t.positive, t.negative)],
    }
    table = {}
    for name, values in texts.items():
        lengths = np.array([len(encoding.ids) for encoding in reader.encode_batch(values)])
        table[name] = {
            "mean": round(float(lengths.mean()), 1),
            "median": float(np.median(lengths)),
            "p95": float(np.percentile(lengths, 95)),
            "p99": float(np.percentile(lengths, 99)),
            "longest": float(lengths.max()),
        }
    return table


def read_test_queries(places: Iterable[Path]) -> list[str]:
    """The query texts of benchmark folders and of the suites below them.

    A `held_out.json` stands for the folder it lies in, as it does where pairs and thresholds are read.
    """
    folders = [place if place.is_dir() else place.parent for place in places]
    files = [file for folder in folders for file in all_files(folder, "**/queries.jsonl")]
    return [text for file in files for _, text in read_rows(file)]
