"""The library in two names: `NumColBERT` encodes and builds, `Index` searches and changes.

model = NumColBERT.load()
index = model.index(["The SSD holds 1 TB.", "The SSD holds 256 GB."], "idx")
index.search("SSDs with more than 500 GB")

with numcolbert.open("idx") as index: ...
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from numcolbert.errors import ModelError, UsageError
from numcolbert.index.collection import AddReport, Collection
from numcolbert.index.encoding import TextEncoder, require_batch
from numcolbert.index.inputs import DocumentLike, as_document, as_id, as_path, several
from numcolbert.progress import track
from numcolbert.search.explain import explain, explain_text
from numcolbert.search.filters import filter_for
from numcolbert.search.queries import check_query
from numcolbert.search.rerank import rerank
from numcolbert.search.results import Explanation, Results
from numcolbert.search.searcher import search
from numcolbert.types import Document, DocumentEncoding, Hit, QueryEncoding

__all__ = ["AddReport", "Explanation", "Hit", "Index", "NumColBERT", "Results", "open"]


class NumColBERT:
    """An encoder with everything that needs no index: encoding, reranking, building."""

    def __init__(self, encoder: TextEncoder) -> None:
        self.encoder = encoder

    @classmethod
    def load(cls, model: str | Path | None = None) -> NumColBERT:
        """The shipped model, or the one in a folder or under a model id."""
        from numcolbert.model.encoder import Encoder

        if model is not None:
            as_path(model)  # refuses what is none; the name stays as it was given
        return cls(Encoder.load(model))

    def encode_queries(self, texts: Sequence[str]) -> list[QueryEncoding]:
        return self.encoder.encode_queries(list(several(texts, "queries")))

    def encode_documents(self, texts: Sequence[str], batch_size: int = 32) -> list[DocumentEncoding]:
        require_batch(batch_size)
        return self.encoder.encode_documents(list(several(texts, "texts")), batch_size=batch_size)

    def index(
        self,
        documents: Iterable[DocumentLike],
        path: str | Path,
        *,
        engine: str = "auto",
        overwrite: bool = False,
        skip_bad: bool = False,
        batch_size: int = 32,
        **settings: Any,
    ) -> Index:
        """Build an index of `documents` in the folder `path` and open it.

        A text without an id is known by its position: "0", "1", and so on. `settings` go to the engine
        (`nbits=4`). For files, and for builds that can be interrupted and resumed, see `index.build`.
        """
        from numcolbert.index.build import build

        folder = as_path(path)
        build(
            several(documents, "documents"),
            folder,
            self.encoder,
            engine=engine,
            settings=settings,
            overwrite=overwrite,
            skip_bad=skip_bad,
            batch_size=batch_size,
        )
        return Index(Collection.open(folder), self.encoder)

    def rerank(
        self,
        query: str | QueryEncoding,
        passages: Iterable[DocumentLike],
        *,
        k: int | None = None,
        verify: bool = False,
        gate: bool = True,
    ) -> Results:
        """Score `passages` for `query` without an index, best first."""
        return rerank(self.encoder, query, passages, k=k, verify=verify, gate=gate)

    def explain(self, query: str | QueryEncoding, passage: DocumentLike) -> Explanation:
        """Why a passage at hand has the score it has for `query`."""
        return explain_text(self.encoder, query, as_document(passage, "0"))


class Index:
    """A collection on disk together with the encoder it was built with.

    Searching is safe from many threads. Writing takes the collection's lock for the length of the call; a
    second writer gets a `ConflictError`. Other processes see a change after `refresh` or on their next open.
    """

    def __init__(self, collection: Collection, encoder: TextEncoder) -> None:
        collection.require_model(encoder)
        self.collection = collection
        self.encoder = encoder

    @property
    def path(self) -> Path:
        return self.collection.path

    def search(
        self,
        query: str | QueryEncoding,
        k: int = 10,
        *,
        where: str | None = None,
        verify: bool = False,
        gate: bool = True,
    ) -> Results:
        """The best `k` passages for `query`.

        where: keep passages whose metadata or quantities fit, before scoring: "year >= 2020 and price < 500".
        verify: keep hits whose quantities satisfy the query's condition, after scoring.
        gate: False scores as plain ColBERT would.
        """
        return search(self.collection, self.encoder, query, k, where=where, verify=verify, gate=gate)

    def search_many(
        self,
        queries: Sequence[str],
        k: int = 10,
        *,
        where: str | None = None,
        verify: bool = False,
        gate: bool = True,
    ) -> list[Results]:
        """`search` for each of many queries, which are encoded together."""
        wanted = list(several(queries, "queries"))  # once: a generator is empty the second time
        for query in wanted:
            check_query(query)
        encodings = self.encoder.encode_queries(wanted) if wanted else []
        return [
            self.search(encoding, k, where=where, verify=verify, gate=gate)
            for encoding in track(encodings, "search", unit="queries")
        ]

    def explain(self, query: str | QueryEncoding, id: str) -> Explanation:
        """Why the document `id` has the score it has for `query`."""
        return explain(self.collection, self.encoder, query, as_id(id))

    def add(
        self, documents: Iterable[DocumentLike], *, batch_size: int = 32, skip_bad: bool = False
    ) -> AddReport:
        """Add documents; one whose id is already there replaces it."""
        return self.collection.add(
            several(documents, "documents"), self.encoder, batch_size=batch_size, skip_bad=skip_bad
        )

    def delete(self, ids: Iterable[str], *, ignore_missing: bool = False) -> int:
        """Delete documents by id and return how many there were. An unknown id deletes nothing at all."""
        wanted = [as_id(id) for id in several(ids, "ids")]
        return self.collection.delete(wanted, ignore_missing=ignore_missing)

    def compact(self) -> None:
        """Give back the space of deleted and replaced documents."""
        self.collection.compact()

    def get(self, id: str) -> Document:
        return self.collection.get(as_id(id))

    def count(self, where: str | None = None) -> int:
        """How many documents there are, or how many fit a filter."""
        if where is None:
            return len(self.collection)
        view = self.collection.view
        return len(view.select(filter_for(view, where)))

    def fields(self) -> set[str]:
        """The metadata fields that a filter may name."""
        return self.collection.view.store.fields()

    def documents(self) -> Iterator[Document]:
        return self.collection.documents()

    def info(self) -> dict[str, Any]:
        """Model, engine, settings, counts and sizes."""
        return self.collection.info()

    def verify(self) -> list[str]:
        """What is wrong with the files, a sentence each; empty when all is well."""
        return self.collection.verify()

    def export(
        self, target: str | Path, *, format: str | None = None, vectors: bool = True, overwrite: bool = False
    ) -> int:
        """Write the documents to a file (`.parquet` with vectors, `.jsonl`, `.trec`); returns how many."""
        from numcolbert.index.export import export

        return export(self.collection, as_path(target), format=format, vectors=vectors, overwrite=overwrite)

    def copy(
        self, path: str | Path, *, engine: str = "auto", overwrite: bool = False, **settings: Any
    ) -> Index:
        """The same documents and vectors in a new index at `path`, with another engine; nothing is encoded.

        The vectors are taken as this engine holds them: exact from `flat`, rounded from `plaid`.
        """
        from numcolbert.index.copy import copy

        folder = as_path(path)
        copy(self.collection, folder, engine=engine, settings=settings, overwrite=overwrite)
        return Index(Collection.open(folder), self.encoder)

    def refresh(self) -> bool:
        """See what other processes have written since; True when there was something."""
        return self.collection.refresh()

    def close(self) -> None:
        self.collection.close()

    def __len__(self) -> int:
        return len(self.collection)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self.collection.has(id)

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open(path: str | Path, *, model: str | Path | TextEncoder | None = None) -> Index:
    """Open an index with the model it was built with, or with `model` where that has moved."""
    collection = Collection.open(as_path(path))
    try:
        return Index(collection, _encoder_for(collection, model))
    except BaseException:
        collection.close()
        raise


def _encoder_for(collection: Collection, model: str | Path | TextEncoder | None) -> TextEncoder:
    if model is not None:
        if isinstance(model, str | Path):
            return NumColBERT.load(model).encoder
        if not hasattr(model, "encode_queries"):
            raise UsageError(
                f"A model is of type {type(model).__name__}.",
                hint="hand in its folder, its name or an encoder",
            )
        return model
    try:
        return NumColBERT.load(collection.model_name).encoder
    except ModelError as error:
        raise ModelError(
            f"The model that the index '{collection.path}' was built with cannot be opened: {error.message}",
            hint="name the place where it lies now with --model",
        ) from error
