"""Parts of a benchmark that are measured on their own: operators and other attributes, subsets, suites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numcolbert.errors import InputError, NotFoundError
from numcolbert.evaluate.trec import Qrels, read_qrels
from numcolbert.files import all_files, name_as_text, without_compression


@dataclass(frozen=True, slots=True)
class Slice:
    name: str
    qrels: Qrels


def subset_slices(folder: Path) -> list[Slice]:
    """One slice for each `*.trec` qrels file in `folder`, which may be compressed."""
    found = _found(folder, "*.trec")
    return [Slice(name_as_text(without_compression(path).stem), read_qrels(path)) for path in found]


def suite_slices(folder: Path) -> list[Slice]:
    """One slice for each `<suite>/qrels.trec` below `folder`, which may be compressed."""
    found = _found(folder, "*/qrels.trec")
    return [Slice(name_as_text(path.parent.name), read_qrels(path)) for path in found]


def attribute_slices(
    qrels: Qrels, attributes: Mapping[str, Mapping[str, Any]], keys: Sequence[str] = ("operator",)
) -> list[Slice]:
    """One slice for each value of an attribute, in the order in which they first appear.

    Several keys together give one slice for each combination: 'seen, not expanded'.
    """
    grouped: dict[str, Qrels] = {}
    for query, judged in qrels.items():
        known = attributes.get(query, {})
        name = ", ".join(_label(query, key, known) for key in keys)
        grouped.setdefault(name, {})[query] = judged
    return [Slice(name, judged) for name, judged in grouped.items()]


LENGTH = "length"
"""An attribute that every query has: how many words it is long."""
_SHORT, _LONG = 6, 10


def with_lengths(
    attributes: Mapping[str, Mapping[str, Any]], questions: Iterable[tuple[str, str]]
) -> dict[str, Mapping[str, Any]]:
    """The attributes with a length for each of the `questions`, ids and texts."""
    return {
        query: {**attributes.get(query, {}), LENGTH: _in_words(len(text.split()))}
        for query, text in questions
    }


def _in_words(words: int) -> str:
    if words <= _SHORT:
        return f"up to {_SHORT} words"
    return f"{_LONG} words or more" if words >= _LONG else f"{_SHORT + 1} to {_LONG - 1} words"


def _label(query: str, key: str, attributes: Mapping[str, Any]) -> str:
    """What an attribute of a query says, in words; numbers are told apart by their sign."""
    value = attributes.get(key)
    if isinstance(value, bool):
        return key if value else f"not {key}"
    if isinstance(value, int | float):
        return f"{key} below zero" if value < 0 else f"{key} not below zero"
    if isinstance(value, str):
        return value
    if key in attributes:
        raise InputError(
            f"Queries cannot be told apart by '{key}', which is neither a word, a number nor true or false.",
            hint=_splittable(attributes) or "name another attribute with --by, as in length",
        )
    raise InputError(
        f"Query '{query}' has no '{key}' in the attributes.",
        hint=_splittable(attributes) or "the attributes file must belong to the same benchmark as the qrels",
    )


def _splittable(attributes: Mapping[str, Any]) -> str:
    keys = [key for key, value in attributes.items() if isinstance(value, bool | int | float | str)]
    return f"it has {', '.join(keys)}" if keys else ""


def check_inside(slices: Iterable[Slice], queries: Iterable[str]) -> None:
    """Refuse a slice with queries outside the benchmark: its means would silently count zeros."""
    known = set(queries)
    for part in slices:
        strangers = [query for query in part.qrels if query not in known]
        if strangers:
            raise InputError(
                f"Subset '{part.name}' judges query '{strangers[0]}' ({len(strangers)} in all), "
                "which the main qrels do not hold.",
                hint="the subsets must come from the same benchmark as the qrels",
            )


def _found(folder: Path, pattern: str) -> list[Path]:
    paths = all_files(folder, pattern)
    if not paths:
        raise NotFoundError(f"'{folder}' holds no {pattern} file.", hint="check the folder")
    return paths
