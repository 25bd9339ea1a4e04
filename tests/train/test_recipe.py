from __future__ import annotations

from pathlib import Path

import pytest

from numcolbert.errors import NotFoundError, UsageError
from numcolbert.train.recipe import built_in_recipes, load_recipe


@pytest.mark.parametrize("name", built_in_recipes())
def test_every_built_in_recipe_loads(name: str) -> None:
    assert load_recipe(name).name == name


def test_recipes_differ_in_what_they_name_and_nothing_else() -> None:
    default, plain = load_recipe("default").as_dict(), load_recipe("colbert-ft").as_dict()
    assert plain["model"] == {**default["model"], "gated": False}
    without = {"contrastive": 0.0, "detection": 0.0, "properties": 0.0, "concept": 0.0}
    assert plain["loss"] == {**default["loss"], **without}
    assert (plain["optimiser"], plain["data"]) == (default["optimiser"], default["data"])
    own = {"start_share": 0.1, "gate_length": 0}
    assert plain["run"] == {**default["run"], **own}, "each has the share that is best for it"


def test_a_recipe_that_changes_one_key_of_a_table_keeps_the_others() -> None:
    default, pieces = load_recipe("default").model.encoder, load_recipe("word-pieces").model.encoder
    assert (pieces.query_length, pieces.document_length) == (default.query_length, default.document_length)
    assert (default.digits, pieces.digits) == ("single", "wordpiece")


def test_changes_are_read_as_toml_or_as_words() -> None:
    recipe = load_recipe(
        "default",
        [
            "model.backbone=models/minilm",
            "optimiser.lr=1e-4",
            'data.pools=["a", "b"]',
            "data.mix={a = 0.5, general = 0.5}",
            "model.gate.threshold=0.4",
            "data.stream.negatives.twin=0.9",
        ],
    )
    assert recipe.model.backbone == "models/minilm"
    assert recipe.optimiser.lr == 1e-4
    assert recipe.data.pools == (Path("a"), Path("b"))
    assert recipe.data.mix == {"a": 0.5, "general": 0.5}
    assert recipe.model.gate.threshold == 0.4
    assert recipe.data.stream.negatives.twin == 0.9


def test_a_recipe_extends_the_one_beside_it(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('extends = "default"\n[optimiser]\nlr = 1e-3\n')
    (tmp_path / "other.toml").write_text('extends = "mine"\n[run]\nseed = 7\n')
    recipe = load_recipe(str(tmp_path / "other.toml"))
    assert (recipe.name, recipe.optimiser.lr, recipe.run.seed) == ("other", 1e-3, 7)
    assert recipe.output == Path("runs/other")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("optimiser.batchsize=3", "did you mean 'batch'"),
        ("optimizer.lr=3", "did you mean 'optimiser'"),
        ("loss.positives=both", "choose one of 'unit', 'numeric', 'joint', 'separate'"),
        ("model.gate.treshold=0.5", "did you mean 'threshold'"),
        ("optimiser.lr=0", "must be positive"),
        ("optimiser.clip=-1", "must be positive"),
        ("optimiser.warmup=3", "lies between 0 and 1"),
        ("optimiser.beta1=1", "below 1"),
        ("model.dropout=1.5", "lies between 0 and 1"),
        ("data.workers=-1", "must not be negative"),
        ("run.seed=-1", "must not be negative"),
        ("run.gate_length=-1", "must not be negative"),
        ("run.gate_strength=-1", "must not be negative"),
        ("run.gate_length=1", "2 or more"),
        ("run.time_budget_s=-1", "must not be negative"),
        ("run.steps=-1", "must not be negative"),
        ("run.steps=0", "set run.steps or run.time_budget_s"),
        ("steps", "e.g. --set run.steps=100"),
        ("run.steps.more=1", "name it as section.key"),
        ("model.gate.query_length=1", "else it is 2 or more"),
        ("model.gate.query_length=-1", "else it is 2 or more"),
        ("model.gate.hidden_dim=-3", "must be positive"),
        ("model.gate.hidden_dim=0", "must be positive"),
        ("model.encoder.query_length=-5", "4 or more"),
        ("model.encoder.query_length=3", "4 or more"),
        ("model.encoder.document_length=2", "4 or more"),
        ("run.seed=99999999999999999999999", "below 2**63"),
        ("model.encoder.seed=99999999999999999999999", "below 2**63"),
        ("model.gate.seed=9223372036854775808", "below 2**63"),
        ("model.gate.seed=-1", "must not be negative"),
        ("loss.retrieval=-1", "must not be negative"),
        ("loss.keep_numbers=-1", "must not be negative"),
        ("loss.detection_positive_weight=-1", "must not be negative"),
        ("model.dropout=1.0", "below 1"),
        ("data.quantities=-1", "must be positive"),
        ('name=""', "leave it out, or name the run's folder"),
        ("model.teacher=backbone", "set loss.keep, or leave model.teacher out"),
        ("loss.answers=-1", "must not be negative"),
        ("loss.answers=0", "set loss.keep, or leave loss.answers out"),
    ],
)
def test_a_wrong_recipe_names_the_fix(change: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_recipe("default", [change])
    assert words in str(caught.value)


def test_a_recipe_that_learns_nothing_is_refused() -> None:
    weights = ["retrieval", "contrastive", "detection", "properties", "concept"]
    with pytest.raises(UsageError, match="learns nothing"):
        load_recipe("default", [f"loss.{name}=0" for name in weights])
    assert load_recipe("default", [f"loss.{name}=0" for name in weights[1:]]).loss.retrieval == 1


def test_a_teacher_that_nothing_asks_is_refused() -> None:
    with pytest.raises(UsageError, match=r"nothing else asks a teacher") as caught:
        load_recipe("default", ["model.teacher=runs/other/model", "loss.keep_numbers=1"])
    assert "holds what the start ranks" in caught.value.hint
    assert load_recipe("default", ["model.teacher=backbone", "loss.keep=1"]).model.teacher == "backbone"


def test_seeds_are_large_enough_for_a_clock_and_small_enough_for_every_generator() -> None:
    assert load_recipe("default", [f"run.seed={2**63 - 1}"]).run.seed == 2**63 - 1
    with pytest.raises(UsageError, match="too large beside dropout"):
        load_recipe("default", [f"run.seed={2**63 - 1}", "model.dropout=0.1"])


def test_blanks_around_a_change_are_no_part_of_it() -> None:
    recipe = load_recipe("default", ["model.backbone = m/tbert ", " optimiser.lr = 1e-4"])
    assert (recipe.model.backbone, recipe.optimiser.lr) == ("m/tbert", 1e-4)


def test_a_gate_that_is_not_there_cannot_be_held() -> None:
    with pytest.raises(UsageError, match="does not have"):
        load_recipe("colbert-ft", ["run.gate_length=8"])


def test_a_missing_recipe_lists_those_there_are() -> None:
    with pytest.raises(NotFoundError, match="tiny-cpu"):
        load_recipe("defalt")


def test_a_circle_of_recipes_is_an_error(tmp_path: Path) -> None:
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{name}.toml").write_text(f'extends = "{other}"\n')
    with pytest.raises(UsageError, match="extends itself"):
        load_recipe(str(tmp_path / "a.toml"))
