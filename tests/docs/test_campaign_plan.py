"""What the file of a campaign may say, and that the one we have describes the trainings of the tables."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from numcolbert.errors import UsageError
from numcolbert.reproduce.elsewhere import commands
from numcolbert.reproduce.spec import TABLES, load_table
from numcolbert.train.model_setup import NEW_COLBERT
from numcolbert.train.recipe import Recipe, load_recipe
from numcolbert.train.tape import NOT_IN_BATCHES

ROOT = Path(__file__).parents[2]
WORK = Path("w")


@pytest.fixture
def planning(script: Callable[[str], ModuleType]) -> ModuleType:
    return script("campaign_plan")


@pytest.fixture
def plan(planning: ModuleType) -> Any:
    return planning.read_plan(ROOT / "scripts" / "campaign.toml")


def test_runs_are_trainings_baselines_or_commands(planning: ModuleType) -> None:
    plan = planning.Plan(common=("run.steps=3",), words={"SETS": ["one", "two"]})

    def started(**keys: Any) -> list[list[str]]:
        lines = planning.commands_of(planning.Run("a", **keys), plan, WORK)
        assert {line[0] for line in lines} == {sys.executable}
        return [line[1:] for line in lines]

    common = ["--set", "run.steps=3"]
    tape = ["--set", "data.tape=w/tape"]
    assert started(recipe="no-gate", set=("data.tape=WORK/tape",)) == [
        ["-m", "numcolbert.train", "no-gate", *common, *tape, "--set", "run.output=w/runs/a", "--overwrite"]
    ]
    assert started(recipe="default", baseline="splade", rates=(5e-5,)) == [
        [
            *("-m", "numcolbert.baselines", "train", "splade", "default", "-o", "w/runs/a"),
            *("--rates", "5e-05", *common, "--overwrite"),
        ]
    ]
    assert started(command=("-m", "tape", "COMMON", "-o", "WORK/tape")) == [
        ["-m", "tape", *common, "-o", "w/tape"]
    ]
    assert started(commands=(("average", "-o", "RUN/model"), ("evaluate", "RUN/model", "SETS"))) == [
        ["average", "-o", "w/runs/a/model"],
        ["evaluate", "w/runs/a/model", "one", "two"],
    ]
    plan = replace(plan, words={"BENCHMARKS": ["b"], "CHOSEN_ON": ["b/dev", "c/dev"], "OTHERS": ["d"]})
    made = ["-o", "w/runs/a/model", "--overwrite"]
    average = ["-m", "numcolbert.train.average", "w/runs/t", "--share", "0.2"]
    choose = ["-m", "numcolbert.train.choose", "w/runs/t", "b/dev", "c/dev", "--shares", "0.1", "0.2"]
    rank = ["-m", "numcolbert.train.evaluate", "w/runs/a/model", "b", "-o", "w/runs/a/runs"]
    assert started(after="t", shares=(0.2,)) == [[*average, *made], rank]
    held = [*average, "--gate-length", "8", *made]
    assert started(after="t", shares=(0.2,), gate_lengths=(8,)) == [held, rank]
    assert started(after="t", shares=(0.2,), keep_depth=7) == [[*average, *made], [*rank, "--depth", "7"]]
    ranked = ["--rank", "b", "--runs", "w/runs/a/runs"]
    assert started(after="t", shares=(0.1, 0.2)) == [[*choose, *made, *ranked]]
    others = [*choose[:3], "d", *choose[5:], *made, *ranked]
    assert started(after="t", shares=(0.1, 0.2), chosen_on="OTHERS") == [others]
    several = [*choose[:-1], "--gate-lengths", "4", "8", *made, *ranked, "--depth", "7"]
    assert started(after="t", shares=(0.1,), gate_lengths=(4, 8), keep_depth=7) == [several]
    weaker = [*average, "--gate-strength", "0.8", *made]
    assert started(after="t", shares=(0.2,), gate_strengths=(0.8,)) == [weaker, rank]


@pytest.mark.parametrize(
    ("lines", "said", "hint"),
    [
        ('name = "a"\nrecipe = "x"\naftr = "b"', "Unknown key 'aftr' in run 'a' of", "did you mean 'after'?"),
        ('recipe = "x"', "run 1 of '.*' lacks the key 'name'", "name = ..."),
        ('name = "a"', "does not say what to start", "recipe, command, commands"),
        ('name = "a"\nrecipe = "x"\ncommand = ["y"]', "does not say what to start", "one of"),
        ('name = "a"\ncommands = [[]]', "does not say what to start", "one of"),
        ('name = "a"\nshares = [0.1]', "averages nothing", "after"),
        ('name = "a"\nrecipe = "x"\ngate_lengths = [8]', "changes a gate", "share"),
        ('name = "a"\nshares = [0.1, 2]\nafter = "b"', "has a share of 2", "between 0 and 1"),
        ('name = "../a"\nrecipe = "x"', "is no name for a run", "letters"),
        ('name = "a"\nrecipe = "x"\nafter = "b"', "starts after 'b', which is no run", "name"),
        ('name = "a"\nrecipe = "x"\nafter = "a"', "waits for itself", "circle"),
        ('name = "a"\nrecipe = "x"\nneeds = ["b"]', "starts after 'b', which is no run", "name"),
        ('name = "a"\nrecipe = "x"\nminutes = "1"', "key 'minutes' is '1'", "float"),
        ('name = "a"\nrecipe = "x"\nalone = true\nbackground = true', "background and alone", "one"),
        ('name = "a"\ncommand = ["x"]\nset = ["run.steps=1"]', "settings and no recipe", "command"),
        ('name = "a"\nrecipe = "x"\nrates = [1e-4]', "rates and no baseline", "optimiser.lr"),
        ('name = "a"\nrecipe = "x"\nkeep_depth = 0', "keeps 0 hits", "positive"),
        ('name = "a"\nrecipe = "x"\n[[runs]]\nname = "a"\nrecipe = "y"', "the same name", "own"),
        (
            'name = "a"\nrecipe = "x"\nbeside = "b"\n[[runs]]\nname = "b"\nrecipe = "y"',
            "'b', which is not in the background",
            "background = true",
        ),
    ],
)
def test_a_bad_file_is_answered_with_a_sentence_and_a_hint(
    planning: ModuleType, tmp_path: Path, lines: str, said: str, hint: str
) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(f"[[runs]]\n{lines}\n")
    with pytest.raises(UsageError, match=said) as raised:
        planning.read_plan(file)
    assert hint in raised.value.hint


def test_a_training_is_over_before_the_campaign_is(planning: ModuleType) -> None:
    plan = planning.Plan(common=("run.steps=3",))
    for run in (planning.Run("a", recipe="default"), planning.Run("a", recipe="default", baseline="splade")):
        ((_, *words),) = planning.commands_of(run, plan, WORK, 600.4)
        first = words.index("--set")
        # Before all others, which may say otherwise.
        assert words[first : first + 4] == ["--set", "run.time_budget_s=600", "--set", "run.steps=3"]
    ((_, *words),) = planning.commands_of(planning.Run("a", command=("-m", "tape")), plan, WORK, 600.4)
    assert words == ["-m", "tape"]


def test_one_word_stands_for_several_settings(planning: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(
        'words.FEW = ["run.steps=3", "run.seed=1"]\n'
        '[[runs]]\nname = "a"\nrecipe = "no-gate"\nset = ["FEW", "data.workers=2"]\n'
        '[[runs]]\nname = "b"\ncommand = ["-m", "tape", "--set", "FEW", "-o", "x"]\n'
    )
    plan = planning.read_plan(file)
    training, command = plan.runs
    assert training.set == ("run.steps=3", "run.seed=1", "data.workers=2")
    ((_, *words),) = planning.commands_of(command, plan, WORK)
    assert words == ["-m", "tape", "--set", "run.steps=3", "--set", "run.seed=1", "-o", "x"]


def test_runs_that_are_no_tables_are_refused(planning: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text("runs = 3\n")
    with pytest.raises(UsageError, match="are not tables"):
        planning.read_plan(file)


def test_some_runs_bring_those_they_wait_for(plan: Any) -> None:
    chosen = [run.name for run in plan.only(["joint"]).runs]
    assert chosen == ["tape-few", "colbert-general", "tape-joint", "joint-plain", "joint"]
    with pytest.raises(UsageError, match="no run 'jont'"):
        plan.only(["jont"])


def test_what_is_there_is_not_made_again(plan: Any) -> None:
    chosen = [run.name for run in plan.only(["joint"], ["colbert-general", "tape-few"]).runs]
    assert chosen == ["tape-joint", "joint-plain", "joint"]
    assert [run.name for run in plan.only(["joint"], ["joint-plain"]).runs] == ["joint"], (
        "nothing else needs it"
    )
    others = {run.name for run in plan.only([], ["joint-plain"]).runs}
    assert {run.name for run in plan.runs} - others == {"joint-plain"}
    with pytest.raises(UsageError, match="no run 'jont'"):
        plan.only([], ["jont"])


def _recipe(plan: Any, run: Any) -> Recipe:
    return load_recipe(run.recipe, [*plan.common, *run.set])


def _shares(plan: Any, run: Any) -> tuple[float, ...]:
    """Of the weights a run started from, in the models that are evaluated."""
    return run.shares or (_recipe(plan, run).run.start_share,)


def test_the_campaign_holds_every_training_of_the_tables(planning: ModuleType, plan: Any) -> None:
    runs = {run.name: run for run in plan.runs}
    lines = {system: command.line for command in commands() for system in command.systems}
    ours = {system: line for system, line in lines.items() if " numcolbert.train " in line}
    compared = {system for system, line in lines.items() if ".baselines train" in line}
    assert ours.keys() | compared <= runs.keys()
    for system, line in ours.items():
        _, _, _, recipe, *words = line.split()
        changes = [value for key, value in pairwise(words) if key == "--set"]
        assert load_recipe(recipe, changes).run.start_share in _shares(plan, runs[system]), system
    benchmarks = tuple(map(Path, plan.words["BENCHMARKS"]))
    for run in (run for run in plan.runs if run.recipe):
        ranked = _recipe(plan, run).run.evaluate_at_end
        # Where a learning rate is tried out, development queries are enough to choose.
        is_trial = run.baseline and run.name not in compared
        assert set(ranked) <= set(benchmarks) if is_trial else ranked == benchmarks, run.name
    firsts = {row.first for table in TABLES for row in load_table(table).rows}
    for name in firsts & runs.keys():
        assert runs[name].keep_depth == 1000, name
        # A baseline writes as many by itself; an average is ranked by a command of its own.
        *_, last = planning.commands_of(runs[name], plan, WORK)
        assert runs[name].baseline or last[-2:] == ["--depth", "1000"], name


def test_every_tape_of_the_campaign_holds_what_its_readers_want(planning: ModuleType, plan: Any) -> None:
    def on_tape(recipe: Recipe) -> tuple[object, ...]:
        plain = dict.fromkeys(NOT_IN_BATCHES)
        data = replace(recipe.data, **plain)
        return data, recipe.model.encoder, recipe.optimiser.batch, recipe.run.seed

    tapes = {run.name: run for run in plan.runs if run.background}
    readers = [run for run in plan.runs if run.recipe and _recipe(plan, run).data.tape]
    assert {reader.beside for reader in readers} == tapes.keys()
    for reader in readers:
        recipe = _recipe(plan, reader)
        ((_, _, module, name, *words),) = planning.commands_of(tapes[reader.beside], plan, Path("WORK"))
        assert module == "numcolbert.train.tape"
        changes = [value for key, value in pairwise(words) if key == "--set"]
        assert on_tape(recipe) == on_tape(load_recipe(name, changes)), reader.name
        assert recipe.data.tape == Path(words[words.index("-o") + 1])
        assert tapes[reader.beside].ready == f"{recipe.data.tape}/tape.json"
        assert recipe.run.steps <= int(words[words.index("--batches") + 1])


def test_long_trainings_are_averaged_with_their_start(planning: ModuleType, plan: Any) -> None:
    ours = [run for run in plan.runs if run.recipe and not run.baseline]
    long = {run.name for run in ours if _recipe(plan, run).run.steps >= 12_000}
    further = {run.name for run in ours if _recipe(plan, run).model.start_from}
    averaged = [run for run in plan.runs if run.shares]
    parents = {*long, *further, "numbers-only-every-plain"}
    assert {run.after for run in averaged} == parents
    for name in parents:
        tried = {share for run in averaged if run.after == name for share in run.shares}
        # More of a start that knows numbers may stay.
        assert len(tried) > 1 and (0.1 in tried or name in further), f"{name}: no choice"
    for run in averaged:
        averaging, *_ = commands = planning.commands_of(run, plan, WORK)
        assert averaging[3] == f"w/runs/{run.after}"
        assert set(plan.words["BENCHMARKS"]) <= set(commands[-1])
        (trained,) = (other for other in plan.runs if other.name == run.after)
        assert _shares(plan, trained) == (0,), f"{run.name} would be averaged twice"
    # Chosen on development queries and facts, whose queries are in no table of test results.
    assert set(plan.words["CHOSEN_ON"]) < set(plan.words["BENCHMARKS"])
    for run in averaged:
        assert all(folder.endswith(("/dev", "/facts", "-dev")) for folder in plan.words[run.chosen_on])


def test_joint_training_starts_from_general_search_or_has_it_for_a_teacher(plan: Any) -> None:
    trainings = [
        run
        for run in plan.runs
        if run.recipe == "joint-further" or (run.recipe and run.name.startswith("joint-"))
    ]
    assert len(trainings) == 12
    for joint in trainings:
        recipe = _recipe(plan, joint)
        assert recipe.model.start_from == f"WORK/runs/{joint.after}/model"
        has_a_teacher = recipe.model.teacher in (
            NEW_COLBERT,
            *(f"WORK/runs/{name}/model" for name in joint.needs),
        )
        assert joint.after == "colbert-general" or has_a_teacher
        assert recipe.loss.keep
