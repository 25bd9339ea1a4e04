"""Recorded runs, and what is written about them, say the same."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from numcolbert.config import read_toml
from numcolbert.model.card import card, read_facts
from numcolbert.train.recipe import load_recipe

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"

Script = Callable[[str], ModuleType]


def test_the_tables_are_those_of_the_recorded_runs(script: Script) -> None:
    page = (RESULTS / "runs.md").read_text(encoding="utf-8")
    assert page == script("runs_table").filled(page), "run: python scripts/runs_table.py"


@pytest.mark.parametrize("file", sorted((RESULTS / "runs").glob("*.json")), ids=lambda file: file.stem)
def test_the_command_of_a_run_gives_its_settings(script: Script, file: Path) -> None:
    recording = script("record_run")
    run = json.loads(file.read_text(encoding="utf-8"))
    recipe, *sets = run["command"].removeprefix("numcolbert train ").split(" --set ")
    again = load_recipe(recipe, [change.strip("'") for change in sets]).as_dict()
    assert recording.command(recipe, again) == run["command"]
    made_with, usual = dict(recording.flat(run["recipe"])), dict(recording.flat(again))
    settled = made_with.keys() - recording.NOT_THE_RESULT
    if not run["recipe"]["loss"]["contrastive"]:
        settled -= recording.CONTRASTIVE
    assert {key: made_with[key] for key in settled} == {key: usual[key] for key in settled}


def test_the_card_of_the_shipped_model_is_that_of_its_run(script: Script) -> None:
    folder = ROOT / "models" / "numcolbert-minilm"
    facts = read_facts(folder / "facts.json")
    assert (folder / "README.md").read_text(encoding="utf-8") == card(facts), "run: scripts/model_facts.py"
    making = script("model_facts")
    recorded = [json.loads(file.read_text(encoding="utf-8")) for file in (RESULTS / "runs").glob("*.json")]
    (run,) = (making.recorded(r["run"]) for r in recorded if r["command"] == facts.recipe["command"])
    for title, rows in making.results(run, []).items():
        for row, written in zip(rows, facts.results[title], strict=True):
            assert row.items() <= written.items()


def test_a_campaign_starts_trainings_and_baselines(script: Script) -> None:
    campaign = script("campaign")
    common = ["run.steps=3"]
    plain = campaign.command({"name": "a", "recipe": "no-gate", "set": ["run.seed=2"]}, common, Path("w"))
    assert plain[1:4] == ["-m", "numcolbert.train", "no-gate"]
    assert plain[4:] == ["--set", "run.steps=3", "--set", "run.seed=2", "--set", "run.output=w/runs/a"]
    ours = {"name": "b", "recipe": "default", "baseline": "splade", "rates": [5e-5]}
    baseline = campaign.command(ours, common, Path("w"))
    assert baseline[2:] == [
        *("numcolbert.baselines", "train", "splade", "default", "-o", "w/runs/b"),
        *("--rates", "5e-05", "--set", "run.steps=3"),
    ]


def test_the_campaign_holds_every_training_of_the_tables() -> None:
    planned = read_toml(ROOT / "scripts" / "campaign.toml")
    recipes = {
        run["name"]: load_recipe(run["recipe"], [*planned["common"], *run.get("set", [])])
        for run in planned["runs"]
    }
    assert len(recipes) == len(planned["runs"])
    assert all(recipe.run.evaluate_at_end for recipe in recipes.values())
    taped = {name: recipe.data for name, recipe in recipes.items() if recipe.data.tape}
    assert len(set(map(str, taped.values()))) == 1  # a tape serves one setting of the data
    tables = [read_toml(path) for path in (ROOT / "src/numcolbert/reproduce/tables").glob("*.toml")]
    rows = [row for table in tables for row in table["rows"]]
    trained = {
        row["system"]
        for row in rows
        if " numcolbert.train " in row.get("command", "") or ".baselines train" in row.get("command", "")
    }
    assert trained == recipes.keys()


def test_a_campaign_shows_development_results_and_no_others(script: Script, tmp_path: Path) -> None:
    results = [
        {"name": "fin/dev", "scores": {"gated": {"nDCG@10": 0.5}}},
        {"name": "fin", "scores": {"gated": {"nDCG@10": 0.7}}},
    ]
    (tmp_path / "results.json").write_text(json.dumps(results))
    assert script("campaign").development_scores(tmp_path) == {"fin/dev": 0.5}


def test_a_campaign_outlives_a_plan_that_is_being_written(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = script("campaign")
    plan = tmp_path / "plan.toml"
    plan.write_text('[[runs]]\nname = "one"\nrecipe = "x"\n')

    def started(run: dict[str, str], _common: object, _work: Path) -> list[str]:
        plan.write_text('[[runs]]\nname = "one"\nrecipe = "x"\n[[ru')  # half a line more
        return [sys.executable, "-c", ""]

    monkeypatch.setattr(campaign, "command", started)
    monkeypatch.setattr(campaign, "LOOK_AGAIN_SECONDS", 0.05)
    assert campaign.main(["run", str(plan), str(tmp_path / "work")]) == 0
    assert (tmp_path / "work" / "logs" / "one.log").is_file()
    assert campaign.main(["run", str(tmp_path / "none.toml"), str(tmp_path / "work")]) == 1
