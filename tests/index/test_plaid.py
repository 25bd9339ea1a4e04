"""What is plaid's own: recall, lists, drift, growth, settings."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cpu_time import least_seconds

from numcolbert.errors import UsageError
from numcolbert.index import plaid as plaid_module
from numcolbert.index import plaid_search
from numcolbert.index.flat import FlatEngine
from numcolbert.index.plaid import PlaidEngine
from numcolbert.index.plaid_settings import (
    MOST_CENTROIDS,
    PlaidSettings,
    automatic_candidates,
    automatic_centroids,
    sample_size,
)

Make = Callable[..., Any]
BITS = [1, 2, 4, 8]


def overlap(first: Any, second: Any) -> float:
    return len(set(first.keys.tolist()) & set(second.keys.tolist())) / len(second.keys)


@pytest.fixture
def small_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make small collections go through every stage, as large ones do."""
    monkeypatch.setattr(plaid_search, "automatic_candidates", lambda k, passages: 3 * k)
    monkeypatch.setattr(plaid_module, "_UNLISTED", 10)


@pytest.mark.parametrize(("nbits", "least"), [(1, 0.6), (2, 0.8), (4, 0.93), (8, 0.96)])
@pytest.mark.parametrize("weights", ["plain", "gated"])
@pytest.mark.usefixtures("small_candidates")
def test_recall_against_flat_on_clustered_vectors(
    nbits: int, least: float, weights: str, tmp_path: Path, clustered_passages: Make
) -> None:
    passages = clustered_passages(1500)
    exact = FlatEngine.create(tmp_path / "flat", 32)
    engine = PlaidEngine.create(tmp_path / "plaid", 32, PlaidSettings(nbits))
    for each in (exact, engine):
        each.add(range(1500), passages)
        each.commit()
    assert engine.stats()["listed"] == 1500
    shares = []
    for query in clustered_passages(40, seed=5):
        if weights == "gated":
            query = query * np.linspace(0.2, len(query), len(query), dtype=np.float32)[:, None]
        shares.append(overlap(engine.search(query, 10), exact.search(query, 10)))
    assert np.mean(shares) >= least


@pytest.mark.parametrize("nbits", BITS)
def test_without_pruning_scores_are_near_the_exact_ones(
    nbits: int, tmp_path: Path, random_passages: Make
) -> None:
    """Random vectors have no clusters: the worst case of the codec."""
    passages = random_passages(200)
    exact = FlatEngine.create(tmp_path / "flat", 32)
    everything = PlaidSettings(nbits, candidates=10_000)
    engine = PlaidEngine.create(tmp_path / "plaid", 32, everything, sample=np.concatenate(passages))
    for each in (exact, engine):
        each.add(range(200), passages)
    query = random_passages(1, seed=5, longest=16)[0]
    right = dict(zip(*_as_lists(exact.search(query, 200)), strict=True))
    found = dict(zip(*_as_lists(engine.search(query, 200)), strict=True))
    wrong = [abs(found[key] - right[key]) / len(query) for key in right]
    assert max(wrong) < {1: 0.2, 2: 0.12, 4: 0.04, 8: 0.01}[nbits]


def _as_lists(scored: Any) -> tuple[list[int], list[float]]:
    return scored.keys.tolist(), scored.scores.tolist()


@pytest.mark.usefixtures("small_candidates")
def test_a_heavy_token_decides_what_survives_pruning(tmp_path: Path, clustered_passages: Make) -> None:
    """Passages that match one token only are found when that token's weight says so, and not before."""
    passages = clustered_passages(1000)
    rare = np.zeros((1, 32), np.float32)
    rare[0, 0] = 1
    marked = {key: np.concatenate([passages[key], rare]) for key in range(0, 1000, 100)}
    engine = PlaidEngine.create(tmp_path, 32)
    engine.add(range(1000), [marked.get(key, rows) for key, rows in enumerate(passages)])
    engine.commit()
    query = np.concatenate([rare, clustered_passages(1, seed=8)[0]])
    gated = query.copy()
    gated[0] *= 50
    assert set(engine.search(gated, 10).keys.tolist()) == set(marked)
    assert set(engine.search(query, 10).keys.tolist()) != set(marked)


