"""Which documents of a large corpus go into a pool."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from numcolbert.data.corpora import Reader
from numcolbert.types import Document

# Cheap signs of a quantity with a unit; the real extractor runs on the chosen documents only.
_MEASURED = re.compile(
    r"\d\s?(?:%|[a-zµμ°]{1,3}(?:/[a-z]+)?\b|(?:year|month|week|day|hour|minute|patient)s?\b)|[$£€]\s?\d"
)


def document_key(reader: Reader, document: Document) -> str:
    """Sentences of one document share a key."""
    return f"{reader.path.name}\t{document.metadata.get('doc', document.id)}"


def choose(readers: Sequence[Reader], limit: int, seed: int, lengths: tuple[int, int]) -> set[str]:
    """Draw documents without replacement until they hold `limit` sentences.

    The chance of a document grows with the square of the share of its sentences that hold a quantity; the
    draw is the usual one with exponential keys, so the same seed gives the same documents in any order.
    """
    sentences: dict[str, int] = {}
    measured: dict[str, int] = {}
    for reader in readers:
        for document in reader:
            text = document.text.strip()
            if not lengths[0] <= len(text) <= lengths[1]:
                continue
            key = document_key(reader, document)
            sentences[key] = sentences.get(key, 0) + 1
            measured[key] = measured.get(key, 0) + bool(_MEASURED.search(text))
    keyed = []
    for key in sorted(sentences):
        weight = max(measured[key] / sentences[key], 1e-3) ** 2
        keyed.append((random.Random(f"{seed}\t{key}").random() ** (1 / weight), key))
    chosen: set[str] = set()
    total = 0
    for _, key in sorted(keyed, reverse=True):
        if total >= limit:
            break
        chosen.add(key)
        total += sentences[key]
    return chosen
