"""TREC runs and judgements, read strictly and in one place: every complaint names the file and the line.

It lies here, and not with `evaluate`, because training reads benchmarks and the candidates of a run too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NoReturn

from numcolbert.errors import InputError
from numcolbert.files import require_file, text_lines

RUN_COLUMNS = "query Q0 document rank score tag"
QRELS_COLUMNS = "query 0 document grade"

_ONE_BENCHMARK = "do the run, the judgements and the collection belong to the same benchmark?"

HIGHEST_GRADE = 1000
"""trec_eval keeps a count for each grade up to the highest: a wild one takes all memory, or wraps around."""

Qrels = dict[str, dict[str, int]]
"""Query id -> document id -> grade; above zero is relevant."""


def read_run(
    path: Path,
    *,
    queries: Collection[str] | None = None,
    documents: Collection[str] | None = None,
    what: str = "run file",
    hint: str = _ONE_BENCHMARK,
) -> dict[str, dict[str, float]]:
    """Read a run: query -> document -> score, in the order of its lines.

    The rank column is not used: trec_eval orders by score, and so does all that measures here.

    Args:
        queries: The queries that are known; any other is refused.
        documents: The documents that are known; any other is refused.
        what: What a complaint calls the file.
        hint: What to do about a query that is not known.
    """
    run: dict[str, dict[str, float]] = {}
    for number, line in trec_lines(path, what):
        columns = line.split()
        if len(columns) != 6:
            refuse_line(path, number, f"has {len(columns)} columns", f"a run line is '{RUN_COLUMNS}'")
        query, _, document, _, written, _ = columns
        try:
            score = float(written)
        except ValueError:
            refuse_line(
                path, number, f"has the score '{written}', which is not a number", "column 5 is the score"
            )
        if not math.isfinite(score):
            refuse_line(path, number, f"has the score '{written}'", "scores must be finite numbers")
        ranking = run.get(query)
        if ranking is None:
            check_known(path, number, "query", query, queries, hint)
            ranking = run[query] = {}
        elif document in ranking:
            refuse_twice(path, number, query, document)
        if documents is not None:
            check_known(path, number, "document", document, documents)
        ranking[document] = score
    if not run:
        raise InputError(f"The {what} '{path}' is empty.", hint="was the search interrupted? run it again")
    return run


def read_qrels(
    path: Path, *, queries: Collection[str] | None = None, documents: Collection[str] | None = None
) -> Qrels:
    """Read relevance judgements; a file may hold none. `queries` and `documents` as for `read_run`."""
    qrels: Qrels = {}
    for number, line in trec_lines(path, "qrels file"):
        columns = line.split()
        if len(columns) != 4:
            refuse_line(path, number, f"has {len(columns)} columns", f"a qrels line is '{QRELS_COLUMNS}'")
        query, _, document, written = columns
        try:
            grade = int(written)
        except ValueError:
            refuse_line(path, number, f"has the grade '{written}'", "the grade in column 4 is a whole number")
        if abs(grade) > HIGHEST_GRADE:
            refuse_line(
                path, number, f"has the grade {written}", f"grades lie within {HIGHEST_GRADE} of zero"
            )
        check_known(path, number, "query", query, queries)
        check_known(path, number, "document", document, documents)
        judged = qrels.setdefault(query, {})
        if document in judged:
            refuse_twice(path, number, query, document)
        judged[document] = grade
    return qrels


def trec_lines(path: Path, what: str) -> Iterator[tuple[int, str]]:
    require_file(path, what)
    return ((number, line) for number, line in text_lines(path) if line.strip())


def check_known(
    path: Path,
    number: int,
    kind: str,
    name: str,
    known: Collection[str] | None,
    hint: str = _ONE_BENCHMARK,
) -> None:
    if known is not None and name not in known:
        refuse_line(path, number, f"names the {kind} '{name}', which is not known", hint)


def refuse_twice(path: Path, number: int, query: str, document: str) -> NoReturn:
    refuse_line(
        path, number, f"repeats document '{document}' for query '{query}'", "keep one line for each pair"
    )


def refuse_line(path: Path, number: int, complaint: str, hint: str) -> NoReturn:
    raise InputError(f"Line {number} of '{path}' {complaint}.", hint=hint)
