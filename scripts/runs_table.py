"""Write the table of docs/results/runs.md from the recorded runs in docs/results/runs/*.json.

python scripts/runs_table.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent.parent / "docs" / "results"
BEGIN, END = "<!-- runs -->", "<!-- /runs -->"
SETS = ("openfinquant", "openmedquant")
SUBSETS = ("equal", "greater", "less", "expanded", "unseen")
SUITES = ("bounds", "conversion", "formats", "distractors", "two_conditions")


def score(result: dict[str, Any]) -> float:
    """nDCG@10 with the gate where there is one."""
    scores = result["scores"]
    return float((scores.get("gated") or scores["plain"])["nDCG@10"])


def table(columns: list[str], rows: list[list[str]]) -> list[str]:
    lines = [columns, ["---"] + ["--:"] * (len(columns) - 1), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def render(runs: list[dict[str, Any]]) -> str:
    lines = table(
        ["run", "what", "steps", "triples", "triples/s"],
        [
            [
                f"[{run['run']}](runs/{run['file']})",
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
        lines += ["", f"### {name}: nDCG@10", ""]
        lines += table(["run", "dev", "test", "=", ">", "<", "expanded", "unseen", "detector F1"], rows)
        lines += ["", "Extra suites:", ""]
        lines += table(["run", *(suite.replace("_", " ") for suite in SUITES)], suites)
    return "\n".join(lines)


def main() -> None:
    runs = []
    for file in sorted((RESULTS / "runs").glob("*.json")):
        runs.append({**json.loads(file.read_text(encoding="utf-8")), "file": file.name})
    page = RESULTS / "runs.md"
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n{render(runs)}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
