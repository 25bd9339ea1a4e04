from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from numcolbert.errors import ModelError, UsageError
from numcolbert.model.checkpoint import (
    ColBERTSettings,
    add_gate,
    build_colbert,
    find_gate,
    load_checkpoint,
    save_checkpoint,
)
from numcolbert.train.average import average, averaged_run, main, start_weights
from numcolbert.train.choose import main as choose
from numcolbert.train.evaluate import Ranker, collect, evaluate
from numcolbert.train.gate_setting import AS_TRAINED, GateSetting, set_gate, with_setting
from numcolbert.train.journal import read_log
from numcolbert.train.recipe import load_recipe
from numcolbert.train.trainer import train
from numcolbert.train.trec import read_run

SMALL = ColBERTSettings(dim=16, query_length=16, document_length=24)


def train_three_steps(backbone: Path, triples: Path, folder: Path, *changes: str) -> Path:
    settings = [
        f"model.backbone={backbone}",
        "model.encoder.dim=16",
        f"data.triples={triples}",
        "data.workers=0",
        "run.steps=3",
        "optimiser.lr=1e-2",
        f"run.output={folder}",
    ]
    train(load_recipe("tiny-cpu", [*settings, *changes]))
    return folder


def test_a_share_of_the_start_moves_the_encoder_and_leaves_the_gate(backbone: Path) -> None:
    model, start = add_gate(build_colbert(backbone, SMALL)), start_weights(build_colbert(backbone, SMALL))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1.0)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    gate = [name for name in before if name not in start]
    assert gate and len(start) > 10
    average(model, start, 0.25)
    after = model.state_dict()
    for name in gate:
        assert torch.equal(after[name], before[name])
    for name, tensor in start.items():
        torch.testing.assert_close(after[name], 0.75 * before[name] + 0.25 * tensor)
    average(model, start, 1.0)
    assert all(torch.equal(model.state_dict()[name], tensor) for name, tensor in start.items())


def test_a_gate_can_be_held_and_weakened(backbone: Path, tmp_path: Path) -> None:
    model = add_gate(build_colbert(backbone, SMALL))
    gate = find_gate(model)
    assert gate is not None
    with torch.no_grad():
        gate.gate[-1].bias.fill_(50.0)  # saturated
    inputs, lengths = torch.randn(1, 9, 16), torch.full((1, 1), 9)
    assert gate.weigh(inputs, lengths)[1].max().item() == pytest.approx(9.0)
    set_gate(model, AS_TRAINED)
    assert gate.query_length == "actual"
    set_gate(model, GateSetting(length=4))
    assert gate.weigh(inputs, lengths)[1].max().item() == pytest.approx(4.0)
    save_checkpoint(model, tmp_path / "held")
    again = find_gate(load_checkpoint(tmp_path / "held"))
    assert again is not None and again.query_length == 4
    with torch.no_grad():
        gate.gate[-1].bias.fill_(0.7)
    changed = with_setting(gate, GateSetting(length=5_000, strength=0.5))
    assert changed.query_length == 5_000
    weak = changed.weigh(inputs, lengths)[1]
    assert gate.query_length == 4  # as before
    gate.query_length = 5_000
    before = gate.weigh(inputs, lengths)[1]
    torch.testing.assert_close(weak, before.sqrt(), rtol=2e-3, atol=0)
    set_gate(model, GateSetting(strength=0.0))
    torch.testing.assert_close(gate.weigh(inputs, lengths)[1], torch.ones(1, 9))  # none is left
    for wrong, said in (
        (GateSetting(length=1), "length is 1"),
        (GateSetting(strength=-0.5), "strength is -0.5"),
    ):
        with pytest.raises(UsageError, match=said):
            set_gate(model, wrong)
    with pytest.raises(UsageError, match="no gate"):
        set_gate(build_colbert(backbone, SMALL), GateSetting(length=4))


