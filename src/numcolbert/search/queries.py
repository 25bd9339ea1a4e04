"""A query before it meets an engine: checked, encoded, gated or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from numcolbert.errors import InputError
from numcolbert.index.encoding import TextEncoder
from numcolbert.index.inputs import is_unicode
from numcolbert.types import QueryEncoding

LONGEST = 10_000
"""Characters. An encoder looks at a few hundred tokens at most; what is longer is a mistake."""


@dataclass(frozen=True, slots=True)
class Query:
    encoding: QueryEncoding
    vectors: NDArray[np.float32]  # [tokens, dim], as they are scored
    highest: float
    """What a passage would score that held every query token itself."""

    def relevance(self, score: float) -> float:
        return min(1.0, max(0.0, score / self.highest))


def prepare(encoder: TextEncoder, query: str | QueryEncoding, *, gate: bool = True) -> Query:
    check_query(query.text if isinstance(query, QueryEncoding) else query)
    encoding = query if isinstance(query, QueryEncoding) else encoder.encode_queries([query])[0]
    if gate:
        return Query(encoding, encoding.vectors, float(encoding.gates.sum()))
    return Query(encoding, encoding.ungated(), float(len(encoding.gates)))


def check_query(text: str) -> None:
    if not isinstance(text, str):
        raise InputError(f"The query is of type {type(text).__name__}.", hint="hand in a text")
    if not text.strip():
        raise InputError("The query is empty.", hint="ask for something, such as 'SSDs above 500 GB'")
    if len(text) > LONGEST:
        raise InputError(
            f"The query has {len(text):,} characters.",
            hint=f"ask in a sentence, at most {LONGEST:,} characters",
        )
    if not is_unicode(text):
        raise InputError("The query holds bytes that are not valid text.", hint="type it as UTF-8")
