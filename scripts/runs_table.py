"""Write the tables of docs/results/runs.md from the recorded runs in docs/results/runs/.

python scripts/runs_table.py

Runs on the present edition of the test sets lie in that folder, those on an earlier one in a folder below it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from numcolbert.train.measures import as_it_ranks
from recorded_runs import RUNS

RESULTS = RUNS.parent
EDITIONS = {"runs": RUNS, "first-edition": RUNS / "first-edition"}
"""Each fills the part of the page between `<!-- name -->` and `<!-- /name -->`."""
SETS = ("openfinquant", "openmedquant")
SUBSETS = ("equal", "greater", "less", "expanded", "unseen")
SUITES = ("bounds", "conversion", "formats", "distractors", "two_conditions")
ELSEWHERE = {
    "facts": "facts",
    "facts-unseen": "unseen facts",
    "squad-sentences": "SQuAD",
    "msmarco-mini": "MS MARCO mini",
}
"""Benchmarks that only later runs were ranked on, and what their columns are called."""
WORDS = ("run", "what")
"""Columns of words; the others hold numbers."""


def score(result: dict[str, Any]) -> float:
    """nDCG@10 with the gate where there is one."""
    return float(as_it_ranks(result["scores"])["nDCG@10"])


def table(columns: list[str], rows: list[list[str]]) -> list[str]:
    lines = [columns, ["---" if name in WORDS else "--:" for name in columns], *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def overview(runs: list[dict[str, Any]]) -> list[str]:
    """Each run with all that tells whether to read on."""
    named = [name for name in ELSEWHERE if any(name in run["results"] for run in runs)]
    rows = [
        [
            f"[{run['run']}]({run['file']})",
            run["what"],
            f"{run['end']['step']:,}",
            f"{run['end']['triples']:,}",
            f"{development(run):.3f}",
            *(f"**{score(run['results'][name]):.3f}**" for name in SETS),
            *(f"{score(run['results'][name]):.3f}" if name in run["results"] else "" for name in named),
        ]
        for run in runs
    ]
    return table(
        ["run", "what", "steps", "triples", "dev", "fin", "med", *(ELSEWHERE[name] for name in named)], rows
    )


def render(runs: list[dict[str, Any]]) -> str:
    lines = overview(runs)
    for name in SETS:
        rows, suites = [], []
        for run in runs:
            results = run["results"]
            main = results[name]
            detector = main.get("detector") or {}
            rows.append(
                [
                    run["run"],
                    f"{score(results[f'{name}/dev']):.3f}",
                    f"**{score(main):.3f}**",
                    *(f"{main['subsets'][subset]['nDCG@10']:.3f}" for subset in SUBSETS),
                    f"{detector['f1']:.4f}" if "f1" in detector else "",
                ]
            )
            suites.append([run["run"], *(f"{score(results[f'{name}/{suite}']):.3f}" for suite in SUITES)])
        lines += ["", f"**{name}, nDCG@10**", ""]
        lines += table(["run", "dev", "test", "=", ">", "<", "expanded", "unseen", "detector F1"], rows)
        lines += ["", "Extra suites:", ""]
        lines += table(["run", *(suite.replace("_", " ") for suite in SUITES)], suites)
    return "\n".join(lines)


def development(run: dict[str, Any]) -> float:
    """Mean over both sets: what choices are made by."""
    return sum(score(run["results"][f"{name}/dev"]) for name in SETS) / len(SETS)


def recorded(file: Path) -> dict[str, Any]:
    """A run's record, its results by benchmark, and how the page links to it."""
    run: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    results = {result["name"]: result for result in run["results"]}
    return {**run, "results": results, "file": file.relative_to(RESULTS).as_posix()}


def filled(text: str) -> str:
    """The page with its tables made anew."""
    for name, folder in EDITIONS.items():
        runs = sorted(map(recorded, sorted(folder.glob("*.json"))), key=development, reverse=True)
        before, rest = text.split(f"<!-- {name} -->")
        after = rest.split(f"<!-- /{name} -->")[1]
        text = f"{before}<!-- {name} -->\n{render(runs)}\n<!-- /{name} -->{after}"
    return text


def main() -> None:
    page = RESULTS / "runs.md"
    page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
