"""Why a passage has its score: token by token, with and without the gate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numcolbert.index.collection import Collection
from numcolbert.index.encoding import TextEncoder
from numcolbert.search.judge import conditions_of, judge, satisfied
from numcolbert.search.queries import Query, prepare
from numcolbert.search.results import Explanation, TokenMatch
from numcolbert.types import Document, DocumentEncoding, Quantity, QueryEncoding


def explain(collection: Collection, encoder: TextEncoder, query: str | QueryEncoding, id: str) -> Explanation:
    """For a document of an index, with the vectors the index holds."""
    view = collection.view
    prepared = prepare(encoder, query)
    stored = collection.stored(id)
    passage = encoder.encode_documents([stored.document.text])[0]
    similarities = view.engine.token_scores(prepared.encoding.ungated(), stored.key)
    if similarities.shape[1] != len(passage.tokens):
        # Tokens and stored vectors do not pair up; the fresh vectors do, at the cost of quantisation error.
        similarities = prepared.encoding.ungated() @ passage.vectors.T
    return _explanation(prepared, stored.document, stored.quantities, passage, similarities)


def explain_text(encoder: TextEncoder, query: str | QueryEncoding, document: Document) -> Explanation:
    """For a passage at hand."""
    from numcolbert.quantities import extract

    prepared = prepare(encoder, query)
    passage = encoder.encode_documents([document.text])[0]
    similarities = prepared.encoding.ungated() @ passage.vectors.T
    return _explanation(prepared, document, tuple(extract(document.text)), passage, similarities)


def _explanation(
    query: Query,
    document: Document,
    quantities: tuple[Quantity, ...],
    passage: DocumentEncoding,
    similarities: NDArray[np.float32],  # [query tokens, passage tokens], without the gate
) -> Explanation:
    encoding = query.encoding
    best = similarities.argmax(axis=1)
    plain = similarities[np.arange(len(best)), best]
    contributions = plain * encoding.gates
    score, score_without_gate = float(contributions.sum()), float(plain.sum())
    tokens = tuple(
        TokenMatch(
            token=token,
            span=encoding.spans[i],
            probability=float(encoding.probabilities[i]),
            gate=float(encoding.gates[i]),
            matched_token=passage.tokens[best[i]],
            matched_span=passage.spans[best[i]],
            similarity=float(plain[i]),
            contribution=float(contributions[i]),
            share=float(contributions[i]) / score if score else 0.0,
        )
        for i, token in enumerate(encoding.tokens)
    )
    conditions = conditions_of(encoding.text)
    return Explanation(
        query=encoding.text,
        id=document.id,
        text=document.text,
        score=score,
        relevance=query.relevance(score),
        score_without_gate=score_without_gate,
        relevance_without_gate=min(1.0, max(0.0, score_without_gate / len(plain))),
        tokens=tokens,
        conditions=conditions,
        quantities=tuple(judge(document.text, quantities, conditions)),
        satisfies=satisfied(document.text, quantities, conditions),
        metadata=document.metadata,
    )
