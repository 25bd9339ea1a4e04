"""TREC run and qrels files, read strictly: every complaint names the file and the line."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from numcolbert.baselines.ranker import Run
from numcolbert.errors import InputError
from numcolbert.files import replacing_file
from numcolbert.train.benchmarks import as_column
from numcolbert.train.trec import check_known, read_run, refuse_line, refuse_twice, trec_lines

__all__ = ["Qrels", "read_qrels", "read_run", "write_qrels", "write_run"]

Qrels = dict[str, dict[str, int]]
"""Query id -> document id -> grade; above zero is relevant."""

_QRELS_COLUMNS = "query 0 document grade"


def read_qrels(
    path: Path, *, queries: Collection[str] | None = None, documents: Collection[str] | None = None
) -> Qrels:
    """Read relevance judgements. With `queries` or `documents` given, an id outside them is refused."""
    qrels: Qrels = {}
    for number, line in trec_lines(path, "qrels file"):
        columns = line.split()
        if len(columns) != 4:
            refuse_line(path, number, f"has {len(columns)} columns", f"a qrels line is '{_QRELS_COLUMNS}'")
        query, _, document, written = columns
        try:
            grade = int(written)
        except ValueError:
            refuse_line(path, number, f"has the grade '{written}'", "the grade in column 4 is a whole number")
        check_known(path, number, "query", query, queries)
        check_known(path, number, "document", document, documents)
        judged = qrels.setdefault(query, {})
        if document in judged:
            refuse_twice(path, number, query, document)
        judged[document] = grade
    if not qrels:
        raise InputError(f"The qrels file '{path}' is empty.", hint=f"write lines '{_QRELS_COLUMNS}'")
    return qrels


def write_run(path: Path, run: Run, tag: str) -> None:
    """Write a run, best first. Scores keep every digit, so reading it back ranks the same."""
    _check_ids(run)
    column = as_column(tag)
    with replacing_file(path) as aside, aside.open("w", encoding="utf-8") as file:
        for query, ranking in run.items():
            ordered = sorted(ranking.items(), key=lambda pair: -pair[1])
            for rank, (document, score) in enumerate(ordered, 1):
                file.write(f"{query} Q0 {document} {rank} {float(score)!r} {column}\n")


def write_qrels(path: Path, qrels: Qrels) -> None:
    _check_ids(qrels)
    with replacing_file(path) as aside, aside.open("w", encoding="utf-8") as file:
        for query, judged in qrels.items():
            for document, grade in judged.items():
                file.write(f"{query} 0 {document} {grade}\n")


def _check_ids(rankings: Run | Qrels) -> None:
    names = (name for query, judged in rankings.items() for name in (query, *judged))
    for name in names:
        if not name or any(character.isspace() for character in name):
            raise InputError(
                f"The id {name!r} cannot stand in a TREC file.", hint="ids must not hold spaces or be empty"
            )
