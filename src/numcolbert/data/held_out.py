"""What training must not see: the unseen pairs of the test sets and the thresholds of their queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from numcolbert.config import read_json
from numcolbert.errors import InputError
from numcolbert.types import Operator

Threshold = tuple[str, str, str, float]
"""(concept name, dimension, operator, base value to six significant digits)"""

_WHAT = "list of held-out pairs"
_HINT = 'it holds {"pairs": [[concept, dimension]], "queries": [...]}'


def threshold_key(concept: str, dimension: str, operator: str, base_value: float) -> Threshold:
    return (concept, dimension, operator, float(f"{base_value:.5e}"))


@dataclass(frozen=True)
class HeldOut:
    pairs: frozenset[tuple[str, str]] = field(default_factory=frozenset)
    thresholds: frozenset[Threshold] = field(default_factory=frozenset)

    @classmethod
    def of(cls, pairs: Iterable[Sequence[str]], queries: Iterable[dict[str, Any]] = ()) -> HeldOut:
        return cls(
            frozenset((concept, dimension) for concept, dimension in pairs),
            frozenset(
                threshold_key(q["concept"], q["dimension"], q["operator"], float(q["base_value"]))
                for q in queries
            ),
        )

    @classmethod
    def read(cls, paths: Iterable[Path]) -> HeldOut:
        """Read `held_out.json` files, or the folders of benchmarks that hold one."""
        found = cls()
        for path in paths:
            file = path / "held_out.json" if path.is_dir() else path
            content = read_json(file, _WHAT, hint=_HINT)
            try:
                found = found | cls.of(content["pairs"], content.get("queries", ()))
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
                raise InputError(
                    f"'{file}' is not a {_WHAT}: {error!r}.",
                    hint=_HINT,
                ) from error
        return found

    def __or__(self, other: HeldOut) -> HeldOut:
        return HeldOut(self.pairs | other.pairs, self.thresholds | other.thresholds)

    @cached_property
    def _names(self) -> frozenset[tuple[str, str]]:
        return frozenset((concept.lower(), dimension) for concept, dimension in self.pairs)

    def has_pair(self, name: str, dimension: str) -> bool:
        """Whether a phrase, in upper or lower case, is the name of an unseen pair."""
        return (name.lower(), dimension) in self._names

    def blocks(self, concept: str, dimension: str, operator: Operator, base_value: float) -> bool:
        """Whether a query with this threshold is a test query's."""
        if not self.thresholds:
            return False
        return threshold_key(concept, dimension, operator, base_value) in self.thresholds
