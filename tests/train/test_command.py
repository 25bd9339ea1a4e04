"""`numcolbert train` and `numcolbert bench train`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from numcolbert.cli.app import app
from numcolbert.errors import UsageError


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
    done = CliRunner().invoke(app, ["train", "tiny-cpu", *changes, *evaluated])
    assert done.stdout.splitlines()[0].split("\t")[:3] == ["benchmark", "variant", "nDCG@10"]


def test_a_wrong_key_is_an_error_with_a_hint(changes: list[str]) -> None:
    done = CliRunner().invoke(app, ["train", "tiny-cpu", *changes, "--set", "loss.contrastiv=1"])
    assert isinstance(done.exception, UsageError)
    assert "did you mean 'contrastive'" in done.exception.hint


def test_the_bench_prints_a_table(changes: list[str]) -> None:
    arguments = ["bench", "train", "tiny-cpu", *changes, "--seconds", "0.2", "--no-stock"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert any(line.startswith("data alone\t") for line in done.stdout.splitlines())
