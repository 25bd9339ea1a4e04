"""The few values that travel between the rooms of the package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Span = tuple[int, int]
"""Character offsets `[start, end)` into the original text."""

Operator = Literal["=", ">", "<", ">=", "<=", "range"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit, as it stands in a text.

    Two quantities can be compared exactly when their `dimension` is equal; then `base_value` compares them.
    """

    value: float
    """In `unit`, with scale words applied ("2 billion dollars" is 2e9). Midpoint of a range."""
    unit: str | None
    """Canonical unit name ("kilogram", "USD", "percent", "patient"), None for a bare number."""
    dimension: str
    """Key of comparability ("mass", "currency:USD", "count:patient", "number")."""
    base_value: float
    """`value` in the base unit of the dimension."""
    span: Span
    """Value, scale word and unit together."""
    value_span: Span
    unit_span: Span | None = None
    low: float | None = None
    """Lower end of a range, in `unit`."""
    high: float | None = None
    base_low: float | None = None
    base_high: float | None = None
    approximate: bool = False

    @property
    def is_range(self) -> bool:
        return self.low is not None or self.high is not None


@dataclass(frozen=True, slots=True)
class Condition:
    """What a query asks of a quantity: an operator and a threshold."""

    operator: Operator
    quantity: Quantity
    """The threshold; for `range` its `low` and `high` bound the interval."""
    span: Span
    """Operator words and threshold together."""


@dataclass(frozen=True, slots=True)
class Document:
    id: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hit:
    id: str
    text: str
    score: float
    """MaxSim with the gated query: a sum over query tokens, so it can exceed 1."""
    relevance: float
    """`score` divided by the highest score any passage could reach for this query, in 0..1."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    quantities: tuple[Quantity, ...] = ()
    satisfies: bool | None = None
    """Whether a quantity of the passage satisfies the query's condition; None where that has no answer."""


@dataclass(frozen=True, slots=True)
class QueryEncoding:
    """One encoded query. Row i of `vectors` is `gates[i]` times a unit vector."""

    text: str
    vectors: NDArray[np.float32]  # [tokens, dim], gated: what an engine scores with
    tokens: tuple[str, ...]
    spans: tuple[Span | None, ...]  # None for special tokens
    probabilities: NDArray[np.float32]  # [tokens], the detector's P(token belongs to a quantity)
    gates: NDArray[np.float32]  # [tokens], 1 where the gate does not act

    def ungated(self) -> NDArray[np.float32]:
        return self.vectors / self.gates[:, None]


@dataclass(frozen=True, slots=True)
class DocumentEncoding:
    """One encoded passage: unit vectors, one a token."""

    vectors: NDArray[np.float32]  # [tokens, dim]
    tokens: tuple[str, ...]
    spans: tuple[Span | None, ...]