def test_wrong_shares_and_other_models_are_refused(backbone: Path) -> None:
    model = build_colbert(backbone, SMALL)
    with pytest.raises(UsageError, match=r"share is 1\.5"):
        average(model, start_weights(model), 1.5)
    wider = build_colbert(backbone, ColBERTSettings(dim=24, query_length=16, document_length=24))
    with pytest.raises(ModelError, match="differ in more than their weights"):
        average(model, start_weights(wider), 0.5)


def test_a_run_averages_at_its_end_as_the_command_does_afterwards(
    backbone: Path, triples_file: Path, benchmark_folder: Path, tmp_path: Path
) -> None:
    def run(name: str, *changes: str) -> Path:
        ranked = f'run.evaluate_at_end=["{benchmark_folder}"]'
        return train_three_steps(backbone, triples_file, tmp_path / name, ranked, *changes)

    plain, averaged = (
        run("plain"),
        run("averaged", "run.start_share=0.4", "run.gate_length=3", "run.gate_strength=0.5"),
    )
    later = ["--share", "0.4", "--gate-length", "3", "--gate-strength", "0.5", "-o", str(tmp_path / "later")]
    assert main([str(plain), *later]) == 0
    ours, theirs = load_checkpoint(averaged / "model"), load_checkpoint(tmp_path / "later")
    held = [find_gate(model) for model in (ours, theirs)]
    assert [gate and gate.query_length for gate in held] == [3, 3]
    for name, tensor in ours.state_dict().items():
        torch.testing.assert_close(tensor, theirs.state_dict()[name], atol=2e-3, rtol=2e-3)  # kept as float16
    scores = [
        json.loads((folder / "results.json").read_text())[0]["scores"]["gated"]["R@100"]
        for folder in (plain, averaged)
    ]
    assert all(0 <= score <= 1 for score in scores)
    losses = [
        [line["loss"] for line in read_log(f / "log.jsonl") if "loss" in line] for f in (plain, averaged)
    ]
    assert losses[0] == losses[1]  # training itself is the same


def test_a_gate_that_was_trained_before_is_averaged_too(
    backbone: Path, triples_file: Path, trained: Path, tmp_path: Path
) -> None:
    goes_on = f"model.start_from={trained / 'model'}"
    half = train_three_steps(backbone, triples_file, tmp_path / "half", goes_on, "run.start_share=0.5")
    whole = train_three_steps(backbone, triples_file, tmp_path / "whole", goes_on)
    before, after, mean = (
        find_gate(load_checkpoint(run / "model")).state_dict()  # type: ignore[union-attr]
        for run in (trained, whole, half)
    )
    moved = [name for name in before if not torch.equal(before[name], after[name])]
    assert moved
    for name in moved:
        torch.testing.assert_close(mean[name], (before[name] + after[name]) / 2, atol=2e-3, rtol=2e-3)
    later = find_gate(averaged_run(whole, 0.5))
    assert later is not None
    for name, tensor in later.state_dict().items():
        torch.testing.assert_close(tensor, mean[name], atol=2e-3, rtol=2e-3)


def test_a_folder_without_a_run_gets_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path), "--share", "0.4", "-o", str(tmp_path / "out")]) == 1
    assert "recipe.json' does not exist" in capsys.readouterr().err
    (tmp_path / "recipe.json").write_text('{"model": {"backb')
    assert main([str(tmp_path), "--share", "0.4", "-o", str(tmp_path / "out")]) == 1
    assert "not valid JSON" in capsys.readouterr().err
    (tmp_path / "recipe.json").write_text('{"model": []}')
    assert main([str(tmp_path), "--share", "0.4", "-o", str(tmp_path / "out")]) == 2
    assert "must be a table" in capsys.readouterr().err


