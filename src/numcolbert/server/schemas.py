"""What goes over the wire. Every shape the API speaks is declared here, with an example."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from numcolbert.api import Explanation, Results
from numcolbert.search.results import JudgedQuantity
from numcolbert.types import Condition, Document, Hit, Quantity

MAX_HITS = 1000
MAX_DOCUMENTS = 1000


class Wire(BaseModel):
    """Unknown fields are refused: a misspelt option must not be ignored silently."""

    model_config = ConfigDict(extra="forbid")


class SearchRequest(Wire):
    query: str = Field(description="What to look for.", examples=["mountains higher than 8,000 metres"])
    k: int = Field(10, ge=1, le=MAX_HITS, description="How many hits.")
    where: str | None = Field(
        None, description="A filter, applied before scoring.", examples=["kind = 'mountains'"]
    )
    verify: bool = Field(False, description="Keep only hits whose quantities satisfy the query's condition.")
    gate: bool = Field(True, description="False scores as plain ColBERT would, to see the difference.")


class ExplainRequest(Wire):
    query: str = Field(examples=["mountains higher than 8,000 metres"])
    id: str = Field(description="The document to explain.", examples=["mountains-1"])


class DocumentIn(Wire):
    id: str | None = Field(None, description="Made up where left out; a known id replaces its document.")
    text: str = Field(examples=["The SSD holds 1 TB."])
    metadata: dict[str, Any] = Field(default_factory=dict, examples=[{"year": 2024}])


class DocumentsRequest(Wire):
    documents: list[DocumentIn] = Field(min_length=1)


class QuantitiesRequest(Wire):
    text: str = Field(examples=["revenue between 5 and 7 million dollars"])


class QuantityOut(Wire):
    text: str = Field(description="As it stands in the text.", examples=["8,849 metres"])
    value: float
    unit: str | None
    dimension: str
    base_value: float
    span: tuple[int, int]
    low: float | None = None
    high: float | None = None
    base_low: float | None = None
    base_high: float | None = None
    approximate: bool = False
    satisfies: bool | None = Field(None, description="Whether it satisfies the query's condition.")

    @classmethod
    def of(cls, quantity: Quantity, text: str, satisfies: bool | None = None) -> QuantityOut:
        start, end = quantity.span
        return cls(
            text=text[start:end],
            value=quantity.value,
            unit=quantity.unit,
            dimension=quantity.dimension,
            base_value=quantity.base_value,
            span=quantity.span,
            low=quantity.low,
            high=quantity.high,
            base_low=quantity.base_low,
            base_high=quantity.base_high,
            approximate=quantity.approximate,
            satisfies=satisfies,
        )


class ConditionOut(Wire):
    operator: Literal["=", ">", "<", ">=", "<=", "range"]
    span: tuple[int, int]
    quantity: QuantityOut

    @classmethod
    def of(cls, condition: Condition, query: str) -> ConditionOut:
        return cls(
            operator=condition.operator,
            span=condition.span,
            quantity=QuantityOut.of(condition.quantity, query),
        )


class HitOut(Wire):
    id: str
    text: str
    score: float
    relevance: float = Field(description="Score over the highest possible score for this query, 0 to 1.")
    metadata: dict[str, Any]
    quantities: list[QuantityOut]
    satisfies: bool | None

    @classmethod
    def of(cls, hit: Hit, judged: list[JudgedQuantity]) -> HitOut:
        return cls(
            id=hit.id,
            text=hit.text,
            score=hit.score,
            relevance=hit.relevance,
            metadata=dict(hit.metadata),
            quantities=[QuantityOut.of(j.quantity, hit.text, j.satisfies) for j in judged],
            satisfies=hit.satisfies,
        )


class SearchResponse(Wire):
    query: str
    conditions: list[ConditionOut]
    hits: list[HitOut]
    dropped: int = Field(description="Better-ranked passages that `verify` removed.")
    seconds: float


class TokenOut(Wire):
    token: str
    span: tuple[int, int] | None
    probability: float
    gate: float
    matched_token: str
    matched_span: tuple[int, int] | None
    similarity: float
    contribution: float
    share: float


class ExplainResponse(Wire):
    query: str
    id: str
    text: str
    score: float
    relevance: float
    score_without_gate: float
    relevance_without_gate: float
    satisfies: bool | None
    conditions: list[ConditionOut]
    quantities: list[QuantityOut]
    tokens: list[TokenOut]
    metadata: dict[str, Any]

    @classmethod
    def of(cls, explanation: Explanation) -> ExplainResponse:
        e = explanation
        return cls(
            query=e.query,
            id=e.id,
            text=e.text,
            score=e.score,
            relevance=e.relevance,
            score_without_gate=e.score_without_gate,
            relevance_without_gate=e.relevance_without_gate,
            satisfies=e.satisfies,
            conditions=[ConditionOut.of(condition, e.query) for condition in e.conditions],
            quantities=[QuantityOut.of(j.quantity, e.text, j.satisfies) for j in e.quantities],
            tokens=[
                TokenOut(
                    token=t.token,
                    span=t.span,
                    probability=t.probability,
                    gate=t.gate,
                    matched_token=t.matched_token,
                    matched_span=t.matched_span,
                    similarity=t.similarity,
                    contribution=t.contribution,
                    share=t.share,
                )
                for t in e.tokens
            ],
            metadata=dict(e.metadata),
        )


class QuantitiesResponse(Wire):
    quantities: list[QuantityOut]
    conditions: list[ConditionOut]


class DocumentOut(Wire):
    id: str
    text: str
    metadata: dict[str, Any]

    @classmethod
    def of(cls, document: Document) -> DocumentOut:
        return cls(id=document.id, text=document.text, metadata=dict(document.metadata))


class AddResponse(Wire):
    ids: list[str]
    added: int
    replaced: int


class DeleteResponse(Wire):
    deleted: int


class JobOut(Wire):
    id: str
    state: Literal["waiting", "running", "done", "failed"]
    label: str
    done: int
    total: int | None
    rate: float
    seconds_left: float | None
    result: dict[str, Any] | None = None
    error: dict[str, str] | None = None


class ErrorOut(Wire):
    code: str = Field(examples=["not_found"])
    message: str = Field(examples=["There is no document 'x' in this index."])
    hint: str = Field(examples=["check the id"])


def search_response(results: Results, judged: list[list[JudgedQuantity]]) -> SearchResponse:
    return SearchResponse(
        query=results.query,
        conditions=[ConditionOut.of(condition, results.query) for condition in results.conditions],
        hits=[HitOut.of(hit, marks) for hit, marks in zip(results, judged, strict=True)],
        dropped=results.dropped,
        seconds=results.seconds,
    )
