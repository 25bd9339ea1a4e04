"""What a search and an explanation hand back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from numcolbert.types import Condition, Hit, Quantity, Span


@dataclass(frozen=True, slots=True)
class Results:
    """The hits of one query, best first. Iterates, counts and indexes like a list of `Hit`."""

    query: str
    hits: tuple[Hit, ...]
    conditions: tuple[Condition, ...] = ()
    """The numerical conditions as understood by the extractor; they take no part in the ranking."""
    dropped: int = 0
    """How many passages `verify` removed: above the last hit or, with fewer than `k`, of all it saw."""
    seconds: float = 0.0

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, position: int) -> Hit:
        return self.hits[position]


@dataclass(frozen=True, slots=True)
class TokenMatch:
    """One query token, the passage token it matched best, and what that gave."""

    token: str
    span: Span | None
    """In the query; None for special tokens."""
    probability: float
    """The detector's belief that the token belongs to a quantity."""
    gate: float
    """What the token's vector was multiplied by; 1 where the gate does not act."""
    matched_token: str
    matched_span: Span | None
    """In the passage."""
    similarity: float
    """Of the two tokens, without the gate."""
    contribution: float
    """`gate` times `similarity`: the contributions of all tokens add up to the score."""
    share: float
    """`contribution` divided by the score."""


@dataclass(frozen=True, slots=True)
class JudgedQuantity:
    quantity: Quantity
    satisfies: bool | None
    """None where the query has no condition that can be compared with it."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a passage has the score it has for a query."""

    query: str
    id: str
    text: str
    score: float
    relevance: float
    score_without_gate: float
    relevance_without_gate: float
    tokens: tuple[TokenMatch, ...]
    conditions: tuple[Condition, ...] = ()
    quantities: tuple[JudgedQuantity, ...] = ()
    satisfies: bool | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
