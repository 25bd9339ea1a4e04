"""Benchmark folders as the trainer reads them: text files only, no library beside the standard one.

corpus.jsonl  queries.jsonl  qrels.trec     what is searched, asked and judged
attributes.json                             per query: where its quantity stands, what distracts
qrels/<subset>.trec                         the judgements of some queries only
suites/<name>/, dev/                        folders of the same kind; a suite may share the corpus
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numcolbert.config import read_json
from numcolbert.data.text_rows import read_rows
from numcolbert.errors import InputError, NotFoundError
from numcolbert.files import (
    all_files,
    plain_or_compressed,
    replacing_file,
    require_folder,
    without_compression,
)
from numcolbert.train.trec import QRELS_COLUMNS, Qrels, read_qrels

_OPERATOR_NAMES = {"=": "equal", ">": "greater", "<": "less"}


@dataclass
class Corpus:
    path: Path
    ids: list[str]
    texts: list[str]


@dataclass
class Benchmark:
    name: str
    path: Path
    corpus_path: Path
    query_ids: list[str]
    query_texts: list[str]
    qrels: Qrels
    subsets: dict[str, Qrels] = field(default_factory=dict)
    attributes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def condition_spans(self, query: str) -> list[tuple[int, int]]:
        """Characters of the quantities that carry the query's conditions; none where that is not known."""
        known = self.attributes.get(query, {})
        return [(c["span"][0], c["span"][1]) for c in known.get("conditions", [known]) if c.get("span")]


def read_benchmark(folder: Path, name: str | None = None) -> Benchmark:
    """Queries and judgements; the corpus is read by `read_corpus`, for it may be shared."""
    require_folder(folder, "benchmark folder", hint="build it with 'numcolbert data benchmark'")
    rows = read_questions(folder)
    judgements = _find(folder, "qrels.trec")
    qrels = read_qrels(judgements)
    if not qrels:  # every mean over no queries would be zero
        raise InputError(f"'{judgements}' is empty.", hint=f"write lines '{QRELS_COLUMNS}'")
    subsets = {
        without_compression(path).stem: read_qrels(path) for path in all_files(folder / "qrels", "*.trec")
    }
    attributes: dict[str, dict[str, Any]] = {}
    if (folder / "attributes.json").is_file():
        attributes = read_attributes(folder / "attributes.json")
        _check_spans(folder / "attributes.json", attributes)
    if not subsets:
        subsets = _by_operator(qrels, attributes)
    return Benchmark(
        name=name or (folder if folder.name.strip(".") else folder.resolve()).name,  # "." has no name
        path=folder,
        corpus_path=_corpus_of(folder),
        query_ids=[i for i, _ in rows],
        query_texts=[t for _, t in rows],
        qrels=qrels,
        subsets=subsets,
        attributes=attributes,
    )


def read_questions(path: Path) -> list[tuple[str, str]]:
    """Ids and texts of a file of queries, or of those in a benchmark folder."""
    return read_rows(_find(path, "queries.jsonl") if path.is_dir() else path)


def _by_operator(qrels: Qrels, attributes: dict[str, dict[str, Any]]) -> dict[str, Qrels]:
    """For folders without files of subsets."""
    subsets: dict[str, Qrels] = {}
    for query, judged in qrels.items():
        name = _OPERATOR_NAMES.get(str(attributes.get(query, {}).get("operator")))
        if name is not None:
            subsets.setdefault(name, {})[query] = judged
    return subsets if len(subsets) > 1 else {}


def with_suites(folder: Path) -> list[Benchmark]:
    """A benchmark and each of its suites."""
    main = read_benchmark(folder)
    suites = [path for path in sorted((folder / "suites").glob("*")) if path.is_dir()]
    return [main, *(read_benchmark(path, f"{main.name}/{path.name}") for path in suites)]


def read_corpus(path: Path) -> Corpus:
    rows = read_rows(path)
    return Corpus(path, [i for i, _ in rows], [t for _, t in rows])


def read_attributes(path: Path) -> dict[str, dict[str, Any]]:
    """What is known of each query: `{query id: {"operator": ..., ...}}`."""
    attributes = read_json(path, "attributes file", hint="it maps query ids to attributes")
    if not all(isinstance(known, dict) for known in attributes.values()):
        raise InputError(
            f"'{path}' does not map query ids to attributes.", hint='write {"q1": {"operator": ">"}}'
        )
    return attributes


def _check_spans(path: Path, attributes: dict[str, dict[str, Any]]) -> None:
    for query, known in attributes.items():
        conditions = known.get("conditions", [known])
        if not isinstance(conditions, list) or not all(map(_places_its_quantity, conditions)):
            raise InputError(
                f"'{path}' does not say where the quantity of query '{query}' stands.",
                hint='write its first character and one past its last: {"span": [8, 12]}',
            )


def _places_its_quantity(condition: Any) -> bool:
    if not isinstance(condition, dict):
        return False
    span = condition.get("span") or [0, 0]  # it may say nothing
    return isinstance(span, list) and len(span) == 2 and all(type(place) is int for place in span)


def write_run(path: Path, rankings: dict[str, list[tuple[str, float]]], tag: str) -> None:
    """A TREC run file, whole or not at all: a note beside an older one would vouch for half a run."""
    column = as_column(tag)
    with replacing_file(path) as aside, aside.open("w", encoding="utf-8") as file:
        for query, ranked in rankings.items():
            for rank, (document, score) in enumerate(ranked, 1):
                file.write(f"{query} Q0 {document} {rank} {score:.6f} {column}\n")


def as_column(tag: str) -> str:
    """A run's tag as one word: it is one column of the file."""
    return "-".join(tag.split()) or "run"


def _find(folder: Path, name: str) -> Path:
    if found := plain_or_compressed(folder / name):
        return found
    raise NotFoundError(
        f"The benchmark '{folder}' has no {name}.", hint="build it with 'numcolbert data benchmark'"
    )


def _corpus_of(folder: Path) -> Path:
    """The folder's own corpus, else that of the folder it lies in: dev and suites may share one."""
    for place in (folder, folder.parent, folder.parent.parent):
        if found := plain_or_compressed(place / "corpus.jsonl"):
            return found
    return _find(folder, "corpus.jsonl")
