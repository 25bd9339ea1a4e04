"""Test collections: BEIR folders (ours included) and the layout of FinQuant and MedQuant."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numcolbert.data.readers.faults import Faults
from numcolbert.data.readers.lines import numbered_lines
from numcolbert.errors import InputError, NotFoundError
from numcolbert.files import require_file, require_folder
from numcolbert.types import Document

if TYPE_CHECKING:
    from numcolbert.data.corpora import Reader

Qrels = dict[str, dict[str, int]]

FINQUANT_SUBSETS = ("equal", "greater", "less", "expanded", "in_training", "not_training")


@dataclass(slots=True)
class Benchmark:
    name: str
    corpus: Reader
    """Streams the collection; `documents()` adds titles."""
    queries: dict[str, str]
    qrels: Qrels
    subsets: dict[str, Qrels] = field(default_factory=dict)
    attributes: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Per query: concept, operator, value, unit and the like, where the layout has them."""

    def documents(self) -> Iterator[Document]:
        """The collection, with the title before the text where there is one, as BEIR scores it."""
        for document in self.corpus:
            title = document.metadata.get("title")
            if title:
                yield Document(document.id, f"{title} {document.text}", document.metadata)
            else:
                yield document


def read_benchmark(folder: Path | str) -> Benchmark:
    """Open a test collection: corpus, queries, relevance judgements and their subsets."""
    folder = Path(folder)
    require_folder(folder, "folder")
    if (folder / "queries.tsv").is_file() and not (folder / "queries.jsonl").is_file():
        return _finquant(folder)
    return _beir(folder)


def read_qrels(path: Path) -> Qrels:
    """TREC (`qid 0 doc grade`), BEIR (three columns and a header) or JSON ({qid: {doc: grade}})."""
    if path.suffix == ".json":
        return _json_qrels(path)
    qrels: Qrels = {}
    for number, line in numbered_lines(path, Faults(path, skip=False)):
        cells = line.split()
        if not cells or (number == 1 and cells[0] in ("query-id", "query_id", "qid")):
            continue
        try:
            query, document, grade = (cells[0], cells[2], cells[3]) if len(cells) == 4 else cells
            qrels.setdefault(query, {})[document] = int(float(grade))
        except ValueError as error:
            raise InputError(
                f"Line {number} of '{path}' is not a relevance judgement.",
                hint="write 'query 0 document grade' on each line",
            ) from error
    return qrels


def _json_qrels(path: Path) -> Qrels:
    loaded = _load_json(path)
    try:
        return {str(q): {str(d): int(grade) for d, grade in docs.items()} for q, docs in loaded.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(
            f"'{path}' does not hold relevance judgements.", hint="it should be {query: {document: grade}}"
        ) from error


def _load_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"'{path}' is not valid JSON: {error}.", hint="fetch or write it again") from error


def _beir(folder: Path) -> Benchmark:
    from numcolbert.data.corpora import read

    queries_file = folder / "queries.jsonl"
    if not queries_file.is_file():
        raise NotFoundError(
            f"'{folder}' is not a benchmark: it has no queries.jsonl and no queries.tsv.",
            hint="a BEIR folder has corpus.jsonl, queries.jsonl and qrels/test.tsv",
        )
    candidates = [folder / "qrels.trec", folder / "qrels" / "test.tsv", folder / "qrels" / "test.trec"]
    qrels_file = next((path for path in candidates if path.is_file()), None)
    if qrels_file is None:
        raise NotFoundError(
            f"'{folder}' has no relevance judgements.", hint="put them into qrels.trec or qrels/test.tsv"
        )
    corpus_folder = next((f for f in (folder, *folder.parents[:2]) if (f / "corpus.jsonl").is_file()), folder)
    attributes_file = folder / "attributes.json"
    return Benchmark(
        name=folder.name,
        corpus=read(corpus_folder),
        queries={document.id: document.text for document in read(queries_file)},
        qrels=read_qrels(qrels_file),
        subsets={
            path.stem: read_qrels(path) for path in sorted(folder.glob("qrels/*.trec")) if path.stem != "test"
        },
        attributes=_load_json(attributes_file) if attributes_file.is_file() else {},
    )


def _finquant(folder: Path) -> Benchmark:
    """queries.tsv with one row a query, a sentence collection as CSV, qrels as JSON, subset qrels beside."""
    from numcolbert.data.corpora import read

    collections = sorted(folder.glob("*.csv"))
    if len(collections) != 1:
        found = ", ".join(repr(path.name) for path in collections) or "none"
        raise NotFoundError(
            f"'{folder}' should hold one sentence collection as CSV; it has {found}.",
            hint="keep only the collection's .csv in the folder",
        )
    text_field, id_field = _collection_columns(collections[0])
    queries, attributes = _finquant_queries(folder / "queries.tsv")
    complete, subsets = _finquant_qrels(folder)
    return Benchmark(
        name=folder.name,
        corpus=read(collections[0], text_field=text_field, id_field=id_field),
        queries=queries,
        qrels=complete,
        subsets=subsets,
        attributes=attributes,
    )


def _header(path: Path, separator: str) -> list[str]:
    require_file(path, "file")
    _, line = next(numbered_lines(path, Faults(path, skip=False)), (1, ""))
    return next(csv.reader([line], delimiter=separator), [])


def _collection_columns(path: Path) -> tuple[str, str]:
    """Which columns of the collection hold the sentence and its id; an unnamed first column is an id too."""
    header = _header(path, ",")
    text = next((name for name in ("sentence", "text", "sentences", "content") if name in header), None)
    if text is None:
        raise InputError(
            f"The header of '{path}' (line 1) has no column 'sentence'; "
            f"it has {', '.join(map(repr, header))}.",
            hint="rename the column that holds the sentences to 'sentence'",
        )
    names = ("id", "doc_id", "docid", "sentence_id", "")
    return text, next((name for name in names if name in header), "id")


def _finquant_queries(path: Path) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    from numcolbert.data.corpora import read

    operators = {"equal": "=", "greater": ">", "less": "<", "bigger": ">", "smaller": "<"}
    id_field = next((name for name in ("qid", "query_id", "id") if name in _header(path, "\t")), None)
    queries: dict[str, str] = {}
    attributes: dict[str, dict[str, Any]] = {}
    for position, row in enumerate(read(path, text_field="query_text", id_field=id_field or "id")):
        query = row.id if id_field else str(position)
        condition = str(row.metadata.get("condition", ""))
        queries[query] = row.text
        attributes[query] = {
            "concept": row.metadata.get("keywords", ""),
            "operator": operators.get(condition, condition),
            "unit": row.metadata.get("unit", ""),
            "value": row.metadata.get("value", ""),
        }
    return queries, attributes


def _finquant_qrels(folder: Path) -> tuple[Qrels, dict[str, Qrels]]:
    files = sorted(folder.rglob("*.json"))
    named = {name: path for name in FINQUANT_SUBSETS for path in files if name in path.stem.lower()}
    # "not_training" and "in_training" end alike, so the longest name that fits a file owns it.
    subsets = {
        name: path
        for name, path in named.items()
        if not any(len(other) > len(name) and named[other] == path for other in named)
    }
    rest = [path for path in files if path not in subsets.values()]
    complete = next((path for path in rest if "complete" in path.stem.lower()), None)
    if complete is None:
        complete = next((path for path in rest if "qrel" in path.stem.lower()), None)
    if complete is None:
        raise NotFoundError(
            f"'{folder}' has no relevance judgements.", hint="put them into qrels_complete.json"
        )
    return read_qrels(complete), {name: read_qrels(path) for name, path in sorted(subsets.items())}
