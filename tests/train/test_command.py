"""`numcolbert train` and `numcolbert bench train`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from numcolbert.cli.app import app
from numcolbert.errors import ConflictError, UsageError
from numcolbert.train.__main__ import main
from numcolbert.train.trainer import Trainer


@pytest.fixture
def changes(backbone: Path, triples_file: Path, tmp_path: Path) -> list[str]:
    values = [
        f"model.backbone={backbone}",
        f"data.triples={triples_file}",
        "data.workers=0",
        "run.steps=2",
        f"run.output={tmp_path / 'out'}",
    ]
    return [word for value in values for word in ("--set", value)]


def test_training_prints_its_outcome(changes: list[str], benchmark_folder: Path) -> None:
    evaluated = ["--set", f'run.evaluate_at_end=["{benchmark_folder}"]']
    done = CliRunner().invoke(app, ["train", "tiny-cpu", *changes, *evaluated, "--json"])
    assert done.exit_code == 0, done.output
    outcome = json.loads(done.stdout)
    assert outcome["step"] == 2
    assert outcome["results"][0]["name"] == "tiny"
    done = CliRunner().invoke(app, ["train", "tiny-cpu", *changes, *evaluated, "--overwrite"])
    assert done.stdout.splitlines()[0].split("\t")[:3] == ["benchmark", "variant", "nDCG@10"]


def test_a_trained_model_is_replaced_only_when_asked(changes: list[str], tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["train", "tiny-cpu", *changes]).exit_code == 0
    before = (tmp_path / "out/log.jsonl").read_bytes()
    again = CliRunner().invoke(app, ["train", "tiny-cpu", *changes, "--set", "run.resume=true"])
    assert isinstance(again.exception, ConflictError) and "holds a model" in str(again.exception)
    assert again.exception.hint == "choose another run.output, or pass --overwrite"
    assert (tmp_path / "out/log.jsonl").read_bytes() == before
    (tmp_path / "out/state").mkdir()
    (tmp_path / "out/state/state.json").write_text("{}")
    again = CliRunner().invoke(app, ["train", "tiny-cpu", *changes])
    assert isinstance(again.exception, ConflictError) and "run.resume=true, or pass" in again.exception.hint


@pytest.mark.parametrize("started", ["numcolbert train", "python -m numcolbert.train"])
def test_an_interrupted_training_ends_as_other_commands_do(
    changes: list[str], started: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Trainer, "_should_stop", _interrupted)
    if started == "numcolbert train":
        done = CliRunner().invoke(app, ["train", "tiny-cpu", *changes])
        code, said = done.exit_code, done.stderr
    else:
        code, said = main(["tiny-cpu", *changes]), capsys.readouterr().err
    assert code == 130
    assert said.endswith("interrupted: go on with --set run.resume=true\n")


def _interrupted(trainer: Trainer) -> bool:
    trainer._stop_asked = True
    return True


def test_a_wrong_key_is_an_error_with_a_hint(changes: list[str]) -> None:
    done = CliRunner().invoke(app, ["train", "tiny-cpu", *changes, "--set", "loss.contrastiv=1"])
    assert isinstance(done.exception, UsageError)
    assert "did you mean 'contrastive'" in done.exception.hint


def test_the_bench_prints_a_table(changes: list[str]) -> None:
    arguments = ["bench", "train", "tiny-cpu", *changes, "--seconds", "0.2", "--no-stock"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert any(line.startswith("data alone\t") for line in done.stdout.splitlines())
