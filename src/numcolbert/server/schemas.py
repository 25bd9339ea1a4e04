"""What goes over the wire. Every shape the API speaks is declared here, with an example."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from numcolbert.api import Explanation, Results
from numcolbert.quantities import units
from numcolbert.search.describe import base_unit
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
    query: str = Field(
        examples=["mountains higher than 8,000 metres"], description="The query that found it."
    )
    id: str = Field(description="The document to explain.", examples=["mountains-1"])


class DocumentIn(Wire):
    id: str | None = Field(None, description="Made up where left out; a known id replaces its document.")
    text: str = Field(examples=["The SSD holds 1 TB."], description="A passage: a few sentences at most.")
    metadata: dict[str, Any] = Field(
        default_factory=dict, examples=[{"year": 2024}], description="What filters can ask about."
    )


class DocumentsRequest(Wire):
    documents: list[DocumentIn] = Field(
        min_length=1, description="At most 1,000 for /v1/documents, any number for /v1/jobs."
    )


class QuantitiesRequest(Wire):
    text: str = Field(
        examples=["revenue between 5 and 7 million dollars"], description="A passage or a query."
    )


class QuantityOut(Wire):
    text: str = Field(description="As it stands in the text.", examples=["8,849 metres"])
    value: float = Field(description="In its unit, scale words applied; the middle of a range.")
    unit: str | None = Field(description="Canonical name; null for a bare number.")
    dimension: str = Field(description="Quantities of the same dimension can be compared.")
    base_value: float = Field(description="The value in the base unit of its dimension.")
    base_unit: str = Field(description="The name of that base unit; empty for a bare number.")
    span: tuple[int, int] = Field(description="Where it stands: start and end, in code points.")
    low: float | None = Field(None, description="Lower end of a range.")
    high: float | None = Field(None, description="Upper end of a range.")
    base_low: float | None = Field(None, description="Lower end in the base unit.")
    base_high: float | None = Field(None, description="Upper end in the base unit.")
    approximate: bool = Field(False, description="Whether the text says “about”.")
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
            base_unit=base_unit(quantity.dimension),
            span=quantity.span,
            low=quantity.low,
            high=quantity.high,
            base_low=quantity.base_low,
            base_high=quantity.base_high,
            approximate=quantity.approximate,
            satisfies=satisfies,
        )


class ConditionOut(Wire):
    operator: Literal["=", ">", "<", ">=", "<=", "range"] = Field(description="How to compare.")
    text: str = Field(description="As it stands in the query.", examples=["higher than 8,000 metres"])
    span: tuple[int, int] = Field(description="Operator words and threshold in the query.")
    quantity: QuantityOut = Field(description="The threshold.")
    factor: float = Field(description="base_value = factor × value + offset, for the threshold's unit.")
    offset: float = Field(description="Not 0 for temperatures only.")

    @classmethod
    def of(cls, condition: Condition, query: str) -> ConditionOut:
        start, end = condition.span
        factor, offset = _conversion(condition.quantity)
        return cls(
            operator=condition.operator,
            text=query[start:end],
            span=condition.span,
            quantity=QuantityOut.of(condition.quantity, query),
            factor=factor,
            offset=offset,
        )


def _conversion(quantity: Quantity) -> tuple[float, float]:
    """Factor and offset of a quantity's unit, so that a client can show base values in that unit."""
    unit = units.find(quantity.unit) if quantity.unit else None
    if unit is not None:
        return unit.factor, unit.offset
    return (quantity.base_value / quantity.value if quantity.value else 1.0), 0.0