def test_passages_are_scored_fully_as_long_as_there_is_hope(
    tmp_path: Path, clustered_passages: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored: list[int] = []
    full_scores = plaid_search._full_scores

    def counting(view: Any, query: Any, table: Any, positions: Any) -> Any:
        scored.append(len(positions))
        return full_scores(view, query, table, positions)

    passages = clustered_passages(2000)
    engine = PlaidEngine.create(tmp_path, 32, PlaidSettings(nprobe=1000, candidates=128))
    engine.add(range(2000), passages)
    engine.commit()
    queries = clustered_passages(15, seed=5)
    monkeypatch.setattr(plaid_search, "_full_scores", counting)
    found = [engine.search(query, 10) for query in queries]
    assert 128 * len(queries) <= sum(scored) <= 4 * 128 * len(queries)
    scored.clear()
    assert engine.search(3 * passages[7], 1).keys.tolist() == [7]
    assert scored == [128]  # nothing comes near a passage that is asked for by itself
    monkeypatch.setattr(plaid_search, "_HOPE", 1e6)
    scored.clear()
    right = [engine.search(query, 10) for query in queries]
    assert scored == [128, 128, 256] * len(queries)
    assert np.mean([overlap(*pair) for pair in zip(found, right, strict=True)]) > 0.99


@pytest.mark.usefixtures("small_candidates")
def test_a_filter_that_hides_everything_probed_still_gives_its_best(
    tmp_path: Path, clustered_passages: Make
) -> None:
    engine = PlaidEngine.create(tmp_path, 32, PlaidSettings(nprobe=1))
    engine.add(range(800), clustered_passages(800))
    engine.commit()
    query = clustered_passages(1, seed=3)[0]
    everything = engine.search(query, 800).keys.tolist()
    allowed = np.asarray(everything[400:])
    found = engine.search(query, 20, allowed=allowed)
    assert len(found.keys) == 20
    assert found.keys[0] in everything[400:440]


@pytest.mark.usefixtures("small_candidates")
def test_passages_wait_outside_the_lists_and_are_found_all_the_same(
    tmp_path: Path, clustered_passages: Make
) -> None:
    passages = clustered_passages(400)
    engine = PlaidEngine.create(tmp_path, 32)
    engine.add(range(390), passages[:390])
    engine.commit()
    engine.add(range(390, 400), passages[390:])
    engine.commit()
    assert engine.stats()["listed"] == 390
    for key in range(390, 400):
        assert engine.search(passages[key], 1).keys.tolist() == [key]
    engine.add(range(400, 600), clustered_passages(200, seed=4))
    engine.commit()
    assert PlaidEngine.open(tmp_path).stats()["listed"] == 600


def test_strangers_get_centroids_of_their_own(tmp_path: Path, clustered_passages: Make) -> None:
    passages = clustered_passages(300)
    engine = PlaidEngine.create(tmp_path, 32, sample=np.concatenate(passages), expected_vectors=4000)
    engine.add(range(300), passages)
    before = engine.stats()
    assert before["drift"] == pytest.approx(1, abs=0.1)
    assert before["advice"] is None
    old = [engine.vectors(key) for key in range(300)]
    generator = np.random.default_rng(1)
    axes = np.linalg.qr(generator.standard_normal((32, 32)))[0][:4]
    strangers = [
        (axes[generator.integers(0, 4, 9)] + 0.02 * generator.standard_normal((9, 32))).astype(np.float32)
        for _ in range(200)
    ]
    engine.add(range(300, 500), strangers)
    engine.commit()
    after = engine.stats()
    assert after["centroids"] > before["centroids"]
    for key in range(300):  # nothing that was stored has moved
        np.testing.assert_array_equal(engine.vectors(key), old[key])
    for key in (300, 499):
        assert np.abs(engine.vectors(key) - strangers[key - 300]).max() < 0.02
        assert (engine.search(strangers[key - 300], 10).keys >= 300).all()
    reopened = PlaidEngine.open(tmp_path)
    assert reopened.stats() == after


def test_one_odd_document_is_no_reason_to_grow(
    tmp_path: Path, clustered_passages: Make, random_passages: Make
) -> None:
    passages = clustered_passages(300)
    engine = PlaidEngine.create(tmp_path, 32)
    engine.add(range(300), passages)
    before = engine.stats()["centroids"]
    engine.add([300], random_passages(1, seed=9))
    assert engine.stats()["centroids"] == before
    assert engine.search(random_passages(1, seed=9)[0], 1).keys.tolist() == [300]


def test_an_index_that_begins_with_one_passage_grows_with_what_comes(
    tmp_path: Path, clustered_passages: Make
) -> None:
    passages = clustered_passages(600)
    engine = PlaidEngine.create(tmp_path, 32)
    engine.add([0], passages[:1])
    for begin in range(1, 600, 50):
        engine.add(range(begin, min(600, begin + 50)), passages[begin : begin + 50])
    engine.commit()
    assert engine.stats()["centroids"] > 100
    exact = FlatEngine.create(tmp_path / "flat", 32)
    exact.add(range(600), passages)
    queries = clustered_passages(20, seed=5)
    assert np.mean([overlap(engine.search(q, 10), exact.search(q, 10)) for q in queries]) > 0.85


def test_drift_is_measured_and_a_rebuild_advised(
    tmp_path: Path, clustered_passages: Make, random_passages: Make
) -> None:
    sample = np.concatenate(clustered_passages(300))
    engine = PlaidEngine.create(tmp_path, 32, PlaidSettings(centroids=200), sample=sample)
    engine.add(range(100), random_passages(100))
    assert engine.stats()["centroids"] == 200  # a number that was asked for is kept
    assert engine.stats()["drift"] > plaid_module.REBUILD_AT
    assert engine.stats()["advice"] == "rebuild"


@pytest.mark.parametrize(("nbits", "most"), [(8, 0.28), (4, 0.15), (2, 0.09), (1, 0.06)])
def test_bytes_stay_within_bounds(nbits: int, most: float, tmp_path: Path) -> None:
    """At 20,000 passages of 32 tokens; counted, not built: everything but the lists has a known size."""
    vectors, passages, dim = 640_000, 20_000, 128
    engine = PlaidEngine.create(
        tmp_path, dim, PlaidSettings(nbits, centroids=8), sample=np.eye(dim, dtype=np.float32)
    )
    fixed = sum(size for name, size in engine.files().items() if not name.startswith("centroids"))
    columns = engine._columns
    a_vector = columns["codes"].row_bytes + columns["lengths"].row_bytes + columns["residuals"].row_bytes
    a_centroid = columns["centroids"].row_bytes + 8
    lists = 4 * vectors  # at most one entry a vector
    total = fixed + a_vector * vectors + 16 * passages + lists + a_centroid * automatic_centroids(vectors)
    assert total / (4 * dim * vectors) <= most


def test_settings_are_checked_and_remembered(tmp_path: Path, random_passages: Make) -> None:
    for wrong in ({"nbits": 3}, {"centroids": 0}, {"nprobe": 0}, {"candidates": -1}, {"centroids": 10**6}):
        with pytest.raises(UsageError):
            PlaidSettings(**wrong)
    engine = PlaidEngine.create(tmp_path, 32, PlaidSettings(2, centroids=5, nprobe=3))
    engine.add(range(9), random_passages(9))
    engine.commit()
    stats = PlaidEngine.open(tmp_path).stats()
    assert (stats["nbits"], stats["centroids"]) == (2, 5)


def test_automatic_values_grow_slower_than_the_collection() -> None:
    assert automatic_centroids(1) <= 10
    assert automatic_centroids(4_000_000) / automatic_centroids(1_000_000) == pytest.approx(2, rel=0.01)
    assert automatic_centroids(10**12) == MOST_CENTROIDS
    assert automatic_candidates(10_000, 5) >= 10_000
    assert automatic_candidates(10, 10**6) / automatic_candidates(10, 10**5) < 4
    assert sample_size(PlaidSettings(centroids=10), 1000) < 1000
    assert sample_size(PlaidSettings(), 5) == 5


def test_the_same_seed_builds_the_same_files(tmp_path: Path, clustered_passages: Make) -> None:
    passages = clustered_passages(200)
    for name in ("a", "b"):
        engine = PlaidEngine.create(tmp_path / name, 32)
        engine.add(range(200), passages)
        engine.commit()
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def mapped_bytes() -> int:
    """Of files mapped into this process, what is in memory now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssFile"):
            return 1024 * int(line.split()[1])
    raise AssertionError("no RssFile")


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="asks Linux for the memory in use")
def test_opening_ten_million_vectors_takes_a_moment_and_little_memory(
    tmp_path: Path, random_passages: Make
) -> None:
    engine = PlaidEngine.create(tmp_path, 32)
    engine.add(range(50), random_passages(50))
    engine.commit()
    engine.close()
    state = json.loads((tmp_path / "state.json").read_text())
    rows = {"codes": 10**7, "lengths": 10**7, "residuals": 10**7, "keys": 300_000, "ends": 300_000}
    for name, count in rows.items():  # files with holes: as large as the real ones, and empty
        column = state["columns"][name]
        column["rows"] = count
        width = max(1, column["width"]) * np.dtype(column["dtype"]).itemsize
        os.truncate(tmp_path / column["file"], count * width)
    np.linspace(34, 10**7, 300_000).astype("<i8").tofile(tmp_path / state["columns"]["ends"]["file"])
    (tmp_path / "state.json").write_text(json.dumps(state))
    assert least_seconds(lambda: PlaidEngine.open(tmp_path).close()) < 0.5
    before = mapped_bytes()
    large = PlaidEngine.open(tmp_path)
    assert large.stats()["vectors"] == 10**7
    large.search(random_passages(1)[0], 10, allowed=np.arange(100))
    assert large.stats()["bytes"] > 190e6
    assert mapped_bytes() - before < 40e6  # every centroid's number was looked at, and few residuals


def test_some_strangers_in_a_small_collection_with_centroids_to_spare(
    tmp_path: Path, clustered_passages: Make
) -> None:
    sample = np.concatenate(clustered_passages(100))
    engine = PlaidEngine.create(tmp_path, 32, sample=sample, expected_vectors=100_000)
    before = engine.stats()["centroids"]
    engine.add([0], [np.eye(32, dtype=np.float32)[:20]])
    assert engine.stats()["centroids"] == before + 1
