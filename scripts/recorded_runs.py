"""Where recorded runs lie, how one is found by its name, and which it went on from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numcolbert.errors import NotFoundError

RUNS = Path(__file__).parent.parent / "docs" / "results" / "runs"


def recorded(name: str) -> dict[str, Any]:
    known = []
    for file in sorted(RUNS.glob("*.json")):
        run: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if run["run"] == name:
            return run
        known.append(run["run"])
    raise NotFoundError(f"No run '{name}' is recorded.", hint="one of: " + ", ".join(known))


def trainings(run: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The trainings that made the model of a run, one after the other: those it went on from, and its own."""
    return [*trainings(recorded(run["after"])), run] if run.get("after") else [run]
