"""What is wrong with a wrong hit: its concept, or its number?

A query asks for a concept and a condition ("net income", "above 2 billion dollars"); R passages are relevant.
Three shares of the first R hits of a run say where it fails:

concept  hits about the query's concept and dimension, whatever their value; mean over queries
number   of the hits about the concept those whose value satisfies the condition; over the hits of all queries
         together (micro-average), for a query without any such hit says nothing about numbers
both     hits that satisfy the condition: R-precision, mean over queries

A place that a run leaves empty is wrong. `both` is close to `concept` times `number`, but not the same: hits
weigh equally in `number`, queries in the other two.

What passages are about stands in `about.trec` beside the judgements: `query 0 passage 1` where the condition
is satisfied, `query 0 passage 0` where it is violated. Queries with two conditions are not in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from heapq import nlargest
from pathlib import Path

import numpy as np

from numcolbert.baselines.ranker import Run
from numcolbert.errors import InputError, NotFoundError
from numcolbert.evaluate.significance import Values, bootstrap_intervals, bootstrap_ratio
from numcolbert.evaluate.slices import Slice
from numcolbert.evaluate.trec import Qrels, read_qrels
from numcolbert.files import plain_or_compressed

ABOUT = "about.trec"
_SAME_BUILD = "take both from the same build of the benchmark"


@dataclass(frozen=True, slots=True)
class Share:
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class WrongHits:
    """One system on one part of a benchmark."""

    system: str
    part: str
    queries: int
    left_out: int
    """Queries of the part of which nothing is known about concepts, as those with two conditions."""
    concept: Share
    number: Share | None
    """None where no hit is about the concept."""
    both: Share


def find_about(folder: Path) -> Path | None:
    return plain_or_compressed(folder / ABOUT)


def read_about(folder: Path, queries: Collection[str]) -> Qrels:
    """What passages are about; of the `queries`, which are judged in the same folder, it must know some."""
    path = find_about(folder)
    if path is None:
        raise NotFoundError(
            f"'{folder}' has no {ABOUT}, which says what passages are about.",
            hint="build the benchmark again from its pool: 'numcolbert data benchmark' writes it",
        )
    about = read_qrels(path)
    if about.keys().isdisjoint(queries):
        raise InputError(f"'{path}' knows none of the queries of the qrels beside it.", hint=_SAME_BUILD)
    return about


def wrong_hits(
    runs: Mapping[str, Run],
    part: Slice,
    about: Qrels,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> list[WrongHits]:
    """The shares of every run with bootstrap intervals over queries; none where no query is in `about`."""
    queries = [query for query in part.qrels if query in about]
    if not queries or not runs:
        return []
    _check_agreement(queries, part, about)
    places = np.array([max(1, len(_relevant(about[query]))) for query in queries], float)[:, None]
    counts = [[_count(run.get(query, {}), about[query]) for run in runs.values()] for query in queries]
    in_concept, in_both = np.moveaxis(np.array(counts, float), 2, 0)  # [queries, systems] each
    # All systems at once: drawing queries takes longer than all that is done with a draw.
    shares = np.hstack([in_concept, in_both]) / places
    means = _shares(
        shares.mean(axis=0), bootstrap_intervals(shares, level=level, resamples=resamples, seed=seed)
    )
    answered = in_concept.any(axis=0)  # without a hit about the concept there is no share of right numbers
    parts, wholes = in_both[:, answered], in_concept[:, answered]
    ratios = iter(
        _shares(
            parts.sum(axis=0) / wholes.sum(axis=0),
            bootstrap_ratio(parts, wholes, level=level, resamples=resamples, seed=seed),
        )
    )
    left_out = len(part.qrels) - len(queries)
    return [
        WrongHits(system, part.name, len(queries), left_out, concept, next(ratios) if any_hit else None, both)
        for system, concept, both, any_hit in zip(
            runs, means[: len(runs)], means[len(runs) :], answered, strict=True
        )
    ]


def _shares(values: Values, intervals: tuple[Values, Values]) -> list[Share]:
    return [Share(*map(float, share)) for share in zip(values, *intervals, strict=True)]


def _check_agreement(queries: Iterable[str], part: Slice, about: Qrels) -> None:
    """Both files say which passages satisfy a condition; were they of different builds, `both` would lie."""
    for query in queries:
        if _relevant(about[query]) != _relevant(part.qrels[query]):
            raise InputError(
                f"{ABOUT} and the qrels of '{part.name}' do not agree on what satisfies query '{query}'.",
                hint=_SAME_BUILD,
            )


def _count(ranking: Mapping[str, float], passages: Mapping[str, int]) -> tuple[int, int]:
    """Of the first R hits, how many are about the concept, and how many of these satisfy the condition."""
    # As trec_eval orders them: single precision, equal scores by id, descending.
    first = nlargest(
        len(_relevant(passages)), ranking, key=lambda passage: (np.float32(ranking[passage]), passage)
    )
    grades = [passages[passage] for passage in first if passage in passages]
    return len(grades), sum(grade > 0 for grade in grades)


def _relevant(judged: Mapping[str, int]) -> set[str]:
    return {passage for passage, grade in judged.items() if grade > 0}
