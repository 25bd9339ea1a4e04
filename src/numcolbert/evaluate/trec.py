"""TREC run and qrels files, read strictly: every complaint names the file and the line."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from numcolbert.baselines.ranker import Run
from numcolbert.errors import InputError
from numcolbert.files import replacing_file
from numcolbert.train.benchmarks import as_column
from numcolbert.train.trec import QRELS_COLUMNS, Qrels, read_run
from numcolbert.train.trec import read_qrels as read_judgements

__all__ = ["Qrels", "read_qrels", "read_run", "write_qrels", "write_run"]


def read_qrels(
    path: Path, *, queries: Collection[str] | None = None, documents: Collection[str] | None = None
) -> Qrels:
    """Read relevance judgements. With `queries` or `documents` given, an id outside them is refused."""
    qrels = read_judgements(path, queries=queries, documents=documents)
    if not qrels:
        raise InputError(f"The qrels file '{path}' is empty.", hint=f"write lines '{QRELS_COLUMNS}'")
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
