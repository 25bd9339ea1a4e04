"""The file of a report from which its tables can be made again.

    measures.json
      format       1
      benchmarks   name -> fingerprint, judgements   hashes of what was measured
                           queries                   their ids, once for all systems
                           operators                 operator -> positions in `queries`
                           systems                   name -> measures: name -> a value a query
                                                             unanswered: positions of queries without hits
                                                             facts, warning, run_sha256

What is empty is left out. Before, there was per-query.json: system -> benchmark -> query -> nDCG@10.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from numcolbert.config import read_json
from numcolbert.errors import InputError, UsageError
from numcolbert.evaluate.measures import Scores, canonical_measures
from numcolbert.reproduce.measured import DIGITS, Kept, Measured, QuerySet

FILE = "measures.json"
FORMAT = 1
_OLD_FILE, _OLD_MEASURE = "per-query.json", "nDCG@10"
_HINT = "take the file from the repository again, or make it with 'numcolbert reproduce'"


def read_kept(place: Path) -> Kept:
    """Read the measures of a report folder, or the file itself."""
    path = place
    if place.is_dir():
        old = place / _OLD_FILE
        path = old if old.is_file() and not (place / FILE).is_file() else place / FILE
    content = read_json(path, "file of kept measures", hint=_HINT)
    try:
        if "format" not in content:
            content = _from_old(content)
        if content["format"] != FORMAT:
            raise InputError(
                f"'{path}' has format {content['format']}, this version reads {FORMAT}.",
                hint="use the version of numcolbert that wrote it",
            )
        sets = {name: _query_set(name, part) for name, part in content["benchmarks"].items()}
        systems = {
            name: {system: _measured(saved, sets[name].queries) for system, saved in part["systems"].items()}
            for name, part in content["benchmarks"].items()
        }
    except UsageError as error:  # a measure ir-measures does not know
        raise InputError(f"'{path}' cannot be used: {error.message}", hint=error.hint) from error
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise InputError(f"'{path}' is damaged or holds no measures: {error!r}.", hint=_HINT) from error
    return Kept(sets, systems)


def kept_json(kept: Kept) -> str:
    """A line a system, so that a new one is one new line."""
    parts = []
    for name, asked in sorted(kept.query_sets.items()):
        position = {query: i for i, query in enumerate(asked.queries)}
        about = {
            "fingerprint": asked.fingerprint,
            "judgements": asked.judgements,
            "queries": asked.queries,
            "operators": {o: [position[query] for query in some] for o, some in asked.operators.items()},
        }
        systems = [
            f"{json.dumps(system)}:{_line(_saved(measured, position))}"
            for system, measured in sorted(kept.systems[name].items())
        ]
        head = "".join(f"{json.dumps(key)}:{_line(value)},\n" for key, value in about.items() if value)
        parts.append(f'{json.dumps(name)}:{{\n{head}"systems":{{\n' + ",\n".join(systems) + "}}")
    return f'{{"format":{FORMAT},"benchmarks":{{\n' + ",\n".join(parts) + "}}\n"


def _query_set(name: str, part: Mapping[str, Any]) -> QuerySet:
    queries = tuple(map(str, part["queries"]))
    if not queries or len(set(queries)) < len(queries):
        raise ValueError(f"no query of '{name}', or one twice")
    operators = {o: [queries[i] for i in some] for o, some in part.get("operators", {}).items()}
    if not all(operators.values()):
        raise ValueError(f"an operator of '{name}' without queries")
    fingerprint, judgements = part.get("fingerprint", ""), part.get("judgements", "")
    if not isinstance(fingerprint, str) or not isinstance(judgements, str):
        raise TypeError(f"a hash of '{name}' is no text")
    return QuerySet(name, queries, fingerprint, judgements, operators)


def _measured(saved: Mapping[str, Any], queries: tuple[str, ...]) -> Measured:
    names = canonical_measures(list(saved["measures"]))
    values = np.array([saved["measures"][name] for name in names], np.float64).T  # [queries, measures]
    if values.shape != (len(queries), len(names)) or not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"not one value from 0 to 1 for each of {len(queries)} queries")
    unanswered = frozenset(queries[i] for i in saved.get("unanswered", ()))
    return Measured(
        Scores(names, queries, values, unanswered),
        {name: float(value) for name, value in saved.get("facts", {}).items()},
        str(saved.get("warning", "")),
        saved.get("run_sha256"),
    )


def _saved(measured: Measured, position: Mapping[str, int]) -> dict[str, Any]:
    scores = measured.scores
    saved = {
        "run_sha256": measured.run_sha256,
        "facts": dict(measured.facts),
        "warning": measured.warning,
        "unanswered": sorted(position[query] for query in scores.unanswered),
        "measures": {name: [*map(_short, scores.of(name).tolist())] for name in scores.measures},
    }
    return {key: value for key, value in saved.items() if value}


def _from_old(content: Mapping[str, Mapping[str, Mapping[str, float]]]) -> dict[str, Any]:
    benchmarks: dict[str, Any] = {}
    for system, parts in content.items():
        for name, values in parts.items():
            known = benchmarks.setdefault(name, {"queries": sorted(values), "systems": {}})
            if sorted(values) != known["queries"]:
                raise ValueError(f"'{system}' has other queries of '{name}' than the systems before")
            ordered = [values[query] for query in known["queries"]]
            known["systems"][system] = {"measures": {_OLD_MEASURE: ordered}}
    return {"format": FORMAT, "benchmarks": benchmarks}


def _line(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _short(value: float) -> float | int:
    """Most queries score 0 or 1, which need no point."""
    rounded = round(value, DIGITS)
    return int(rounded) if rounded.is_integer() else rounded
