"""A benchmark folder as the compared systems see it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

from numcolbert.baselines.ranker import Query
from numcolbert.errors import InputError
from numcolbert.train.benchmarks import Benchmark, read_corpus
from numcolbert.types import Condition, Document, Operator, Quantity

_OPERATORS = get_args(Operator)


def read_documents(corpus: Path) -> list[Document]:
    rows = read_corpus(corpus)
    return [Document(name, text) for name, text in zip(rows.ids, rows.texts, strict=True)]


def read_queries(benchmark: Benchmark) -> list[Query]:
    """Queries with concept and gold condition where the folder has `attributes.json`."""
    return [
        _query(benchmark.path, query, text, benchmark.attributes.get(query))
        for query, text in zip(benchmark.query_ids, benchmark.query_texts, strict=True)
    ]


def _query(folder: Path, name: str, text: str, attributes: dict[str, Any] | None) -> Query:
    if not attributes or "operator" not in attributes:
        return Query(name, text)
    try:
        operator = attributes["operator"]
        if operator not in _OPERATORS:
            raise ValueError(f"the operator is none of {' '.join(_OPERATORS)}")
        value = float(attributes["value"])
        base = float(attributes.get("base_value", value))
        start, end = attributes.get("span", (0, len(text)))
        span = (int(start), int(end))
        # Ends of a range are saved in the base unit; base and unit are proportional where ranges occur.
        is_range = operator == "range"
        high = value * float(attributes["base_high"]) / base if is_range and base else value
        quantity = Quantity(
            value=value,
            unit=attributes.get("unit"),
            dimension=str(attributes.get("dimension", "")),
            base_value=base,
            span=span,
            value_span=span,
            low=value if is_range else None,
            high=high if is_range else None,
        )
        concept = str(attributes.get("phrase") or attributes["concept"])
        return Query(name, text, concept, Condition(operator, quantity, span))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"The attributes of query '{name}' in '{folder}' cannot be read: {error!r}.",
            hint="build the benchmark again with 'numcolbert data benchmark'",
        ) from error
