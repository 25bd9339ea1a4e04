from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from numcolbert.train.bench import main, profile, report
from numcolbert.train.recipe import load_recipe


def changes(backbone: Path, triples_file: Path) -> list[str]:
    return [
        f"model.backbone={backbone}",
        f"data.triples={triples_file}",
        "data.workers=0",
        "model.encoder.dim=16",
    ]


def test_the_bench_measures_every_part_and_the_stock_loop(
    backbone: Path, triples_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told: list[str] = []
    recipe = load_recipe("tiny-cpu", changes(backbone, triples_file))
    found = profile(recipe, seconds=0.3, detailed=True, say=told.append)
    assert found.triples_per_s > 0
    assert found.data_alone > found.triples_per_s
    assert 0 <= found.data_wait <= 1
    assert found.replayed == 0  # there is no GPU here
    assert found.unrecorded > 0
    assert any(name.startswith("aten::") for name, _, _ in found.host_operations)
    assert found.stock["stock loop"] > 0
    assert set(found.parts_ms) == {"encoder", "MaxSim and losses", "optimiser", "whole step"}
    assert found.parts_ms["whole step"] > found.parts_ms["optimiser"]
    assert "data alone" in report(found)
    assert [line.split()[0] for line in told[:5]] == ["model", "first", "data", "warm", "training"]
    assert list(tmp_path.iterdir()) == []


def test_mpnet_is_measured_too_and_figures_are_told_as_they_come(
    mpnet: Path, triples_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = [argument for change in changes(mpnet, triples_file) for argument in ("--set", change)]
    assert main(["tiny-cpu", *settings, "--seconds", "0.2", "--no-stock"]) == 0
    printed = capsys.readouterr()
    assert "BucketedAttention" in printed.out
    assert "stock" not in printed.out
    assert " s  training " in printed.err


def test_worker_processes_of_the_bench_start_without_torch() -> None:
    script = "import sys, numcolbert.train.bench, numcolbert.train.workers; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


@pytest.mark.parametrize("seconds", ["0", "-1", "nan"])
def test_no_time_is_one_line(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tiny-cpu", f"--seconds={seconds}"]) == 2
    assert "Nothing can be measured" in capsys.readouterr().err


def test_a_wrong_recipe_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["defalt"]) == 1
    assert "There is no recipe 'defalt'" in capsys.readouterr().err
