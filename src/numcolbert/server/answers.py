"""What the client hands back: the answers as typed values. A test keeps them equal to `schemas.py`."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class FoundQuantity:
    """A number with its unit in a text."""

    text: str
    value: float
    unit: str | None
    dimension: str
    base_value: float
    base_unit: str
    span: tuple[int, ...]
    low: float | None
    high: float | None
    base_low: float | None
    base_high: float | None
    approximate: bool
    satisfies: bool | None


@dataclass(frozen=True, slots=True)
class FoundCondition:
    """What a query asks of a quantity."""

    operator: Literal["=", ">", "<", ">=", "<=", "range"]
    text: str
    span: tuple[int, ...]
    quantity: FoundQuantity
    factor: float
    offset: float


@dataclass(frozen=True, slots=True)
class FoundHit:
    """A hit; the fields are those of `Hit`."""

    id: str
    text: str
    score: float
    relevance: float
    metadata: Mapping[str, Any]
    quantities: tuple[FoundQuantity, ...]
    satisfies: bool | None


@dataclass(frozen=True, slots=True)
class FoundHits:
    """The hits of one query, best first. Iterates, counts and indexes like a list."""

    query: str
    conditions: tuple[FoundCondition, ...]
    hits: tuple[FoundHit, ...]
    dropped: int
    seconds: float

    def __iter__(self) -> Iterator[FoundHit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, position: int) -> FoundHit:
        return self.hits[position]


@dataclass(frozen=True, slots=True)
class ExplainedToken:
    """One query token, what it matched, and what that gave; the fields are those of `TokenMatch`."""

    token: str
    span: tuple[int, ...] | None
    probability: float
    gate: float
    matched_token: str
    matched_span: tuple[int, ...] | None
    similarity: float
    contribution: float
    share: float


@dataclass(frozen=True, slots=True)
class ExplainedScore:
    """Why a document has its score; the fields are those of `Explanation`."""

    query: str
    id: str
    text: str
    score: float
    relevance: float
    score_without_gate: float
    relevance_without_gate: float
    satisfies: bool | None
    conditions: tuple[FoundCondition, ...]
    quantities: tuple[FoundQuantity, ...]
    tokens: tuple[ExplainedToken, ...]
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReadText:
    """What the extractor reads in a text."""

    quantities: tuple[FoundQuantity, ...]
    conditions: tuple[FoundCondition, ...]


@dataclass(frozen=True, slots=True)
class StoredDocument:
    id: str
    text: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Added:
    """What became of documents that were sent."""

    ids: tuple[str, ...]
    added: int
    replaced: int


@dataclass(frozen=True, slots=True)
class JobState:
    """Where a job stands."""

    id: str
    state: Literal["waiting", "running", "done", "failed"]
    label: str
    done: int
    total: int | None
    rate: float
    seconds_left: float | None
    result: Mapping[str, Any] | None
    error: Mapping[str, str] | None


def read(kind: type[Answer], answer: Mapping[str, Any]) -> Answer:
    """Build `kind` from JSON. What a newer server adds is left out, what an older one lacks is None."""
    hints = typing.get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: _convert(hints[name], answer.get(name)) for name in names})


def _convert(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        hint = next(option for option in typing.get_args(hint) if option is not type(None))
    if typing.get_origin(hint) is tuple:
        return tuple(_convert(typing.get_args(hint)[0], item) for item in value)
    return read(hint, value) if dataclasses.is_dataclass(hint) and isinstance(hint, type) else value
