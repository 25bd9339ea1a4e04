"""The vectors that `numcolbert bench engines` measures with: encoded once, kept in the cache folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from numcolbert.errors import InputError, UsageError
from numcolbert.files import cache_folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from numcolbert.evaluate.trec import Qrels
    from numcolbert.model.encoder import Encoder

CUT_QUERIES = 300
"""Queries cut from a corpus that has none of its own."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The queries of a benchmark, and which places of the set of vectors are relevant to them."""

    queries: tuple[str, ...]  # ids
    texts: tuple[str, ...]
    qrels: Qrels  # query id -> place, as text -> grade

    def first(self, count: int) -> Judged:
        """The first `count` queries alone."""
        asked = self.queries[:count]
        return Judged(
            asked, self.texts[:count], {query: self.qrels[query] for query in asked if query in self.qrels}
        )

    def ndcg(self, found: Sequence[Sequence[int]]) -> float:
        """nDCG@10 of the first places found for each query, in order."""
        from numcolbert.evaluate.measures import measure

        run = {
            query: {str(place): float(-rank) for rank, place in enumerate(places)}
            for query, places in zip(self.queries, found, strict=True)
        }
        return measure(run, self.qrels, ["nDCG@10"]).means()["nDCG@10"]


def from_corpus(corpus: Path, model: str | None, count: int) -> Path:
    """A folder with `count` documents; queries are the beginnings of documents that are held out."""
    from numcolbert.data.corpora import read
    from numcolbert.model.encoder import Encoder

    encoder = Encoder.load(model)
    folder = _cache(corpus, encoder, count)
    if folder.is_dir():
        return folder
    texts = [document.text for document in islice(read(corpus), count + CUT_QUERIES)]
    if len(texts) < count + CUT_QUERIES:
        raise InputError(
            f"'{corpus}' holds {len(texts):,} documents; {count:,} passages are asked for, and "
            f"{CUT_QUERIES} more documents to cut queries from.",
            hint="ask for fewer with --passages, name a larger corpus, or add sizes with --synthetic",
        )
    step = len(texts) // CUT_QUERIES  # from all over the corpus
    asked = [" ".join(text.split()[:18]) for text in texts[::step][:CUT_QUERIES]]
    held_out = set(range(0, step * CUT_QUERIES, step))
    stored = [text for at, text in enumerate(texts) if at not in held_out][:count]
    _encode(encoder, stored, asked, folder)
    return folder


def from_benchmark(benchmark: Path, model: str | None, count: int) -> tuple[Path, Judged]:
    """A folder with the benchmark's queries and `count` of its documents, all judged ones first."""
    from numcolbert.data.corpora import read
    from numcolbert.evaluate.trec import read_qrels
    from numcolbert.files import require_file
    from numcolbert.model.encoder import Encoder

    asked = {query.id: query.text for query in read(require_file(benchmark / "queries.jsonl", "file"))}
    qrels = read_qrels(require_file(benchmark / "qrels.trec", "file"), queries=asked)
    judged = {document: None for of_query in qrels.values() for document in of_query}
    if count < len(judged):
        raise UsageError(
            f"'{benchmark}' has {len(judged):,} judged documents, {count:,} passages are asked for.",
            hint=f"ask for at least --passages {len(judged)}",
        )
    corpus = benchmark / "corpus.jsonl"
    texts = {document.id: document.text for document in read(corpus)}
    if not judged.keys() <= texts.keys() or len(texts) < count:
        raise InputError(
            f"'{corpus}' holds {len(texts):,} documents; asked for are {count:,}, with all judged ones.",
            hint="ask for fewer with --passages; check that corpus and qrels.trec belong together",
        )
    others = [document for document in texts if document not in judged]
    missing = count - len(judged)
    drawn = [others[at * len(others) // missing] for at in range(missing)]  # evenly, from all over the corpus
    stored = [*judged, *drawn]
    encoder = Encoder.load(model)
    folder = _cache(corpus, encoder, count, "judged")
    if not folder.is_dir():
        _encode(encoder, [texts[document] for document in stored], list(asked.values()), folder)
    places = {document: str(place) for place, document in enumerate(stored)}
    placed = {query: {places[d]: grade for d, grade in of.items()} for query, of in qrels.items()}
    return folder, Judged(tuple(asked), tuple(asked.values()), placed)


def imitated(real: Path, count: int) -> Path:
    """A folder with made-up passages in the likeness of those in `real`."""
    from numcolbert.index.bench_vectors import VectorSet, imitate, save

    folder = real.with_name(f"{real.name}-imitated-{count}")
    if not folder.is_dir():
        original = VectorSet.load(real)
        save(folder, imitate(original, count), original.queries, original.gates, total=count)
    return folder


def _cache(corpus: Path, encoder: Encoder, count: int, kind: str = "cut") -> Path:
    source = f"{corpus.resolve()}|{corpus.stat().st_mtime_ns}|{kind}"
    name = hashlib.sha256(source.encode()).hexdigest()[:12]
    return cache_folder() / "bench" / f"{name}-{encoder.fingerprint[:12]}-{count}"


def _encode(encoder: Encoder, stored: list[str], asked: list[str], folder: Path) -> None:
    from numcolbert.index.bench_vectors import save

    questions = encoder.encode_queries(asked)

    def passages() -> Iterator[NDArray[np.float32]]:
        for begin in range(0, len(stored), 256):
            for encoding in encoder.encode_documents(stored[begin : begin + 256]):
                yield encoding.vectors

    queries, gates = [each.ungated() for each in questions], [each.gates for each in questions]
    save(folder, passages(), queries, gates, total=len(stored))
