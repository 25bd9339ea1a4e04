"""Record a finished training run under docs/results/runs/, for the table of runs.

    python scripts/record_run.py runs/default --recipe default --name default-17k --what "the default"

Takes the folder that `numcolbert train` leaves behind. The command recorded is the named built-in recipe with
every setting in which the run differs from it. A model averaged with its start is recorded with the results
of its own evaluation, from the folder of the run it was made of or from that run as it was recorded:

    python scripts/record_run.py runs/default --share 0.1 --results evaluated/results.json \
        --recipe default --name default-17k-average0.1 --what "the default, averaged"
    python scripts/record_run.py --average default-17k --share 0.2 --results evaluated/results.json ...

One that began with the model of another (`model.start_from`) is recorded with `--after` that run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from numcolbert.config import merged, read_json
from numcolbert.errors import InputError
from numcolbert.files import require_file
from numcolbert.program import parser_of, program
from numcolbert.train.journal import read_log
from numcolbert.train.recipe import Recipe, load_recipe
from recorded_runs import RUNS, recorded

CURVE_POINTS = 12
CURVE = ("step", "retrieval", "contrastive", "bound", "concept", "loss", "gate_mean", "detector_f1")
NOT_THE_RESULT = {
    "name", "run.output", "run.device", "run.log_every", "run.save_fp16", "run.checkpoint_every",
    "run.resume", "run.tensorboard", "run.evaluate_at_end", "run.evaluate_during", "run.eval_every",
    "run.depth", "run.precision", "data.tape", "data.workers", "data.prefetch", "model.backbone",
}  # fmt: skip
"""Settings that say where and how a run was made, not what came out."""
SETTINGS_OF = {
    ("contrastive",): ("positives", "unit_match", "contrast"),
    ("contrastive", "bound"): ("mention",),
    ("contrastive", "bound", "concept"): ("multi_positive",),
    ("concept",): ("concept_multi_positive",),
    ("keep",): ("keep_of",),
    ("keep", "keep_numbers"): ("keep_temperature",),
    ("keep_numbers",): ("keep_numbers_of",),
}
"""Settings of some losses, which count only where one of those has a weight."""
NUMERIC_TRIPLES = "data.stream."
"""Settings of triples with numbers, which general pairs do without."""


def flat(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        name = f"{above}{key}"
        if isinstance(value, Mapping) and name != "data.mix":
            yield from flat(value, f"{name}.")
        else:
            yield name, value


def written(value: Any) -> str:
    """A setting as `--set` reads it."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}={number}" for key, number in value.items()) + "}"
    return json.dumps(value, separators=(",", ":")) if not isinstance(value, str) else value


def deciding(made_with: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run that decide what came out."""
    settings = merged(Recipe().as_dict(), made_with)  # some may have come after the run
    without_effect = set(NOT_THE_RESULT)
    for losses, keys in SETTINGS_OF.items():
        if not any(settings["loss"][loss] for loss in losses):
            without_effect |= {f"loss.{key}" for key in keys}
    has_numbers = {*(settings["data"]["mix"] or ())} != {"general"}
    return {
        name: value
        for name, value in flat(settings)
        if name not in without_effect and (has_numbers or not name.startswith(NUMERIC_TRIPLES))
    }


def command(recipe: str, made_with: Mapping[str, Any]) -> str:
    usual = dict(flat(load_recipe(recipe).as_dict()))
    changes = [
        f"--set '{name}={written(value)}'"
        for name, value in deciding(made_with).items()
        if usual.get(name) != value
    ]
    return " ".join(["numcolbert train", recipe, *changes])


def without_folder(value: Any, folder: str) -> Any:
    """The same with paths given from `folder` on."""
    if isinstance(value, str):
        return value.removeprefix(folder)
    if isinstance(value, Mapping):
        return {key: without_folder(item, folder) for key, item in value.items()}
    return [without_folder(item, folder) for item in value] if isinstance(value, list) else value


def read_results(file: Path) -> Any:
    return json.loads(require_file(file, "file of results").read_text(encoding="utf-8"))


def record(chosen: argparse.Namespace) -> dict[str, Any]:
    """A run without its results, from its folder."""
    folder, hint = chosen.folder, "name the folder of a finished training"
    made_with = without_folder(read_json(folder / "recipe.json", "recipe", hint=hint), chosen.strip)
    log = read_log(folder / "log.jsonl")
    steps = [line for line in log if line["event"] == "train"]
    ends = [line for line in log if line["event"] == "end"]  # one for each time it was resumed, and the last
    if not ends or ends[-1].get("interrupted"):
        raise InputError(f"The training in '{folder}' has not ended.", hint="go on with run.resume = true")
    if ends[-1]["step"] >= made_with["run"]["steps"]:  # then its time was not up, and decided nothing
        made_with["run"]["time_budget_s"] = Recipe().run.time_budget_s
    end = ends[-1] | {"seconds": round(sum(line["seconds"] for line in ends), 2)}
    return {
        "machine": chosen.machine,
        "remarks": chosen.remarks,
        "end": {key: end[key] for key in ("step", "triples", "seconds", "triples_per_second")},
        "recipe": made_with,
        "curve": [
            {key: line[key] for key in CURVE if key in line}
            for line in steps[:: max(1, len(steps) // CURVE_POINTS)]
        ],
    }


def named(run: Mapping[str, Any], chosen: argparse.Namespace) -> dict[str, Any]:
    """The run, averaged with its start where a share is given, under its name and with its results."""
    made_with = run["recipe"]
    if chosen.share is not None:
        held = {"gate_length": chosen.gate_length} if chosen.gate_length else {}
        held |= {"gate_strength": chosen.gate_strength} if chosen.gate_strength is not None else {}
        made_with = made_with | {"run": made_with["run"] | {"start_share": chosen.share} | held}
    return {
        "run": chosen.name,
        "what": chosen.what,
        **({"after": recorded(chosen.after)["run"]} if chosen.after else {}),
        "date": date.today().isoformat(),
        "command": command(chosen.recipe, made_with),
        **{key: run[key] for key in ("machine", "remarks", "end")},
        "recipe": made_with,
        "results": read_results(chosen.results or chosen.folder / "results.json"),
        "curve": run["curve"],
    }


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--average", metavar="RUN", help="a recorded run, whose model was averaged")
    parser.add_argument("--share", type=float, help="of the start's weights in the average")
    parser.add_argument("--gate-length", type=int, help="of the gate's formula in the average")
    parser.add_argument("--gate-strength", type=float, help="factor of what its network says in the average")
    parser.add_argument("--results", type=Path, help="results.json of the average")
    parser.add_argument("--recipe", required=True, help="built-in recipe that is closest")
    parser.add_argument("--name", required=True)
    parser.add_argument("--what", required=True, help="a few words for the table")
    parser.add_argument("--after", metavar="RUN", help="the recorded run whose model it started from")
    parser.add_argument("--machine", default="", help="what it ran on")
    parser.add_argument("--remarks", default="")
    parser.add_argument("--strip", default="", help="folder to leave out of the paths in the recipe")
    chosen = parser.parse_args(arguments)
    if bool(chosen.folder) == bool(chosen.average):
        parser.error("give the folder of a run, or the name of a recorded one with --average")
    if (chosen.average or chosen.share is not None) and (chosen.share is None or chosen.results is None):
        parser.error("an average needs --share and --results")
    made = named(recorded(chosen.average) if chosen.average else record(chosen), chosen)
    target = RUNS / f"{made['date']}-{chosen.name}.json"
    target.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