class HitOut(Wire):
    id: str = Field(description="The document.")
    text: str = Field(description="Its text.")
    score: float = Field(description="MaxSim: a sum over query tokens, so it can exceed 1.")
    relevance: float = Field(description="Score over the highest possible score for this query, 0 to 1.")
    metadata: dict[str, Any] = Field(description="As it was added.")
    quantities: list[QuantityOut] = Field(description="What the extractor reads in the text.")
    satisfies: bool | None = Field(
        description="Whether the passage satisfies the condition; null where that has no answer."
    )

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
    query: str = Field(description="As it was sent.")
    conditions: list[ConditionOut] = Field(description="What the query asks of quantities, as understood.")
    hits: list[HitOut] = Field(description="Best first.")
    dropped: int = Field(
        description="Passages that `verify` removed: above the last hit or, with fewer than k, of all it saw."
    )
    seconds: float = Field(description="Time the search took.")


class TokenOut(Wire):
    token: str = Field(description="Of the query.")
    span: tuple[int, int] | None = Field(description="In the query; null for special tokens.")
    probability: float = Field(description="The detector’s belief that it belongs to a quantity.")
    gate: float = Field(description="What its vector was multiplied by.")
    matched_token: str = Field(description="The passage token most like it.")
    matched_span: tuple[int, int] | None = Field(description="In the passage.")
    similarity: float = Field(description="Of the two, without the gate.")
    contribution: float = Field(description="Gate times similarity; all of them add up to the score.")
    share: float = Field(description="Contribution over score.")


class ExplainResponse(Wire):
    query: str = Field(description="As it was sent.")
    id: str = Field(description="The document.")
    text: str = Field(description="Its text.")
    score: float = Field(description="With the gate.")
    relevance: float = Field(description="Score over the highest possible score for this query, 0 to 1.")
    score_without_gate: float = Field(description="What plain ColBERT would give.")
    relevance_without_gate: float = Field(description="The same, 0 to 1.")
    satisfies: bool | None = Field(description="Whether the passage satisfies the condition.")
    conditions: list[ConditionOut] = Field(description="What the query asks of quantities, as understood.")
    quantities: list[QuantityOut] = Field(description="The passage’s quantities, each with its verdict.")
    tokens: list[TokenOut] = Field(description="Every token of the query.")
    metadata: dict[str, Any] = Field(description="As it was added.")

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
    quantities: list[QuantityOut] = Field(description="In order of appearance.")
    conditions: list[ConditionOut] = Field(description="What the text asks if it is a query.")


class DocumentOut(Wire):
    id: str = Field(description="The document.")
    text: str = Field(description="Its text.")
    metadata: dict[str, Any] = Field(description="As it was added.")

    @classmethod
    def of(cls, document: Document) -> DocumentOut:
        return cls(id=document.id, text=document.text, metadata=dict(document.metadata))


class AddResponse(Wire):
    ids: list[str] = Field(description="In the order in which they were sent.")
    added: int = Field(description="Documents that are new.")
    replaced: int = Field(description="Documents whose id was known.")


class DeleteResponse(Wire):
    deleted: int = Field(description="How many.")


class JobOut(Wire):
    id: str = Field(description="To ask about it.")
    state: Literal["waiting", "running", "done", "failed"] = Field(description="Where it stands.")
    label: str = Field(description="What it is doing.")
    done: int = Field(description="Documents finished.")
    total: int | None = Field(description="Documents in all, where known.")
    rate: float = Field(description="Documents a second.")
    seconds_left: float | None = Field(description="At this rate.")
    result: dict[str, Any] | None = Field(default=None, description="Counts, once done.")
    error: dict[str, str] | None = Field(default=None, description="Code, message and hint, once failed.")


class ErrorOut(Wire):
    code: str = Field(examples=["not_found"], description="One of the codes under errors.")
    message: str = Field(
        examples=["There is no document 'x' in this index."], description="One sentence that names the thing."
    )
    hint: str = Field(examples=["check the id"], description="What to do about it.")


def search_response(results: Results, judged: list[list[JudgedQuantity]]) -> SearchResponse:
    return SearchResponse(
        query=results.query,
        conditions=[ConditionOut.of(condition, results.query) for condition in results.conditions],
        hits=[HitOut.of(hit, marks) for hit, marks in zip(results, judged, strict=True)],
        dropped=results.dropped,
        seconds=results.seconds,
    )
