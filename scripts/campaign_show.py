"""How far the runs of a campaign are, read from the files they write."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from numcolbert.train.measures import as_it_ranks


def lines_of(run: Path) -> Iterator[dict[str, Any]]:
    """The log of a training or of a compared system."""
    for file in (run / "log.jsonl", run / "model" / "log.jsonl", run / "trial" / "log.jsonl"):
        if file.is_file():
            for line in file.read_text(encoding="utf-8").splitlines():
                with suppress(ValueError):  # the last one may be half written
                    yield json.loads(line)
            return


def last_words(log: Path) -> str:
    """The last line of what a program said, with the error that a last hint belongs to."""
    said = log.read_text(encoding="utf-8", errors="replace").replace("\r", "\n").split("\n")
    lines = [line.strip() for line in said if line.strip()]
    wanted = 2 if len(lines) > 1 and lines[-1].startswith("hint:") else 1
    return " ".join(line[-200:] for line in lines[-wanted:])


def development_scores(run: Path) -> dict[str, float]:
    """nDCG@10 on development queries alone: test queries are no help in choosing."""
    file = next((f for f in (run / "results.json", run / "runs" / "results.json") if f.is_file()), None)
    if file is None:
        return {}
    results = json.loads(file.read_text(encoding="utf-8"))
    if isinstance(results, list):
        results = {r["name"]: as_it_ranks(r["scores"]) for r in results}
    return {name: scores["nDCG@10"] for name, scores in results.items() if name.endswith("/dev")}


def show(work: Path) -> None:
    for log in sorted((work / "logs").glob("*.log")):
        folder = work / "runs" / log.stem
        steps = [line for line in lines_of(folder) if line.get("event", "train") == "train"]
        cells = [f"{log.stem:24}"]
        if steps:
            last = steps[-1]
            cells.append(f"step {last['step']:>7,}  {last.get('triples_per_s', 0):7,.0f}/s")
            cells += [f"{key} {last[key]:.3f}" for key in ("retrieval", "gate_mean") if key in last]
        scores = development_scores(folder)
        if scores:
            mean = sum(scores.values()) / len(scores)
            cells.append(f"dev {mean:.4f}  " + "  ".join(f"{n} {s:.3f}" for n, s in scores.items()))
        if not steps and not scores:
            cells.append(last_words(log) or "starting")
        sys.stdout.write("  ".join(cells) + "\n")
