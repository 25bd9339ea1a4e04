"""Scoring passages at hand, without an index."""

from __future__ import annotations

import time
from collections.abc import Iterable

from numcolbert.index.checks import checked_k
from numcolbert.index.encoding import TextEncoder, encoded_windows
from numcolbert.index.inputs import DocumentLike, as_document, several
from numcolbert.progress import Progress
from numcolbert.search.judge import conditions_of, satisfied
from numcolbert.search.queries import prepare
from numcolbert.search.results import Results
from numcolbert.types import Hit, QueryEncoding


def rerank(
    encoder: TextEncoder,
    query: str | QueryEncoding,
    passages: Iterable[DocumentLike],
    *,
    k: int | None = None,
    verify: bool = False,
    gate: bool = True,
    batch_size: int = 32,
) -> Results:
    """All passages, or the best `k`, best first; equal scores in the order given."""
    from numcolbert.quantities import extract

    if k is not None:
        checked_k(k)
    begin = time.perf_counter()
    prepared = prepare(encoder, query, gate=gate)
    conditions = conditions_of(prepared.encoding.text)
    documents = (
        as_document(item, str(position)) for position, item in enumerate(several(passages, "passages"))
    )
    hits: list[Hit] = []
    with Progress("rerank", unit="passages") as progress:
        for window, vectors in encoded_windows(encoder, documents, batch_size):
            for document, tokens in zip(window, vectors, strict=True):
                score = float((prepared.vectors @ tokens.T).max(axis=1).sum())
                quantities = tuple(extract(document.text))
                hits.append(
                    Hit(
                        id=document.id,
                        text=document.text,
                        score=score,
                        relevance=prepared.relevance(score),
                        metadata=document.metadata,
                        quantities=quantities,
                        satisfies=satisfied(document.text, quantities, conditions),
                    )
                )
            progress.advance(len(window))
    hits.sort(key=lambda hit: -hit.score)
    kept = [hit for hit in hits if hit.satisfies] if verify and conditions else hits
    return Results(
        prepared.encoding.text,
        tuple(kept[:k]),
        conditions,
        len(hits) - len(kept),
        round(time.perf_counter() - begin, 6),
    )