@pytest.fixture(scope="module")
def trained(backbone: Path, triples_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_three_steps(backbone, triples_file, tmp_path_factory.mktemp("trained") / "run")


def test_the_chosen_share_and_gate_are_the_best_of_those_tried(
    trained: Path, benchmark_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tried_with = ["--shares", "0", "0.9", "--gate-lengths", "0", "2", "5", "--gate-strengths", "1", "0.5"]
    tried_with += ["--device", "cpu"]
    assert choose([str(trained), str(benchmark_folder), *tried_with, "-o", str(tmp_path / "best")]) == 0
    choice = json.loads((tmp_path / "best" / "choice.json").read_text())
    tried = [(one["share"], *one["gate"].values()) for one in choice["tried"]]
    gates = [(0, 1), (0, 0.5), (2, 1), (2, 0.5), (5, 1), (5, 0.5)]
    assert tried == [(share, *gate) for share in (0, 0.9) for gate in gates]
    assert choice["chosen"]["mean"] == max(one["mean"] for one in choice["tried"])
    assert capsys.readouterr().out.count("\n") == 14  # a head, twelve rows, and what was chosen
    # Each row is what the model made with that share and gate reaches when it is measured for itself.
    for one in choice["tried"]:
        model = averaged_run(trained, one["share"], GateSetting(**one["gate"]))
        [result] = evaluate(Ranker.of(model), collect([benchmark_folder], suites=False))
        assert one["by_benchmark"] == {result.name: pytest.approx(result.scores["gated"]["nDCG@10"])}
    # What is ranked after the choice is ranked by the model that was chosen.
    ranking = ["--rank", str(benchmark_folder), "--runs", str(tmp_path / "runs"), "--depth", "12"]
    again = [str(trained), str(benchmark_folder), *tried_with, "-o", str(tmp_path / "again")]
    assert choose([*again, *ranking]) == 0
    assert "detector" in capsys.readouterr().out
    results = json.loads((tmp_path / "runs" / "results.json").read_text())
    assert results[0]["scores"]["gated"]["nDCG@10"] == pytest.approx(choice["chosen"]["mean"], abs=1e-3)
    run = read_run(tmp_path / "runs" / f"{results[0]['name']}.gated.trec")
    assert max(map(len, run.values())) == 12
    with pytest.raises(SystemExit):
        choose([str(trained), str(benchmark_folder), "-o", str(tmp_path / "other"), *ranking[:2]])
    assert "go together" in capsys.readouterr().err
    # A name that is taken is refused before anything is ranked.
    assert choose([str(trained), str(tmp_path / "nowhere"), *tried_with, "-o", str(tmp_path / "best")]) == 1
    assert "already exists" in capsys.readouterr().err
    saved = load_checkpoint(tmp_path / "best")
    [result] = evaluate(Ranker.of(saved), collect([benchmark_folder], suites=False))
    assert result.scores["gated"]["nDCG@10"] == pytest.approx(choice["chosen"]["mean"], abs=1e-3)


def test_a_choice_in_half_precision_is_about_the_same(
    trained: Path, benchmark_folder: Path, tmp_path: Path
) -> None:
    tried = []
    for precision in ("fp32", "bf16"):
        out = tmp_path / precision
        asked = ["--shares", "0", "0.5", "--gate-lengths", "0", "--device", "cpu", "--precision", precision]
        assert choose([str(trained), str(benchmark_folder), *asked, "-o", str(out)]) == 0
        tried.append([one["mean"] for one in json.loads((out / "choice.json").read_text())["tried"]])
    assert tried[1] == pytest.approx(tried[0], abs=0.03)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--gate-lengths", "1"], "0, or 2 or more"),
        (["--gate-strengths", "-1"], "not negative"),
        (["--shares", "1.2"], "share is 1.2"),
    ],
)
def test_choices_that_no_model_has_are_refused_at_once(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: list[str], said: str
) -> None:
    assert choose([str(trained), str(tmp_path / "nowhere"), *wrong, "-o", str(tmp_path / "best")]) == 2
    assert said in capsys.readouterr().err
