"""Parts of a benchmark that are measured on their own: operators, subsets, suites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numcolbert.errors import InputError, NotFoundError
from numcolbert.evaluate.trec import Qrels, read_qrels


@dataclass(frozen=True, slots=True)
class Slice:
    name: str
    qrels: Qrels


def subset_slices(folder: Path) -> list[Slice]:
    """One slice for each `*.trec` qrels file in `folder`."""
    return [Slice(path.stem, read_qrels(path)) for path in _found(folder, "*.trec")]


def suite_slices(folder: Path) -> list[Slice]:
    """One slice for each `<suite>/qrels.trec` below `folder`."""
    return [Slice(path.parent.name, read_qrels(path)) for path in _found(folder, "*/qrels.trec")]


def operator_slices(qrels: Qrels, attributes: Mapping[str, Mapping[str, Any]]) -> list[Slice]:
    """One slice for each comparison operator, in the order in which they first appear."""
    grouped: dict[str, Qrels] = {}
    for query, judged in qrels.items():
        operator = attributes.get(query, {}).get("operator")
        if operator is None:
            raise InputError(
                f"Query '{query}' has no operator in the attributes.",
                hint="the attributes file must belong to the same benchmark as the qrels",
            )
        grouped.setdefault(str(operator), {})[query] = judged
    return [Slice(operator, judged) for operator, judged in grouped.items()]


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
    paths = sorted(folder.glob(pattern)) if folder.is_dir() else []
    if not paths:
        raise NotFoundError(f"'{folder}' holds no {pattern} file.", hint="check the folder")
    return paths
