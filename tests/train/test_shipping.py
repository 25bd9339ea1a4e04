"""One command ships a model: weights, package and card."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from numcolbert.model.checkpoint import find_gate, load_checkpoint
from numcolbert.model.encoder import Encoder
from numcolbert.train.recipe import load_recipe
from numcolbert.train.trainer import train

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "models" / "numcolbert-minilm"


@pytest.fixture
def training(backbone: Path, triples_file: Path, tmp_path: Path) -> Path:
    changes = [
        f"model.backbone={backbone}",
        "model.encoder.dim=16",
        f"data.triples={triples_file}",
        "data.workers=0",
        "run.steps=2",
        f"run.output={tmp_path / 'training'}",
    ]
    train(load_recipe("tiny-cpu", changes))
    return tmp_path / "training"


def test_what_ships_is_the_recorded_average(
    training: Path,
    tmp_path: Path,
    script: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shipping = script("ship_model")
    facts = json.loads((SHIPPED / "facts.json").read_text(encoding="utf-8"))
    runs = map(
        json.loads, (f.read_text(encoding="utf-8") for f in (ROOT / "docs/results/runs").glob("*.json"))
    )
    like = next(run for run in runs if run["command"] == facts["recipe"]["command"])
    recipe = json.loads((training / "recipe.json").read_text(encoding="utf-8"))
    recipe["run"] |= {"start_share": 0.4, "gate_length": 3, "gate_strength": 0.5}
    first = like | {"run": "first", "after": "", "command": "numcolbert train before"}
    recorded = first | {"run": "small", "after": "first", "recipe": recipe}
    recorded |= {"command": "numcolbert train tiny-cpu"}
    (tmp_path / "runs").mkdir()
    for run in (first, recorded):
        (tmp_path / "runs" / f"{run['run']}.json").write_text(json.dumps(run), encoding="utf-8")
    monkeypatch.setattr(script("recorded_runs"), "RUNS", tmp_path / "runs")

    checkpoint, package = tmp_path / "small-model", tmp_path / "package"
    checkpoint.mkdir()
    shutil.copy(SHIPPED / "facts.json", checkpoint)
    arguments = [str(training), "small", "--checkpoint", str(checkpoint), "--package", str(package)]
    assert shipping.main(arguments) == 0
    assert "int8_quality" in capsys.readouterr().out
    model, encoder = load_checkpoint(checkpoint), Encoder.load(package)
    gate = find_gate(model)
    assert gate is not None and gate.query_length == 3
    ours, theirs = (
        encoder.encode_queries(["revenue above 5"])[0].vectors,
        model.encode_query("revenue above 5"),
    )
    cosines = (
        (ours * np.asarray(theirs)).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)
    )
    assert cosines.min() > 0.95
    assert encoder.config.notes["recipe"] == "tiny-cpu"
    assert encoder.config.notes["triples"] == 2 * like["end"]["triples"]
    card = (checkpoint / "README.md").read_text(encoding="utf-8")
    assert "numcolbert train tiny-cpu" in card and "| command 1 | numcolbert train before |" in card
    assert f"| step | {2 * like['end']['step']} |" in card

    # A run of another training must not vouch for these weights.
    recorded["recipe"]["optimiser"]["lr"] = 1.0
    (tmp_path / "runs" / "small.json").write_text(json.dumps(recorded), encoding="utf-8")
    assert shipping.main(arguments) == 1
    assert "another optimiser.lr" in capsys.readouterr().err
