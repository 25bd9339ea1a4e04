"""Ids and texts of JSON lines, as benchmarks hold them; read strictly, for a run has to name each id."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from numcolbert.data.readers.jsonl import parsed, reason
from numcolbert.errors import InputError
from numcolbert.files import text_lines

_ID_KEYS = ("id", "_id", "qid", "doc_id")
_HINT = 'each line reads {"id": ..., "text": ...}'


def read_rows(path: Path) -> list[tuple[str, str]]:
    """Ids and texts of a file, which may be compressed."""
    rows = list(_rows(path))
    if not rows:
        raise InputError(f"'{path}' is empty.", hint='write lines {"id": ..., "text": ...}')
    return rows


def _rows(path: Path) -> Iterator[tuple[str, str]]:
    """What no run file could hold is refused here, before any work is lost to it."""
    seen: set[str] = set()
    for number, line in text_lines(path):
        if not line.strip():
            continue
        try:
            row = parsed(line)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"Line {number} of '{path}' is not valid JSON ({reason(error)}).", hint=_HINT
            ) from error
        try:
            name = str(next(row[key] for key in _ID_KEYS if row.get(key) is not None))
            text = row["text"]
            if not isinstance(text, str):
                raise TypeError(text)
        except (KeyError, TypeError, AttributeError, StopIteration) as error:
            raise InputError(f"Line {number} of '{path}' has no id and text.", hint=_HINT) from error
        if name.split() != [name]:
            raise InputError(
                f"Line {number} of '{path}' has the id {name!r}.", hint="ids must not hold spaces or be empty"
            )
        if name in seen:
            raise InputError(f"Line {number} of '{path}' repeats the id '{name}'.", hint="keep one of them")
        seen.add(name)
        yield name, text
