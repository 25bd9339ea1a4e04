"""How many examples hypothesis draws: a count per test, times what the profile asks for.

By default the examples of a test are always the same, so that a run says something about the change and not
about luck; `pytest --hypothesis-profile=explore` draws new ones, twenty times as many.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

_STANDARD = 100  # the count of a test that names none
EXPLORING = 20

# No test may fail because the machine is busy: no deadline, and no check on how fast examples are drawn.
_PATIENT: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow],
    "print_blob": True,
}


def register_profiles() -> None:
    settings.register_profile("repeatable", derandomize=True, max_examples=_STANDARD, **_PATIENT)
    settings.register_profile("explore", max_examples=_STANDARD * EXPLORING, **_PATIENT)
    settings.load_profile("repeatable")


def examples(count: int, *, suppress: tuple[HealthCheck, ...] = (), **others: Any) -> settings:
    """Settings with `count` examples, more where the profile explores."""
    default = settings.default
    assert default is not None
    return settings(
        max_examples=count * default.max_examples // _STANDARD,
        suppress_health_check=[*default.suppress_health_check, *suppress],
        **others,
    )
