"""Recipes with general pairs: their shares, whatever the pools are called, and training without a number."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from numcolbert.train.recipe import load_recipe
from numcolbert.train.sources import named_mix
from numcolbert.train.trainer import train

pytestmark = pytest.mark.train


def test_pools_share_a_weight() -> None:
    assert named_mix({"pools": 0.3, "general": 0.5}, ["a", "b"]) == {"general": 0.5, "a": 0.15, "b": 0.15}
    assert named_mix({"a": 0.5, "pools": 0.2}, ["a", "b", "c"]) == {"a": 0.5, "b": 0.1, "c": 0.1}
    assert named_mix({"pools": 1.0}, ["pools"]) == {"pools": 1.0}, "a pool may have that name"
    assert named_mix(None, ["a"]) is None


@pytest.mark.parametrize("name", ["joint", "joint-further"])
def test_joint_is_half_general(name: str) -> None:
    mix = load_recipe(name).data.mix
    assert mix is not None
    assert mix["general"] / sum(mix.values()) == 0.5


def test_a_plain_model_learns_from_pairs_without_numbers(
    backbone: Path, benchmark_folder: Path, tmp_path: Path
) -> None:
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(
        "".join(
            json.dumps({"query": f"report {n}", "positive": f"the report of {n}"}) + "\n" for n in "abcdefgh"
        )
    )
    changes = [
        f"data.general=['{pairs}']", f"model.backbone={backbone}", "data.workers=0", "run.steps=3",
        "optimiser.batch=4", "run.device=cpu", f"run.output={tmp_path / 'run'}", "model.encoder.dim=16",
        "data.token_multiple=64", f"run.evaluate_at_end=['{benchmark_folder}']", "run.depth=7",
        "model.encoder.query_length=24", "model.encoder.document_length=32", "run.log_every=1",
    ]  # fmt: skip
    outcome = train(load_recipe("colbert-general", changes))
    assert outcome.step == 3
    lines = [json.loads(line) for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert all(line["loss"] > 0 for line in lines if "loss" in line)
    run = (tmp_path / "run" / "runs" / "tiny.plain.trec").read_text().splitlines()
    assert len(run) == outcome.results[0].queries * 7
