"""What a table takes from benchmarks and run files: enough to make it again when both are gone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from numcolbert.baselines.ranker import Run
from numcolbert.errors import InputError
from numcolbert.evaluate.measures import Scores, measure
from numcolbert.evaluate.slices import attribute_slices
from numcolbert.evaluate.trec import Qrels
from numcolbert.train.benchmarks import Benchmark
from numcolbert.train.fingerprint import fingerprint

DIGITS = 4
"""Kept of each value. Values from runs are rounded alike: where two systems score the same they must tie,
whichever of them is kept."""


@dataclass(frozen=True, slots=True)
class QuerySet:
    """A benchmark without its texts."""

    name: str
    queries: tuple[str, ...]
    """The judged ones, in the order of their scores."""
    fingerprint: str = ""
    """Of the collection and the queries; empty where nobody noted it."""
    judgements: str = ""
    """A hash of the judgements: unlike a run, a measure depends on them."""
    operators: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Operator -> its queries."""

    @classmethod
    def of(cls, benchmark: Benchmark) -> QuerySet:
        hashed = hashlib.sha256(json.dumps(benchmark.qrels, sort_keys=True).encode()).hexdigest()
        return cls(
            benchmark.name,
            tuple(sorted(benchmark.qrels)),
            fingerprint(benchmark),
            hashed,
            _operators(benchmark),
        )

    def is_edition_of(self, other: QuerySet) -> bool:
        """Whether numbers measured on one may stand beside numbers measured on the other."""
        noted = self.fingerprint and other.fingerprint
        same = (self.fingerprint, self.judgements) == (other.fingerprint, other.judgements)
        return self.queries == other.queries and (same or not noted)


@dataclass(frozen=True, slots=True)
class Measured:
    """A system on a benchmark."""

    scores: Scores
    facts: Mapping[str, float] = field(default_factory=dict)
    """What else was measured when the run was made: milliseconds, bytes."""
    warning: str = ""
    """What a reader of its numbers must know."""
    run_sha256: str | None = None
    """Of the run file; None where nobody noted it."""


@dataclass(frozen=True)
class Kept:
    """The measures of a report, by the benchmark's name."""

    query_sets: Mapping[str, QuerySet] = field(default_factory=dict)
    systems: Mapping[str, Mapping[str, Measured]] = field(default_factory=dict)
    """Benchmark -> system -> what was measured. Systems are named like the folders of their runs, since a row
    may have another name in another table."""

    def on(self, asked: QuerySet) -> Mapping[str, Measured]:
        """System -> its measures on this edition of a benchmark; another edition's are refused."""
        known = self.query_sets.get(asked.name)
        if known is None:
            return {}
        if not known.is_edition_of(asked):
            raise InputError(
                f"The kept measures of '{asked.name}' were made on another edition of the benchmark.",
                hint="name the folder of that edition with --benchmarks, or make the runs again",
            )
        return self.systems[asked.name]

    def with_suites(self, name: str) -> list[QuerySet]:
        """A benchmark and each of its suites, as far as they are kept."""
        return [known for known in self.query_sets.values() if f"{known.name}/".startswith(f"{name}/")]

    def updated(self, asked: QuerySet, new: Mapping[str, Measured]) -> Kept:
        """With `new` beside what is kept of the same edition, and in place of what is kept of another."""
        if not new:
            return self
        known = self.query_sets.get(asked.name)
        before = self.systems[asked.name] if known is not None and known.is_edition_of(asked) else {}
        return replace(
            self,
            query_sets={**self.query_sets, asked.name: asked},
            systems={**self.systems, asked.name: {**before, **new}},
        )


def measured_run(run: Run, qrels: Qrels, measures: Sequence[str]) -> Scores:
    exact = measure(run, qrels, measures)
    return replace(exact, values=exact.values.round(DIGITS))


def _operators(benchmark: Benchmark) -> dict[str, tuple[str, ...]]:
    """None for suites, whose queries may ask for two things at once."""
    if not benchmark.attributes or "/" in benchmark.name:
        return {}
    slices = attribute_slices(benchmark.qrels, benchmark.attributes)
    return {part.name: tuple(part.qrels) for part in slices}
