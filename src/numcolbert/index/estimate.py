"""How large an index will be and how long it will take, before it is built."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numcolbert.errors import StorageError
from numcolbert.index.encoding import TextEncoder, encode_vectors
from numcolbert.index.engines import choose_engine
from numcolbert.progress import track
from numcolbert.types import Document

SAMPLE = 64
STORE_BYTES_A_CHARACTER = 1.5
STORE_BYTES_A_DOCUMENT = 200


@dataclass(slots=True)
class Survey:
    """What one look at all documents tells."""

    documents: int = 0
    characters: int = 0
    sample: list[str] = field(default_factory=list)
    """Texts taken evenly from the whole input."""

    @classmethod
    def of(cls, documents: Iterable[Document]) -> Survey:
        found, stride = cls(), 1
        for document in track(documents, "read", unit="documents"):
            if found.documents % stride == 0:
                if len(found.sample) == 2 * SAMPLE:  # thin out: keep every second, look half as often
                    found.sample = found.sample[::2]
                    stride *= 2
                if found.documents % stride == 0:
                    found.sample.append(document.text)
            found.documents += 1
            found.characters += len(document.text)
        return found


@dataclass(frozen=True, slots=True)
class Estimate:
    documents: int
    vectors: int
    engine: str
    bytes: int
    """Of the finished index."""
    bytes_while_building: int
    seconds: float

    def require_space(self, folder: Path) -> None:
        free = shutil.disk_usage(folder).free
        if free < self.bytes_while_building:
            raise StorageError(
                f"Building needs about {megabytes(self.bytes_while_building)} beside '{folder}', "
                f"and {megabytes(free)} are free.",
                hint="free some space or choose a folder on another disk",
            )


def estimate(
    survey: Survey, encoder: TextEncoder, engine: str, settings: Mapping[str, Any], batch_size: int
) -> Estimate:
    """From encoding a sample, scaled by the number of characters."""
    sample = survey.sample[:SAMPLE]
    begin = time.monotonic()
    lengths = [len(vectors) for vectors in encode_vectors(encoder, sample, batch_size)] if sample else []
    elapsed = time.monotonic() - begin
    scale = survey.characters / max(1, sum(map(len, sample)))
    vectors = round(sum(lengths) * scale)
    kind = choose_engine(engine, survey.documents)
    exact = vectors * encoder.dim * 2
    bits = int(settings.get("nbits", 4))
    coded = exact if kind == "flat" else round(vectors * (encoder.dim * bits / 8 + 8))
    store = round(survey.characters * STORE_BYTES_A_CHARACTER + survey.documents * STORE_BYTES_A_DOCUMENT)
    peak = store + exact + (0 if kind == "flat" else coded)
    return Estimate(survey.documents, vectors, kind, store + coded, peak, elapsed * scale)


def megabytes(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"
