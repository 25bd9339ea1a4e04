"""Write the tables of docs/results/runs.md from the recorded runs in docs/results/runs/.

python scripts/runs_table.py

Runs on the present edition of the test sets lie in that folder, those on an earlier one in a folder below it.
"""

from __future__ import annotations

import json
from typing import Any

from numcolbert.train.measures import as_it_ranks
from recorded_runs import RUNS

RESULTS = RUNS.parent
EDITIONS = {"runs": RUNS, "first-edition": RUNS / "first-edition"}
"""Each fills the part of the page between `<!-- name -->` and `<!-- /name -->`."""
SETS = ("openfinquant", "openmedquant")
SUBSETS = ("equal", "greater", "less", "expanded", "unseen")
SUITES = ("bounds", "conversion", "formats", "distractors", "two_conditions")


def score(result: dict[str, Any]) -> float:
    """nDCG@10 with the gate where there is one."""
    return float(as_it_ranks(result["scores"])["nDCG@10"])


def table(columns: list[str], rows: list[list[str]]) -> list[str]:
    lines = [columns, ["---"] + ["--:"] * (len(columns) - 1), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def render(runs: list[dict[str, Any]]) -> str:
    lines = table(
        ["run", "what", "steps", "triples", "triples/s"],
        [
            [
                f"[{run['run']}]({run['file']})",
                run["what"],
                f"{run['end']['step']:,}",
                f"{run['end']['triples']:,}",
                f"{run['end']['triples_per_second']:,.0f}",
            ]
            for run in runs
        ],
    )
    for name in SETS:
        rows, suites = [], []
        for run in runs:
            results = {result["name"]: result for result in run["results"]}
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
    results = {result["name"]: result for result in run["results"]}
    return sum(score(results[f"{name}/dev"]) for name in SETS) / len(SETS)


def filled(text: str) -> str:
    """The page with its tables made anew."""
    for name, folder in EDITIONS.items():
        runs = []
        for file in sorted(folder.glob("*.json")):
            link = file.relative_to(RESULTS).as_posix()
            runs.append({**json.loads(file.read_text(encoding="utf-8")), "file": link})
        runs.sort(key=development, reverse=True)
        before, rest = text.split(f"<!-- {name} -->")
        after = rest.split(f"<!-- /{name} -->")[1]
        text = f"{before}<!-- {name} -->\n{render(runs)}\n<!-- /{name} -->{after}"
    return text


def main() -> None:
    page = RESULTS / "runs.md"
    page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
