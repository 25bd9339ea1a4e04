"""Statistics, against scipy, statsmodels and arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.properties import examples

from numcolbert.errors import InputError
from numcolbert.evaluate.significance import bootstrap_intervals, holm, paired_test, tukey

multitest = pytest.importorskip("statsmodels.stats.multitest")
DRAW = np.random.default_rng(1)


def test_paired_test_is_scipys() -> None:
    system, baseline = DRAW.random(50), DRAW.random(50)
    result = paired_test(system, baseline)
    assert result.p == pytest.approx(stats.ttest_rel(system, baseline).pvalue, abs=1e-12)
    difference = system - baseline
    assert result.effect == pytest.approx(difference.mean() / difference.std(ddof=1))
    assert result.wins + result.losses == 50


def test_paired_test_without_spread() -> None:
    ones = np.ones(5)
    same = paired_test(ones, ones)
    assert (same.p, same.effect, same.difference) == (1.0, 0.0, 0.0)
    shifted = paired_test(ones, np.full(5, 0.25))
    assert (shifted.p, shifted.effect, shifted.wins) == (0.0, None, 5)
    single = paired_test(np.array([1.0]), np.array([0.0]))
    assert single.p == 1.0, "one query proves nothing"


def test_paired_test_refuses_other_queries() -> None:
    with pytest.raises(InputError, match="3 and 4 query scores"):
        paired_test(np.zeros(3), np.zeros(4))


def test_holm_by_hand() -> None:
    # sorted .01 .03 .04 -> x3 .03, x2 .06, x1 .04 -> raised to .06 so that the order is kept
    assert holm([0.03, 0.01, 0.04]) == pytest.approx([0.06, 0.03, 0.06])


@examples(25)  # each takes statsmodels 50 ms
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_statsmodels(p_values: list[float]) -> None:
    expected = multitest.multipletests(p_values, method="holm")[1]
    assert holm(p_values) == pytest.approx(list(expected), abs=1e-12)


def test_tukey_is_statsmodels() -> None:
    pairwise = pytest.importorskip("statsmodels.stats.multicomp").pairwise_tukeyhsd
    groups = {name: DRAW.normal(mean, 1, 40) for name, mean in (("a", 0.0), ("b", 0.2), ("c", 1.5))}
    ours = {(pair.first, pair.second): pair for pair in tukey(groups)}
    table = pairwise(np.concatenate(list(groups.values())), np.repeat(list(groups), 40))
    for (first, second), difference, p in zip(
        [("a", "b"), ("a", "c"), ("b", "c")], table.meandiffs, table.pvalues, strict=True
    ):
        assert ours[first, second].difference == pytest.approx(-difference)
        assert ours[first, second].p == pytest.approx(p, abs=2e-3)
    assert ours["a", "c"].high < 0, "the interval of a clear difference excludes zero"


def test_tukey_refuses_what_it_cannot_test() -> None:
    with pytest.raises(InputError, match="at least two systems"):
        tukey({"a": np.ones(3)})
    with pytest.raises(InputError, match="scores all of them alike"):
        tukey({"a": np.ones(3), "b": np.zeros(3)})


def test_bootstrap_covers_the_mean_and_repeats() -> None:
    values = DRAW.random((200, 3))
    low, high = bootstrap_intervals(values, seed=7)
    again = bootstrap_intervals(values, seed=7)
    assert (low == again[0]).all() and (high == again[1]).all()
    assert (low < values.mean(axis=0)).all() and (values.mean(axis=0) < high).all()
    # The normal approximation is close for 200 queries.
    half = 1.96 * values.std(axis=0) / np.sqrt(200)
    assert (high - low) / 2 == pytest.approx(half, rel=0.1)


def test_bootstrap_gives_equal_columns_equal_intervals() -> None:
    column = DRAW.random(30)
    low, high = bootstrap_intervals(np.column_stack([column, column]))
    assert low[0] == low[1] and high[0] == high[1]
