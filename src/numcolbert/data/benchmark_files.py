"""A test set on disk: BEIR and TREC files, and JSON with what is known about each query."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from numcolbert.data.benchmark import JudgedQuery, JudgedSet
from numcolbert.data.pool import Pool
from numcolbert.files import replacing_folder

QUERIES = "queries.jsonl"
SUBSETS: dict[str, Callable[[JudgedQuery], bool]] = {
    "equal": lambda query: query.asked[0].operator == "=",
    "greater": lambda query: query.asked[0].operator == ">",
    "less": lambda query: query.asked[0].operator == "<",
    "expanded": lambda query: query.expanded,
    "seen": lambda query: query.seen,
    "unseen": lambda query: not query.seen,
}


def write(pool: Pool, made: JudgedSet, folder: Path, *, overwrite: bool = False) -> dict[str, Any]:
    """Write the folder and return its counts."""
    counts = count(pool, made)
    with replacing_folder(folder, overwrite=overwrite, mark=QUERIES) as aside:
        with (aside / "corpus.jsonl").open("w", encoding="utf-8") as file:
            for row in range(len(pool.sentences)):
                if row not in made.removed:
                    _line(file.write, {"_id": document_id(pool, row), "text": pool.sentences[row]})
        write_set(pool, aside, made.test, made.removed)
        for name, belongs in SUBSETS.items():
            _write_qrels(pool, aside / "qrels" / f"{name}.trec", filter(belongs, made.test))
        if made.development:
            write_set(pool, aside / "dev", made.development, made.removed)
        for name, queries in made.suites.items():
            write_set(pool, aside / "suites" / name, queries, made.removed)
        _dump(aside / "held_out.json", held_out(made))
        (aside / "card.md").write_text(card(pool, made, counts), encoding="utf-8")
    return counts


def document_id(pool: Pool, row: int) -> str:
    """The sentence's id, without blanks, which TREC files cannot hold."""
    return "_".join(pool.sentence_ids[row].split())


def attributes(query: JudgedQuery) -> dict[str, Any]:
    """One flat record for the (first) condition; `conditions` has all of them where there are two."""
    records = [
        {
            "concept": condition.pair[0],
            "phrase": condition.phrase,
            "operator": condition.operator,
            "value": condition.value,
            "unit": condition.unit,
            "dimension": condition.pair[1],
            "base_value": condition.base_value,
            "base_high": condition.base_high,
            "span": list(condition.span),
        }
        for condition in query.asked
    ]
    common = {"expanded": query.expanded, "seen": query.seen, "negatives": query.negatives}
    return {**records[0], **common, **({"conditions": records} if len(records) > 1 else {})}


def held_out(made: JudgedSet) -> dict[str, Any]:
    return {
        "pairs": sorted(list(pair) for pair in made.unseen),
        "queries": [
            {
                "concept": condition.pair[0],
                "dimension": condition.pair[1],
                "operator": condition.operator,
                "base_value": condition.base_value,
                "base_high": condition.base_high,
            }
            for query in made.all_queries()
            for condition in query.asked
        ],
    }


def count(pool: Pool, made: JudgedSet) -> dict[str, Any]:
    test = made.test
    relevant = sum(len(query.relevant) for query in test)
    return {
        "passages": len(pool.sentences) - len(made.removed),
        "removed": len(made.removed),
        "queries": len(test),
        "development": len(made.development),
        "suites": {name: len(queries) for name, queries in made.suites.items()},
        "relevant": relevant,
        "relevant_per_query": round(relevant / max(1, len(test)), 2),
        "pairs": len({query.asked[0].pair for query in test}),
        **{name: sum(map(belongs, test)) for name, belongs in SUBSETS.items()},
    }


def card(pool: Pool, made: JudgedSet, counts: dict[str, Any]) -> str:
    suites = "".join(f"\n| suite {name} | {number} |" for name, number in counts["suites"].items())
    subsets = "\n".join(f"| {name} | {counts[name]} |" for name in SUBSETS)
    return f"""# {made.settings.name}

Made from the pool '{pool.name}' ({", ".join(pool.notes.get("sources", []))}) with seed {made.settings.seed}.

| | |
|---|---|
| passages | {counts["passages"]:,} |
| left out as doubtful | {counts["removed"]:,} |
| test queries | {counts["queries"]} |
| judged relevant | {counts["relevant"]:,} ({counts["relevant_per_query"]} a query) |
| (concept, dimension) pairs asked for | {counts["pairs"]} |
{subsets}
| development queries | {counts["development"]} |{suites}

A passage is relevant if a quantity that describes the query's concept, under any of its names, satisfies the
condition after unit conversion. Labels come from rules and were not checked one by one; how often they are
right was measured by reading, see the project's data card. `held_out.json` names the pairs and thresholds
that training must not use.
"""


def write_set(pool: Pool, folder: Path, queries: Sequence[JudgedQuery], removed: set[int]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / QUERIES).open("w", encoding="utf-8") as file:
        for query in queries:
            _line(file.write, {"_id": query.id, "text": query.text})
    _write_qrels(pool, folder / "qrels.trec", queries)
    _write_about(pool, folder / "about.trec", queries, removed)
    _dump(folder / "attributes.json", {query.id: attributes(query) for query in queries})


def _write_qrels(pool: Pool, path: Path, queries: Iterable[JudgedQuery]) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for query in queries:
            for row in query.relevant:
                file.write(f"{query.id} 0 {document_id(pool, row)} 1\n")


def _write_about(pool: Pool, path: Path, queries: Sequence[JudgedQuery], removed: set[int]) -> None:
    """Who speaks of the query's concept and dimension: 1 satisfies the condition, 0 violates it.

    With two conditions there is no such pair of answers, and a set of such queries has no file.
    """
    simple = [query for query in queries if len(query.asked) == 1]
    if not simple:
        return
    with path.open("w", encoding="utf-8") as file:
        for query in simple:
            relevant = set(query.relevant)
            for row in sorted(relevant.union(query.violating) - removed):
                file.write(f"{query.id} 0 {document_id(pool, row)} {int(row in relevant)}\n")


def _dump(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")


def _line(write: Callable[[str], int], record: dict[str, str]) -> None:
    write(json.dumps(record, ensure_ascii=False) + "\n")
