"""Suites to choose with ask nothing that a benchmark's queries ask."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from tests.data.mined import mined_pool

from numcolbert.data.benchmark import BenchmarkSettings, build
from numcolbert.data.benchmark_files import write
from numcolbert.train.benchmarks import read_benchmark, read_corpus, with_suites

MADE_WITH = {"queries": 12, "development": 3, "suite": 3, "seed": 5}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A pool, and a benchmark made of it."""
    folder = tmp_path_factory.mktemp("suites")
    pool = mined_pool(folder)
    pool.save(folder / "saved")
    write(pool, build(pool, BenchmarkSettings("toy", **MADE_WITH)), folder / "toy")
    return folder / "saved", folder / "toy"


def conditions(folder: Path) -> set[tuple[str, ...]]:
    """What is asked for in the queries of a folder, with those of two concepts together."""
    known = json.loads((folder / "attributes.json").read_text())
    asked = [record.get("conditions", [record]) for record in known.values()]
    single = {
        (c["concept"], c["operator"], str(c["base_value"]), str(c["base_high"])) for a in asked for c in a
    }
    return single | {tuple(sorted(c["concept"] for c in a)) for a in asked if len(a) > 1}


def test_new_queries_over_part_of_the_collection(
    folders: tuple[Path, Path], script: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    pool, benchmark = folders
    out, options = tmp_path / "dev", [f"--{name}={value}" for name, value in MADE_WITH.items()]
    small = ["--count=2", "--fewest=1", "--passages=5"]
    assert (
        script("development_suites").main([str(pool), str(benchmark), "-o", str(out), *options, *small]) == 0
    )
    suites = sorted((out / "suites").iterdir())
    assert {"bounds", "conversion", "distractors"} <= {suite.name for suite in suites}
    taken = {one for folder in [benchmark, *(benchmark / "suites").iterdir()] for one in conditions(folder)}
    whole, part = read_corpus(benchmark / "corpus.jsonl"), read_corpus(out / "corpus.jsonl")
    assert set(part.ids) < set(whole.ids)
    for suite in suites:
        made = read_benchmark(suite)
        assert made.corpus_path == out / "corpus.jsonl"
        assert 1 <= len(made.query_ids) <= 2
        assert not conditions(suite) & taken
        assert all({*grades} <= {*part.ids} for grades in made.qrels.values())
    assert len(with_suites(benchmark)) == 6  # the benchmark is as it was


def test_another_pool_or_other_options_are_refused(
    folders: tuple[Path, Path],
    script: Callable[[str], ModuleType],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pool, benchmark = folders
    options = [f"--{name}={value}" for name, value in (MADE_WITH | {"queries": 24, "suite": 8}).items()]
    assert (
        script("development_suites").main([str(pool), str(benchmark), "-o", str(tmp_path / "x"), *options])
        == 1
    )
    error = capsys.readouterr().err
    assert "was not made of the pool" in error and "hint: give the pool" in error
    made_so = [f"--{name}={value}" for name, value in MADE_WITH.items()]
    for out, wrong, said in [
        (tmp_path / "x", "--fewest=1000", "hint: lower --fewest"),
        (benchmark, "--overwrite", "hint: choose a folder beside the benchmark"),
    ]:
        arguments = [str(pool), str(benchmark), "-o", str(out), *made_so, wrong]
        assert script("development_suites").main(arguments) == 1
        assert said in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
