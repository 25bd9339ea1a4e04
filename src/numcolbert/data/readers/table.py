"""CSV (also with semicolons or tabs) and TSV with a header, and the header-less `id<TAB>text` of MS MARCO."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from numcolbert.data.readers.faults import SKIP_HINT, Faults
from numcolbert.data.readers.jsonl import Fields
from numcolbert.data.readers.lines import LONGEST_LINE
from numcolbert.errors import InputError
from numcolbert.types import Document


def documents(
    lines: Iterable[tuple[int, str]], fields: Fields, faults: Faults, *, tabs: bool
) -> Iterator[tuple[int, bool, Document]]:
    rows = _rows(lines, fields.text, faults, tabs=tabs)
    first = next(rows, None)
    if first is None:
        return
    start, header = first
    if fields.text not in header:
        if not (tabs and len(header) == 2):
            raise _no_column(faults.path, start, fields.text, header)
        header, rows = [fields.ids[0], fields.text], _again(first, rows)
    if twice := next((name for name in header if header.count(name) > 1), None):
        raise InputError(
            f"The header of '{faults.path}' (line {start}) names the column '{twice}' twice.",
            hint="give every column its own name",
        )
    text_at = header.index(fields.text)
    id_at = next((header.index(name) for name in fields.ids if name in header), None)
    for number, row in rows:
        if len(row) != len(header):
            faults.at(number, f"has {len(row)} columns where the header has {len(header)}", hint=SKIP_HINT)
            continue
        rest = {
            n: v or None
            for i, (n, v) in enumerate(zip(header, row, strict=True))
            if i not in (text_at, id_at)
        }
        yield (
            number,
            id_at is not None,
            Document(str(number) if id_at is None else row[id_at], row[text_at], rest),
        )


def _again(
    first: tuple[int, list[str]], rest: Iterator[tuple[int, list[str]]]
) -> Iterator[tuple[int, list[str]]]:
    yield first
    yield from rest


def _no_column(path: Path, line: int, column: str, header: list[str]) -> InputError:
    return InputError(
        f"The header of '{path}' (line {line}) has no column '{column}'; "
        f"it has {', '.join(map(repr, header))}.",
        hint="name the column that holds the text with --text-field",
    )


def _separator(header: str, text: str) -> str:
    """What stands between the cells: where commas are decimal, spreadsheets write semicolons."""
    for mark in (",", ";", "\t"):
        try:
            cells = next(csv.reader([header], delimiter=mark), [])
        except csv.Error:
            continue
        if text in cells:
            return mark
    return ","


def _rows(
    lines: Iterable[tuple[int, str]], text: str, faults: Faults, *, tabs: bool
) -> Iterator[tuple[int, list[str]]]:
    """(number of the row's last line, cells); a quoted CSV cell may span lines."""
    if tabs:  # TSV has no quoting: a lone " in a sentence must not swallow the lines after it
        for number, line in lines:
            if line.strip():
                yield number, line.rstrip("\r\n").split("\t")
        return
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    lines = iter(lines)
    first = next(((number, line) for number, line in lines if line.strip()), None)
    if first is None:
        return
    current = 0

    def texts() -> Iterator[str]:
        nonlocal current
        for number, line in chain([first], lines):
            current = number
            yield line

    reader = csv.reader(texts(), delimiter=_separator(first[1], text), strict=True)
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            faults.at(current, f"is not valid CSV ({error})", hint=SKIP_HINT, cause=error)
            continue
        if row:
            yield current, row
