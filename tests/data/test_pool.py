"""Pools on disk: what is written comes back, and damage is told in a sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from numcolbert.data.pool import Concept, Mentions, Pool, Texts, Unit
from numcolbert.errors import ConflictError, InputError, NotFoundError


@pytest.fixture
def pool() -> Pool:
    columns = {
        "sentence": np.array([0, 1, 1], np.int32),
        "concept": np.array([0, 0, -1], np.int32),
        "unit": np.array([1, 0, 0], np.int32),
        "value": np.array([3.0, 2000.0, 5.0]),
        "base_value": np.array([3000.0, 2000.0, 5.0]),
        "base_low": np.full(3, np.nan),
        "base_high": np.full(3, np.nan),
        "approximate": np.array([False, True, False]),
        "span": np.array([[9, 13], [9, 15], [20, 23]], np.int32),
        "value_span": np.array([[9, 10], [9, 13], [20, 21]], np.int32),
        "unit_span": np.array([[11, 13], [14, 15], [22, 23]], np.int32),
    }
    return Pool(
        name="tiny",
        units=[
            Unit("gram", "mass", 1.0, surfaces=("g", "grams")),
            Unit("kilogram", "mass", 1000.0, surfaces=("kg",)),
        ],
        concepts=[Concept("weight", ("mass",), ("weight",))],
        sentences=Texts.of(["a weight 3 kg", "a weight 2000 g and 5 g µ"]),
        sentence_ids=Texts.of(["d#0", "d#1"]),
        mentions=Mentions(**columns),
        notes={"seed": 1},
    )


def test_a_pool_comes_back_as_it_was(pool: Pool, tmp_path: Path) -> None:
    pool.save(tmp_path / "p")
    again = Pool.load(tmp_path / "p")
    assert (again.name, again.units, again.concepts, again.notes) == (
        pool.name,
        pool.units,
        pool.concepts,
        pool.notes,
    )
    assert again.sentences[1] == "a weight 2000 g and 5 g µ"
    assert again.sentence_ids[0] == "d#0"
    np.testing.assert_array_equal(again.mentions.base_value, pool.mentions.base_value)
    with pytest.raises(ConflictError):
        pool.save(tmp_path / "p")


def test_pairs_are_sorted_by_value_and_leave_out_unknown_concepts(pool: Pool) -> None:
    assert {pair: rows.tolist() for pair, rows in pool.pairs.items()} == {(0, 0): [1, 0]}


@pytest.mark.parametrize("name", ["mentions.npz", "sentences.npz", "pool.json"])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_damage_is_told(pool: Pool, tmp_path: Path, name: str, share: float) -> None:
    pool.save(tmp_path / "p")
    file = tmp_path / "p" / name
    file.write_bytes(file.read_bytes()[: int(share * file.stat().st_size)])
    with pytest.raises(InputError, match="cannot be read"):
        Pool.load(tmp_path / "p")


def test_a_flipped_byte_is_told(pool: Pool, tmp_path: Path) -> None:
    pool.save(tmp_path / "p")
    file = tmp_path / "p" / "sentences.npz"
    data = bytearray(file.read_bytes())
    data[60] ^= 0xFF
    file.write_bytes(data)
    with pytest.raises(InputError, match="cannot be read"):
        Pool.load(tmp_path / "p")


def test_no_pool_at_all(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="not a pool"):
        Pool.load(tmp_path)
