"""A checkpoint goes on only with the settings it was made with, as far as they matter."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from numcolbert.errors import InputError, UsageError
from numcolbert.train.recipe import load_recipe
from numcolbert.train.resuming import check_resumed

BEGUN = ["data.triples=t.npz", "data.workers=4", "run.steps=10", "optimiser.batch=16"]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    notes = {"recipe": load_recipe("tiny-cpu", BEGUN).as_dict(), "processes": 2}
    (tmp_path / "state.json").write_text(json.dumps(notes))
    return tmp_path


def resume(state: Path, *changes: str, processes: int = 2) -> None:
    check_resumed(state, load_recipe("tiny-cpu", [*BEGUN, *changes]), processes)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("run.seed=7", "run.seed (was 1, is 7)"),
        ("optimiser.batch=8", "optimiser.batch (was 16, is 8)"),
        ("data.triples=other.npz", "data.triples (was t.npz, is other.npz)"),
        ("data.stream.synonyms=0.9", "data.stream.synonyms (was 0.35, is 0.9)"),
        ("data.mix={pools=1.0}", "data.mix"),
        ("data.mask_known=false", "data.mask_known"),
        ("loss.contrastive=0", "loss.contrastive"),
        ("model.encoder.dim=8", "model.encoder.dim"),
        ("model.backbone=other", "model.backbone"),
        ("model.dropout=0.1", "model.dropout"),
    ],
)
def test_what_decides_what_is_learned_must_be_the_same(state: Path, change: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        resume(state, change)
    assert "was made with other settings: " + said in caught.value.message
    assert "as they were" in caught.value.hint and "--overwrite" in caught.value.hint


def test_all_that_differs_is_named_at_once_unless_it_is_too_much(state: Path) -> None:
    with pytest.raises(UsageError, match=r"optimiser.batch .*, run.seed \(was 1, is 7\)\.") as caught:
        resume(state, "run.seed=7", "optimiser.batch=8", "optimiser.lr=1")
    assert "optimiser.lr" not in caught.value.message  # that alone would be no obstacle
    with pytest.raises(UsageError, match="2 more"):
        resume(state, *(f"loss.{name}=0.5" for name in ("keep", "concept", "detection")), "run.seed=7",
               "optimiser.batch=8", "data.mask_known=false")  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        "run.steps=500",
        "run.time_budget_s=60",
        "run.output=elsewhere",
        "run.device=cuda",
        "run.precision=bf16",
        "run.log_every=1",
        "run.start_share=0.2",
        "run.checkpoint_every=3",
        "data.prefetch=9",
        "data.triples=./t.npz",
        "name=other",
    ],
)
def test_how_long_and_where_it_goes_on_is_free(
    state: Path, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    resume(state, change)
    assert not caplog.records


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("data.workers=2", "data.workers (was 4, is 2)"),
        ("data.tape=tape", "data.tape (was None, is tape)"),
        ("optimiser.lr=1e-5", "optimiser.lr (was 0.00015, is 1e-05)"),
        ("data.triples=/elsewhere/t.npz", "data.triples (was t.npz, is /elsewhere/t.npz)"),
    ],
)
def test_what_goes_on_otherwise_is_said(
    state: Path, change: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        resume(state, change)
    assert said in caplog.text


def test_another_number_of_processes_is_said(state: Path, caplog: pytest.LogCaptureFixture) -> None:
    resume(state, processes=1)
    assert "processes (was 2, is 1)" in caplog.text


def test_workers_do_not_matter_where_they_draw_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for begun, resumed in [
        (["data.workers=0"], ["data.workers=1"]),
        (["data.workers=4", "data.tape=tape"], ["data.workers=2", "data.tape=tape"]),
    ]:
        (tmp_path / "state.json").write_text(json.dumps({"recipe": load_recipe("tiny-cpu", begun).as_dict()}))
        check_resumed(tmp_path, load_recipe("tiny-cpu", resumed), 1)
    assert not caplog.records


def test_an_older_checkpoint_does_not_know_all_settings(state: Path) -> None:
    notes = json.loads((state / "state.json").read_text())
    del notes["processes"], notes["recipe"]["model"]["dropout"], notes["recipe"]["data"]["stream"]["acronyms"]
    (state / "state.json").write_text(json.dumps(notes))
    resume(state, "data.stream.acronyms=0")
    with pytest.raises(UsageError, match=r"model\.dropout \(was 0\.0, is 0\.1\)"):
        resume(state, "data.stream.acronyms=0", "model.dropout=0.1")


@pytest.mark.parametrize("text", ["{", "{}", "[]"])
def test_a_damaged_checkpoint_gets_a_sentence(state: Path, text: str) -> None:
    (state / "state.json").write_text(text)
    with pytest.raises(InputError) as caught:
        resume(state)
    assert "run.resume = false" in caught.value.hint
