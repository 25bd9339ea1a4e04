"""Is a difference more than luck? Tests over the same queries, intervals, effect sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from numcolbert.errors import InputError

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PairedTest:
    """A system against a baseline, query by query."""

    difference: float
    """Mean of system minus baseline."""
    p: float
    """Two-sided, not corrected."""
    effect: float | None
    """Cohen's d of the differences; None where they all are the same number, not zero."""
    wins: int
    losses: int


@dataclass(frozen=True, slots=True)
class TukeyPair:
    first: str
    second: str
    difference: float
    """Mean of `first` minus mean of `second`."""
    low: float
    high: float
    p: float
    """Corrected for all pairs."""


def paired_test(system: Values, baseline: Values) -> PairedTest:
    """Student's t-test on the differences."""
    _same_queries(system, baseline)
    differences = system - baseline
    mean = float(differences.mean())
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    spread = float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
    # A spread that is only rounding noise would make t meaningless.
    if spread <= 1e-12 * max(1.0, abs(mean)):
        same = abs(mean) <= 1e-12
        p = 1.0 if same or len(differences) < 2 else 0.0
        return PairedTest(mean, p, 0.0 if same else None, wins, losses)
    from scipy.stats import t

    statistic = mean / (spread / np.sqrt(len(differences)))
    p = float(2 * t.sf(abs(statistic), len(differences) - 1))
    return PairedTest(mean, p, mean / spread, wins, losses)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: the adjusted p-values, in the order given."""
    count = len(p_values)
    adjusted = [0.0] * count
    largest = 0.0
    for position, index in enumerate(sorted(range(count), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (count - position) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def tukey(groups: Mapping[str, Values], level: float = 0.95) -> list[TukeyPair]:
    """Tukey's honestly significant difference between all pairs of systems."""
    if len(groups) < 2:
        raise InputError("Tukey's test needs at least two systems.", hint="name two or more runs")
    first = next(iter(groups.values()))
    for values in groups.values():
        _same_queries(values, first)
    names = list(groups)
    if all(np.ptp(values) == 0 for values in groups.values()):
        raise InputError(
            "Tukey's test needs queries that differ: every system scores all of them alike.",
            hint="use more queries",
        )
    from scipy.stats import tukey_hsd

    result = tukey_hsd(*groups.values())
    interval = result.confidence_interval(level)
    return [
        TukeyPair(
            names[i],
            names[j],
            float(result.statistic[i, j]),
            float(interval.low[i, j]),
            float(interval.high[i, j]),
            float(result.pvalue[i, j]),
        )
        for i, j in combinations(range(len(names)), 2)
    ]


def bootstrap_intervals(
    values: Values, *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> tuple[Values, Values]:
    """Percentile interval of the mean of each column of `values`, [queries, columns].

    Every column meets the same resampled queries, so intervals of systems side by side are comparable.
    """
    means = _draws(len(values), resamples, seed) @ values / len(values)  # [resamples, columns]
    tail = (1 - level) / 2
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    return low, high


def bootstrap_ratio(
    parts: Values, wholes: Values, *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> tuple[Values, Values]:
    """Percentile interval of sum(parts) / sum(wholes) of each column, where some of `wholes` is not zero.

    The draws are those of `bootstrap_intervals`. One that meets only zeros has no ratio and is left out.
    """
    drawn = _draws(len(wholes), resamples, seed)
    above, below = drawn @ parts, drawn @ wholes  # [resamples, columns]
    ratios = np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)
    tail = (1 - level) / 2
    ends = np.nanquantile(ratios, [tail, 1 - tail], axis=0)
    low, high = ends.reshape(2, *ratios.shape[1:])  # without any column numpy leaves the two rows out as well
    return low, high


def _draws(queries: int, resamples: int, seed: int) -> NDArray[np.int64]:
    """How often each draw holds each query, [resamples, queries]."""
    if not queries:
        raise InputError("There are no queries to resample.", hint="check the qrels file")
    return np.random.default_rng(seed).multinomial(queries, np.full(queries, 1 / queries), resamples)


def _same_queries(first: Values, second: Values) -> None:
    if first.shape != second.shape or first.ndim != 1 or not len(first):
        raise InputError(
            f"The systems have {len(first)} and {len(second)} query scores.",
            hint="compare runs over the same, not empty, set of queries",
        )
