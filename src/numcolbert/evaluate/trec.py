"""TREC run and qrels files, read strictly: every complaint names the file and the line."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NoReturn

from numcolbert.baselines.ranker import Run
from numcolbert.errors import InputError
from numcolbert.files import replacing_file, require_file, text_lines
from numcolbert.train.benchmarks import as_column

Qrels = dict[str, dict[str, int]]
"""Query id -> document id -> grade; above zero is relevant."""

_RUN_COLUMNS = "query Q0 document rank score tag"
_QRELS_COLUMNS = "query 0 document grade"


def read_run(
    path: Path, *, queries: Collection[str] | None = None, documents: Collection[str] | None = None
) -> Run:
    """Read a run. With `queries` or `documents` given, an id outside them is refused.

    The rank column is not used: trec_eval orders by score, and so does everything here.
    """
    run: Run = {}
    for number, line in _lines(path, "run file"):
        columns = line.split()
        if len(columns) != 6:
            _refuse(path, number, f"has {len(columns)} columns", f"a run line is '{_RUN_COLUMNS}'")
        query, _, document, _, written, _ = columns
        try:
            score = float(written)
        except ValueError:
            _refuse(
                path, number, f"has the score '{written}', which is not a number", "column 5 is the score"
            )
        if not math.isfinite(score):
            _refuse(path, number, f"has the score '{written}'", "scores must be finite numbers")
        ranking = run.get(query)
        if ranking is None:
            _check_known(path, number, "query", query, queries)
            ranking = run[query] = {}
        elif document in ranking:
            _refuse_twice(path, number, query, document)
        if documents is not None:
            _check_known(path, number, "document", document, documents)
        ranking[document] = score
    if not run:
        raise InputError(f"The run file '{path}' is empty.", hint="was the search interrupted? run it again")
    return run


def read_qrels(
    path: Path, *, queries: Collection[str] | None = None, documents: Collection[str] | None = None
) -> Qrels:
    """Read relevance judgements. With `queries` or `documents` given, an id outside them is refused."""
    qrels: Qrels = {}
    for number, line in _lines(path, "qrels file"):
        columns = line.split()
        if len(columns) != 4:
            _refuse(path, number, f"has {len(columns)} columns", f"a qrels line is '{_QRELS_COLUMNS}'")
        query, _, document, written = columns
        try:
            grade = int(written)
        except ValueError:
            _refuse(path, number, f"has the grade '{written}'", "the grade in column 4 is a whole number")
        _check_known(path, number, "query", query, queries)
        _check_known(path, number, "document", document, documents)
        judged = qrels.setdefault(query, {})
        if document in judged:
            _refuse_twice(path, number, query, document)
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


def _lines(path: Path, what: str) -> Iterator[tuple[int, str]]:
    require_file(path, what)
    return ((number, line) for number, line in text_lines(path) if line.strip())


def _check_known(path: Path, number: int, kind: str, name: str, known: Collection[str] | None) -> None:
    if known is not None and name not in known:
        _refuse(
            path,
            number,
            f"names the {kind} '{name}', which is not known",
            "do the run, the judgements and the collection belong to the same benchmark?",
        )


def _check_ids(rankings: Run | Qrels) -> None:
    names = (name for query, judged in rankings.items() for name in (query, *judged))
    for name in names:
        if not name or any(character.isspace() for character in name):
            raise InputError(
                f"The id {name!r} cannot stand in a TREC file.", hint="ids must not hold spaces or be empty"
            )


def _refuse_twice(path: Path, number: int, query: str, document: str) -> NoReturn:
    _refuse(path, number, f"repeats document '{document}' for query '{query}'", "keep one line for each pair")


def _refuse(path: Path, number: int, complaint: str, hint: str) -> NoReturn:
    raise InputError(f"Line {number} of '{path}' {complaint}.", hint=hint)
