"""A benchmark folder as the compared systems see it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numcolbert.baselines.ranker import Query
from numcolbert.errors import InputError
from numcolbert.train.benchmarks import Benchmark, read_benchmark, read_corpus
from numcolbert.types import Condition, Document, Quantity


@dataclass(frozen=True, slots=True)
class Collection:
    name: str
    documents: list[Document]
    queries: list[Query]


def read_collection(folder: Path) -> Collection:
    """Corpus and queries; concepts and gold conditions where the folder has `attributes.json`."""
    benchmark = read_benchmark(folder)
    corpus = read_corpus(benchmark.corpus_path)
    documents = [Document(i, text) for i, text in zip(corpus.ids, corpus.texts, strict=True)]
    return Collection(benchmark.name, documents, read_queries(benchmark))


def read_queries(benchmark: Benchmark) -> list[Query]:
    return [
        _query(benchmark.path, query, text, benchmark.attributes.get(query))
        for query, text in zip(benchmark.query_ids, benchmark.query_texts, strict=True)
    ]


def _query(folder: Path, name: str, text: str, attributes: dict[str, Any] | None) -> Query:
    if attributes is None or "operator" not in attributes:
        return Query(name, text)
    try:
        start, end = attributes["span"]
        value, span = float(attributes["value"]), (int(start), int(end))
        base = float(attributes["base_value"])
        base_high = float(attributes["base_high"])
        # Ends of a range are saved in the base unit; base and unit are proportional where ranges occur.
        is_range = attributes["operator"] == "range"
        high = value * base_high / base if is_range and base else value
        quantity = Quantity(
            value=value,
            unit=attributes["unit"],
            dimension=str(attributes["dimension"]),
            base_value=base,
            span=span,
            value_span=span,
            low=value if is_range else None,
            high=high if is_range else None,
        )
        concept = str(attributes.get("phrase") or attributes["concept"])
        return Query(name, text, concept, Condition(attributes["operator"], quantity, span))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"The attributes of query '{name}' in '{folder}' cannot be read: {error!r}.",
            hint="build the benchmark again with 'numcolbert data benchmark'",
        ) from error
