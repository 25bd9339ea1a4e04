"""Ship a trained model: its weights, the packaged ONNX file and its card, all from one recorded run.

    python scripts/ship_model.py runs/default default-17k-average0.05-gate8 --baseline ft-17k-average0.1

takes the folder of the training and the recorded run that is to ship, averages the model as that run was
(`run.start_share`, `run.gate_length`, `run.gate_strength`) and writes models/numcolbert-minilm and
src/numcolbert/assets/model. At the end it says what has to be measured again with the new files.
"""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import model_facts
from numcolbert.config import read_json
from numcolbert.errors import InputError
from numcolbert.model.checkpoint import load_checkpoint, save_checkpoint
from numcolbert.model.export import export_model
from numcolbert.program import parser_of, program
from numcolbert.train.average import averaged_run
from numcolbert.train.gate_setting import GateSetting
from record_run import deciding
from recorded_runs import recorded

ROOT = Path(__file__).parent.parent
CHECKPOINT = ROOT / "models" / "numcolbert-minilm"
PACKAGE = ROOT / "src" / "numcolbert" / "assets" / "model"
MAY_DIFFER = {"run.start_share", "run.gate_length", "run.gate_strength", "run.time_budget_s"}
"""What is done to a model when its training is over, and a time that was not used up: it is not recorded."""


def check_same_training(training: Path, run: Mapping[str, Any]) -> None:
    hint = "name the folder of a finished training"
    made_with = deciding(read_json(training / "recipe.json", "recipe", hint=hint))
    for name, value in deciding(run["recipe"]).items():
        if name not in MAY_DIFFER and made_with.get(name) != value:
            raise InputError(
                f"'{training}' was trained with another {name} than the run '{run['run']}'.",
                hint=f"{made_with.get(name)!r} there, {value!r} in the recorded run",
            )


def ship(training: Path, run: Mapping[str, Any], checkpoint: Path, package: Path) -> None:
    """Write the weights beside the card, and the packaged model made of them."""
    check_same_training(training, run)
    at_the_end = run["recipe"]["run"]
    gate = GateSetting(at_the_end.get("gate_length", 0), at_the_end.get("gate_strength", 1.0))
    model = averaged_run(training, at_the_end["start_share"], gate)
    with tempfile.TemporaryDirectory() as aside:
        save_checkpoint(model, Path(aside) / "model")
        shutil.copytree(Path(aside) / "model", checkpoint, dirs_exist_ok=True)
    notes = {
        "checkpoint": f"models/{checkpoint.name}",
        "recipe": shlex.split(run["command"])[2],
        "triples": model_facts.in_all(run, "triples"),
        "date": run["date"],
    }
    # From the files, not from memory: what is packaged is what was saved.
    export_model(load_checkpoint(checkpoint), package, name=checkpoint.name, notes=notes, overwrite=True)


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("training", type=Path, help="folder of the training, as it was before averaging")
    parser.add_argument("run", help="name of the recorded run that ships")
    parser.add_argument("--baseline", action="append", default=[], help="names of recorded runs beside it")
    parser.add_argument("--checkpoint", type=Path, default=CHECKPOINT)
    parser.add_argument("--package", type=Path, default=PACKAGE)
    chosen = parser.parse_args(arguments)
    ship(chosen.training, recorded(chosen.run), chosen.checkpoint, chosen.package)
    beside = [word for name in chosen.baseline for word in ("--baseline", name)]
    model_facts.main([str(chosen.checkpoint), chosen.run, *beside])
    sys.stdout.write(
        "Now measure what depends on the files (scripts/int8_quality.py), and read what is said in words:\n"
        f"'summary' and 'limits' in {chosen.checkpoint / 'facts.json'}, README.md, docs/results/lessons.md.\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
