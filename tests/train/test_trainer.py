"""Whole runs on a tiny random BERT."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import MultiVectorEncoder
from tests.train.conftest import Names, make_triples

from numcolbert.data.triple import Triple
from numcolbert.data.triple_files import write_triples
from numcolbert.errors import (
    ConflictError,
    InputError,
    ModelError,
    NotFoundError,
    NumColBERTError,
    UsageError,
)
from numcolbert.model.checkpoint import find_gate, load_checkpoint
from numcolbert.train.__main__ import main
from numcolbert.train.average import averaged_run
from numcolbert.train.journal import read_log
from numcolbert.train.model_setup import build_model, text_settings
from numcolbert.train.recipe import Recipe, load_recipe
from numcolbert.train.schedule import Budget
from numcolbert.train.tape import write_tape
from numcolbert.train.trainer import Trainer, train
from numcolbert.train.workers import FeedSettings


@pytest.fixture
def recipe(tmp_path: Path, backbone: Path, triples_file: Path) -> Any:
    def make(*changes: str, name: str = "tiny-cpu", output: str = "run") -> Recipe:
        own = [
            f"model.backbone={backbone}",
            "model.encoder.dim=16",
            f"data.triples={triples_file}",
            "data.workers=0",
            "data.token_multiple=64",
            "optimiser.lr=1e-3",
            f"run.output={tmp_path / output}",
            'run.device="cpu"',
            "run.log_every=1",
            "run.steps=12",
            "optimiser.batch=16",
        ]
        return load_recipe(name, [*own, *changes])

    return make


def losses(folder: Path, part: str = "loss") -> list[float]:
    return [line[part] for line in read_log(folder / "log.jsonl") if line["event"] == "train"]


def test_training_learns_and_leaves_a_model_that_opens_anywhere(
    recipe: Any, benchmark_folder: Path, tmp_path: Path
) -> None:
    chosen = recipe(
        "run.steps=150",
        "run.log_every=5",
        "run.eval_every=75",
        f'run.evaluate_during=["{benchmark_folder}"]',
        f'run.evaluate_at_end=["{benchmark_folder}"]',
        "data.workers=1",
    )
    outcome = train(chosen)
    values = losses(tmp_path / "run", "retrieval")
    assert np.mean(values[-5:]) < 0.6 * np.mean(values[:3])
    assert losses(tmp_path / "run", "detection")[-1] < 0.1

    evaluations = [x for x in read_log(tmp_path / "run" / "log.jsonl") if x["event"] == "evaluation"]
    assert [x["step"] for x in evaluations] == [75, 150]
    (result,) = outcome.results
    assert result.scores["gated"]["nDCG@10"] > 0.35
    assert result.detector["f1"] > 0.95
    assert {"equal", "greater", "less"} == set(result.subsets)
    assert json.loads((tmp_path / "run/results.json").read_text())[0]["name"] == "tiny"
    assert (tmp_path / "run/runs/tiny.gated.trec").read_text().split()[:2] == ["q0", "Q0"]

    model = MultiVectorEncoder(str(tmp_path / "run/model"), trust_remote_code=True, device="cpu")
    query = model.encode_query(["revenue above 42 dollars"])
    good, bad = model.encode_document(
        ["the revenue was 55 dollars in the report", "the dose was 20 kg in the report"]
    )
    scores = model.similarity(query, [good, bad])[0]
    assert scores[0] > scores[1]


def test_a_resumed_run_follows_the_curve_of_an_uninterrupted_one(recipe: Any, tmp_path: Path) -> None:
    train(recipe(output="whole"))
    Trainer.run(_stopping_after(recipe("run.checkpoint_every=5", output="parts"), 7))
    assert len(losses(tmp_path / "parts")) == 7
    train(recipe("run.checkpoint_every=5", "run.resume=true", output="parts"))
    assert losses(tmp_path / "parts") == pytest.approx(losses(tmp_path / "whole"), abs=1e-5)


def test_what_a_killed_run_did_after_its_checkpoint_counts_once(recipe: Any, tmp_path: Path) -> None:
    chosen = recipe("run.checkpoint_every=5", output="killed")
    _killed_after(Trainer(chosen, Budget(chosen.run.steps)), 7)
    with (tmp_path / "killed/log.jsonl").open("a") as log:
        log.write('{"event": "tra')
    with pytest.raises(InputError, match="cut off"):
        read_log(tmp_path / "killed/log.jsonl")
    train(recipe("run.checkpoint_every=5", "run.resume=true", output="killed"))
    lines = read_log(tmp_path / "killed/log.jsonl")
    assert [line["step"] for line in lines if line["event"] == "train"] == list(range(1, 13))


def test_a_replaced_run_leaves_no_checkpoint_and_no_results_behind(recipe: Any, tmp_path: Path) -> None:
    train(recipe("run.checkpoint_every=5"))
    (tmp_path / "run/results.json").write_text("[]")
    chosen = recipe("run.seed=5")
    trainer = Trainer(chosen, Budget(chosen.run.steps), overwrite=True)
    _killed_after(trainer, 1)  # before its first checkpoint
    assert not (tmp_path / "run/state").exists()
    assert not (tmp_path / "run/results.json").exists()


def test_what_ends_before_its_first_batch_costs_nothing(recipe: Any, tmp_path: Path) -> None:
    train(recipe("run.checkpoint_every=5"))
    (tmp_path / "run/results.json").write_text("[]")

    def contents() -> dict[str, bytes]:
        return {str(f): f.read_bytes() for f in (tmp_path / "run").rglob("*") if f.is_file()}

    before = contents()
    with pytest.raises(NumColBERTError, match="nowhere"):
        train(recipe(f"data.tape={tmp_path / 'nowhere'}", "model.gated=false"), overwrite=True)
    assert contents() == before
    chosen = recipe("run.seed=5")
    trainer = Trainer(chosen, Budget(chosen.run.steps), overwrite=True)
    trainer._stop_asked = True  # Ctrl-C while workers start
    assert trainer.run().interrupted
    assert contents() == before


@pytest.mark.parametrize("change", ["model.gated=false", "loss.properties=0"])
def test_a_checkpoint_with_more_than_the_recipe_has_is_refused(
    recipe: Any, change: str, tmp_path: Path
) -> None:
    train(recipe("run.steps=2", "run.checkpoint_every=2"))
    chosen = recipe("run.steps=4", "run.resume=true", change)
    notes = tmp_path / "run/state/state.json"
    kept = json.loads(notes.read_text())
    notes.write_text(json.dumps(kept | {"recipe": chosen.as_dict()}))
    with pytest.raises(InputError, match=r"does not fit this recipe.*no place for"):
        train(chosen)


def test_a_checkpoint_with_a_damaged_position_gets_a_sentence(recipe: Any, tmp_path: Path) -> None:
    train(recipe("run.steps=2", "run.checkpoint_every=2"))
    notes = tmp_path / "run/state/state.json"
    notes.write_text(notes.read_text().replace('"step": 2', '"step": "2"'))
    with pytest.raises(InputError, match="'step'"):
        train(recipe("run.steps=4", "run.resume=true"))


@pytest.fixture
def mixed_file(tmp_path: Path) -> Path:
    """Triples with a condition and, as many, without."""
    ordinary = [Triple(t.query, [], t.positive, t.negative) for t in make_triples(40, seed=3)]
    file = tmp_path / "mixed.npz"
    write_triples(file, [*make_triples(40, seed=2), *ordinary], Names())
    return file


def test_what_is_kept_is_the_ranking_of_the_start_also_after_resuming(
    recipe: Any, mixed_file: Path, tmp_path: Path
) -> None:
    changes = ["loss.keep=5.0", f"data.triples={mixed_file}"]
    train(recipe(*changes, output="whole"))
    kept = losses(tmp_path / "whole", "keep")
    assert kept[0] == pytest.approx(0.0, abs=1e-6)  # the model still is what it was
    assert max(kept) > 1e-3
    Trainer.run(_stopping_after(recipe(*changes, "run.checkpoint_every=5", output="parts"), 7))
    train(recipe(*changes, "run.checkpoint_every=5", "run.resume=true", output="parts"))
    assert losses(tmp_path / "parts", "keep") == pytest.approx(kept, abs=1e-5)
    train(recipe("loss.keep=0.001", f"data.triples={mixed_file}", output="free"))
    assert losses(tmp_path / "free", "keep")[-1] > kept[-1]


@pytest.mark.parametrize("of", ["queries", "tokens"])
def test_rankings_of_numbers_are_kept_as_the_start_has_them_with_its_gate(
    recipe: Any, mixed_file: Path, tmp_path: Path, of: str
) -> None:
    train(recipe("run.steps=40", output="start"))
    changes = [f"model.start_from={tmp_path / 'start/model'}", f"data.triples={mixed_file}"]
    changes += ["loss.keep=1", "model.teacher=backbone"]  # pulls away from the start
    changes.append(f"loss.keep_numbers_of={of}")
    train(recipe(*changes, "loss.keep_numbers=5", output="held"))
    train(recipe(*changes, "loss.keep_numbers=0.001", output="free"))
    held, free = (losses(tmp_path / name, "keep_numbers") for name in ("held", "free"))
    assert held[0] == pytest.approx(0.0, abs=1e-6)  # also where the gate is not 1 any more
    assert max(held) > 1e-4
    assert sum(held) < sum(free)


def test_no_gate_is_left_where_none_is_wanted(recipe: Any, tmp_path: Path) -> None:
    train(recipe("run.steps=2", output="start"))
    changes = [f"model.start_from={tmp_path / 'start/model'}", "model.gated=false", "run.start_share=0.5"]
    train(recipe("run.steps=2", *changes, output="plain"))
    assert find_gate(load_checkpoint(tmp_path / "plain/model")) is None
    assert find_gate(averaged_run(tmp_path / "plain", 0.2)) is None


@pytest.mark.parametrize("of", ["queries", "tokens"])
def test_a_teacher_gives_back_rankings_that_the_start_has_lost(
    recipe: Any, mixed_file: Path, tmp_path: Path, of: str
) -> None:
    train(recipe("run.steps=40", output="start"))
    only_keep = ["loss.retrieval=0", "loss.contrastive=0", "loss.detection=0", "loss.properties=0"]
    changes = [f"model.start_from={tmp_path / 'start/model'}", "loss.keep=1", f"data.triples={mixed_file}"]
    changes += [*only_keep, "run.steps=80", f"loss.keep_of={of}"]
    train(recipe(*changes, output="itself"))
    assert losses(tmp_path / "itself", "keep")[0] == pytest.approx(0.0, abs=1e-6)
    train(recipe(*changes, "model.teacher=backbone", output="taught"))
    apart = losses(tmp_path / "taught", "keep")
    assert apart[0] > 0.05  # the start had gone another way
    assert sum(apart[-10:]) < 0.5 * sum(apart[:10])
    before = recipe("run.steps=0", "run.time_budget_s=1e-9", output="before")
    train(before)  # the new ColBERT itself, as a checkpoint
    train(recipe(*changes, f"model.teacher={tmp_path / 'before/model'}", output="named"))
    assert losses(tmp_path / "named", "keep") == pytest.approx(apart, rel=1e-3, abs=1e-5)


def test_a_teacher_that_reads_otherwise_is_refused(recipe: Any, mpnet: Path, tmp_path: Path) -> None:
    train(recipe("run.steps=1", f"model.backbone={mpnet}", output="other"))
    with pytest.raises(ModelError, match=r"teacher '.*other/model' reads text otherwise") as caught:
        train(recipe("loss.keep=1", f"model.teacher={tmp_path / 'other/model'}"))
    assert "tokenizer" in caught.value.hint
    (tmp_path / "empty").mkdir()
    with pytest.raises(NumColBERTError, match="empty"):
        train(recipe("loss.keep=1", f"model.teacher={tmp_path / 'empty'}"))


def test_half_precision_on_a_processor_learns_about_the_same(recipe: Any, tmp_path: Path) -> None:
    for precision in ("auto", "fp32", "bf16"):
        train(recipe(f"run.precision={precision}", output=precision))
    full, half = losses(tmp_path / "fp32"), losses(tmp_path / "bf16")
    assert losses(tmp_path / "auto") == full  # a processor takes half precision only where it is asked to
    assert half != full
    assert half == pytest.approx(full, rel=0.05)


def _killed_after(trainer: Trainer, steps: int) -> None:
    plain = trainer._should_stop

    def stop() -> bool:
        if trainer.position.step == steps:
            raise MemoryError  # like a kill: no checkpoint, no end
        return plain()

    trainer._should_stop = stop  # type: ignore[method-assign]
    with pytest.raises(MemoryError):
        trainer.run()


def _stopping_after(recipe: Recipe, steps: int) -> Trainer:
    trainer = Trainer(recipe, Budget(recipe.run.steps))
    plain = trainer._should_stop

    def stop() -> bool:
        trainer._stop_asked = trainer.position.step >= steps
        return plain()

    trainer._should_stop = stop  # type: ignore[method-assign]
    return trainer


def test_the_same_seed_gives_the_same_curve(recipe: Any, tmp_path: Path) -> None:
    for output in ("a", "b"):
        train(recipe("run.steps=4", "model.dropout=0.1", output=output))
    assert losses(tmp_path / "a") == losses(tmp_path / "b")


def test_a_time_budget_ends_the_run(recipe: Any) -> None:
    seconds = iter(range(1_000_000))  # a clock that moves when it is looked at
    budget = Budget(seconds=40, clock=lambda: float(next(seconds)))
    outcome = Trainer(recipe("run.steps=0", "run.time_budget_s=40"), budget).run()
    assert 1 < outcome.step < 40
    assert not outcome.interrupted


def test_a_budget_that_is_used_up_before_the_first_step_ends_the_run(recipe: Any, tmp_path: Path) -> None:
    assert train(recipe("run.steps=0", "run.time_budget_s=1e-6")).step == 0
    assert (tmp_path / "run/model/modules.json").is_file()


def test_sigterm_saves_a_checkpoint_and_the_model(recipe: Any, tmp_path: Path) -> None:
    chosen = recipe("run.steps=1000000", "run.log_every=1000")
    trainer = Trainer(chosen, Budget(chosen.run.steps))
    plain = trainer._should_stop

    def stop() -> bool:
        if trainer.position.step == 5:
            os.kill(os.getpid(), signal.SIGTERM)  # the loop runs, so its handler is in place
        return plain()

    trainer._should_stop = stop  # type: ignore[method-assign]
    outcome = trainer.run()
    assert outcome.interrupted
    assert 5 <= outcome.step < 10
    notes = json.loads((tmp_path / "run/state/state.json").read_text())
    assert notes["position"]["step"] == outcome.step
    assert (tmp_path / "run/model/modules.json").is_file()


def test_a_wait_for_a_batch_ends_when_that_is_asked(recipe: Any, tmp_path: Path) -> None:
    tape = tmp_path / "tape"
    chosen = recipe(f"data.tape={tape}")
    text = text_settings(build_model(chosen.model, torch.device("cpu")))
    write_tape(FeedSettings(chosen.data, text, 16, chosen.run.seed), tape, 4)
    (tape / "0000002.batch").unlink()  # as if it was still being drawn
    trainer = Trainer(chosen, Budget(chosen.run.steps))
    plain = trainer._next_batch

    def wait(batches: Any) -> Any:
        if trainer.position.step == 2:
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        return plain(batches)

    trainer._next_batch = wait  # type: ignore[method-assign]
    outcome = trainer.run()
    assert outcome.interrupted
    assert outcome.step == 2
    assert json.loads((tmp_path / "run/state/state.json").read_text())["position"]["step"] == 2


@pytest.mark.parametrize(
    "name", ["colbert-ft", "no-gate", "no-cont", "no-prop", "no-det", "hidden-gate", "positives-separate"]
)
def test_every_variant_takes_a_step(recipe: Any, name: str, tmp_path: Path) -> None:
    small = ("run.steps=2", "model.encoder.query_length=32", "model.encoder.document_length=64")
    outcome = train(recipe(*small, "run.precision=fp32", name=name))
    assert outcome.step == 2
    parts = read_log(tmp_path / "run/log.jsonl")[0]
    assert ("contrastive" in parts) == (name not in ("colbert-ft", "no-cont"))
    assert ("detection" in parts) == (name not in ("colbert-ft", "no-gate", "no-det"))
    assert ("mantissa" in parts) == (name not in ("colbert-ft", "no-prop"))


def test_mpnet_trains_too(recipe: Any, mpnet: Path) -> None:
    assert train(recipe("run.steps=2", f"model.backbone={mpnet}", "run.save_fp16=true")).step == 2


def test_triples_without_conditions_train_the_retrieval_loss(recipe: Any, general_file: Path) -> None:
    assert train(recipe("run.steps=2", f"data.triples={general_file}")).step == 2


def test_wrong_paths_fail_before_anything_is_trained(recipe: Any, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="nowhere"):
        train(recipe('run.evaluate_at_end=["nowhere"]'))
    with pytest.raises(NumColBERTError, match="nowhere"):
        train(recipe('model.backbone="./nowhere"'))
    assert not (tmp_path / "run").exists()
    (tmp_path / "run").touch()
    for overwrite in (False, True):
        with pytest.raises(ConflictError, match="is a file, not a folder"):
            train(recipe('model.backbone="./nowhere"'), overwrite=overwrite)


def test_a_checkpoint_of_another_recipe_is_refused_and_kept(recipe: Any, tmp_path: Path) -> None:
    train(recipe("run.steps=2", "run.checkpoint_every=1"))
    before = {path: path.read_bytes() for path in sorted((tmp_path / "run").rglob("*")) if path.is_file()}
    with pytest.raises(UsageError, match=r"other settings: model.encoder.dim \(was 16, is 8\)"):
        train(recipe("run.resume=true", "model.encoder.dim=8"), overwrite=True)
    assert {path: path.read_bytes() for path in before} == before
    assert train(recipe("run.steps=3", "run.resume=true", "optimiser.lr=1e-4")).step == 3


def test_a_damaged_checkpoint_is_refused(recipe: Any, tmp_path: Path) -> None:
    train(recipe("run.steps=2", "run.checkpoint_every=1"))
    weights = tmp_path / "run" / "state" / "state.safetensors"
    weights.write_bytes(weights.read_bytes()[:20])
    with pytest.raises(InputError, match="is damaged"):
        train(recipe("run.resume=true"))


@pytest.mark.parametrize("device", ["gpu", "cuda:many", "cuda:99"])
def test_a_device_that_is_not_there_is_named(recipe: Any, device: str) -> None:
    with pytest.raises(UsageError, match=f"no device '{device}'"):
        train(recipe(f'run.device="{device}"'))


def test_the_module_runs_from_the_command_line(
    backbone: Path, triples_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["tiny-cpu", "--set", f"model.backbone={backbone}", "--set", f"data.triples={triples_file}"]
    arguments += ["--set", "run.steps=2", "--set", f"run.output={tmp_path / 'out'}"]
    assert main([*arguments, "--set", "run.compile=off"]) == 0
    assert "2 steps, 32 triples" in capsys.readouterr().out
    assert main([*arguments, "--set", "run.stepz=2"]) == 2
    assert "did you mean 'steps'" in capsys.readouterr().err


def test_a_loss_that_is_no_number_stops_the_run(recipe: Any) -> None:
    chosen = recipe()
    trainer = Trainer(chosen, Budget(chosen.run.steps))
    with torch.no_grad():
        trainer.parameters[0].fill_(float("nan"))
    with pytest.raises(NumColBERTError, match="not a number at step 1"):
        trainer.run()
