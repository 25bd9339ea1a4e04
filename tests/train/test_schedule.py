from __future__ import annotations

import pytest

from numcolbert.train.schedule import Budget, lr_factor


@pytest.mark.parametrize("decay", ["linear", "cosine"])
def test_the_rate_rises_then_falls_to_zero(decay: str) -> None:
    rates = [lr_factor(p / 100, 0.1, decay) for p in range(101)]  # type: ignore[arg-type]
    assert rates[0] == 0
    assert max(rates) == pytest.approx(rates[10]) == pytest.approx(1.0)
    assert rates[:11] == sorted(rates[:11])
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[-1] == pytest.approx(0.0)


def test_a_time_budget_ends_exactly_at_its_end_whatever_loading_took() -> None:
    now = 0.0
    budget = Budget(seconds=100.0, clock=lambda: now)
    now = 40.0  # loading and compiling
    assert budget.progress(0) == 0.0
    now = 70.0
    assert budget.progress(123) == pytest.approx(0.5)
    now = 101.0
    assert budget.progress(200) == 1.0


def test_whichever_is_used_up_first_ends_the_run() -> None:
    now = 0.0
    budget = Budget(steps=10, seconds=100.0, clock=lambda: now)
    assert budget.progress(0) == 0.0
    now = 20.0
    assert budget.progress(9) == 0.9
    assert budget.progress(1) == 0.2


def test_a_resumed_run_counts_what_was_used() -> None:
    now = 50.0
    budget = Budget(seconds=100.0, used_before=60.0, clock=lambda: now)
    assert budget.progress(0) == pytest.approx(0.6)
