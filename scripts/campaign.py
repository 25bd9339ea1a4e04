"""Train many recipes on one machine, a few at a time, and see how they do.

    python scripts/campaign.py run runs.toml work --slots 6   start what is in the file, or added to it later
    python scripts/campaign.py show work                      how far each is, and its development results

The file names settings that all runs share, and the runs:

    common = ["data.pools=[...]", "data.tape=work/tape", "run.steps=3000"]
    [[runs]]
    name = "no-gate"
    recipe = "no-gate"
    set = ["run.seed=7"]
    [[runs]]
    name = "splade"
    baseline = "splade"
    recipe = "colbert-ft"
    rates = [5e-5, 1.5e-4]

Runs go to work/runs/<name>, what they say to work/logs/<name>.log. Several small trainings keep a GPU busier
than one after the other; NVIDIA's MPS (`nvidia-cuda-mps-control -d`) lets their kernels run side by side.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from numcolbert.config import read_toml
from numcolbert.errors import UsageError
from numcolbert.program import program

LOOK_AGAIN_SECONDS = 1.0


def command(run: Mapping[str, Any], common: Sequence[str], work: Path) -> list[str]:
    output = work / "runs" / run["name"]
    settings = [*common, *run.get("set", [])]
    if "baseline" in run:
        made = [sys.executable, "-m", "numcolbert.baselines", "train", run["baseline"], run["recipe"]]
        made += ["-o", str(output)]
        if rates := run.get("rates"):
            made += ["--rates", *map(str, rates)]
    else:
        made = [sys.executable, "-m", "numcolbert.train", run["recipe"]]
        settings.append(f"run.output={output}")
    return [*made, *(part for setting in settings for part in ("--set", setting))]


def run_all(file: Path, work: Path, slots: int) -> int:
    """Until all are done; the file is read again all the time, and more runs may be written into it."""
    chosen = read_toml(file)
    running: dict[str, subprocess.Popen[bytes]] = {}
    ended: dict[str, int] = {}
    (work / "logs").mkdir(parents=True, exist_ok=True)
    try:
        while True:
            with suppress(UsageError):  # being written just now: what it said before holds
                chosen = read_toml(file)
            for name in [name for name, process in running.items() if process.poll() is not None]:
                ended[name] = running.pop(name).returncode
                sys.stderr.write(f"{name} ended with {ended[name]}\n")
            waiting = [r for r in chosen["runs"] if r["name"] not in running and r["name"] not in ended]
            for run in waiting[: max(0, slots - len(running))]:
                with (work / "logs" / f"{run['name']}.log").open("wb") as log:
                    running[run["name"]] = subprocess.Popen(
                        command(run, chosen.get("common", []), work), stdout=log, stderr=subprocess.STDOUT
                    )
            if not running and not waiting:
                return int(any(ended.values()))
            time.sleep(LOOK_AGAIN_SECONDS)
    finally:
        for process in running.values():
            process.terminate()  # a training then saves a checkpoint


def lines_of(run: Path) -> Iterator[dict[str, Any]]:
    for file in (run / "log.jsonl", run / "model" / "log.jsonl", run / "trial" / "log.jsonl"):
        if file.is_file():
            for line in file.read_text(encoding="utf-8").splitlines():
                if line.endswith("}"):  # the last one may be half written
                    yield json.loads(line)
            return


def development_scores(run: Path) -> dict[str, float]:
    """nDCG@10 on development queries alone: test queries are no help in choosing."""
    file = run / "results.json"
    if not file.is_file():
        return {}
    results = json.loads(file.read_text(encoding="utf-8"))
    if isinstance(results, list):
        results = {r["name"]: next(iter(r["scores"].values())) for r in results}
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
            said = log.read_text(encoding="utf-8", errors="replace").replace("\r", "\n").strip()
            cells.append(said.splitlines()[-1][-200:] if said else "starting")
        sys.stdout.write("  ".join(cells) + "\n")


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("file", type=Path)
    running.add_argument("work", type=Path)
    running.add_argument("--slots", type=int, default=4, help="trainings at once")
    showing = commands.add_parser("show")
    showing.add_argument("work", type=Path)
    chosen = parser.parse_args(arguments)
    if chosen.command == "run":
        return run_all(chosen.file, chosen.work, chosen.slots)
    show(chosen.work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
