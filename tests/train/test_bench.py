from __future__ import annotations

from pathlib import Path

import pytest

from numcolbert.train.bench import main, profile, report
from numcolbert.train.recipe import load_recipe


def test_the_bench_measures_every_part_and_the_stock_loop(
    backbone: Path, triples_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    changes = [f"model.backbone={backbone}", f"data.triples={triples_file}", "data.workers=0"]
    found = profile(load_recipe("tiny-cpu", [*changes, "model.encoder.dim=16"]), seconds=0.3)
    assert found.triples_per_s > 0
    assert found.data_alone > 0
    assert found.stock["stock loop"] > 0
    assert set(found.parts_ms) == {"encoder", "MaxSim and losses", "optimiser", "whole step"}
    assert all(milliseconds > 0 for milliseconds in found.parts_ms.values())
    assert "data alone" in report(found)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_recipe_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["defalt"]) == 1
    assert "There is no recipe 'defalt'" in capsys.readouterr().err
