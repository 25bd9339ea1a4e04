from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from numcolbert.index import flat
from numcolbert.index.flat import FlatEngine
from numcolbert.index.halves import widened


@pytest.mark.parametrize("block", [1, 50, 2048])
@pytest.mark.parametrize("kept", [None, 1.0, 0.05])
def test_search_is_exact(
    block: int,
    kept: float | None,
    tmp_path: Path,
    random_passages: Callable[..., Any],
    maxsim: Callable[..., float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For every size of block, and through filters that leave much or little."""
    monkeypatch.setattr(flat, "BLOCK", block)
    passages = [rows.astype(np.float16).astype(np.float32) for rows in random_passages(150)]
    engine = FlatEngine.create(tmp_path, 32)
    engine.add(range(150), passages)
    query = random_passages(1, seed=3)[0]
    generator = np.random.default_rng(0)
    allowed = None if kept is None else np.flatnonzero(generator.random(150) <= kept)
    found = engine.search(query, 10, allowed=allowed)
    scores = {key: maxsim(query, passages[key]) for key in (range(150) if allowed is None else allowed)}
    expected = sorted(scores, key=lambda key: -scores[key])[:10]
    assert found.keys.tolist() == expected
    np.testing.assert_allclose(found.scores, [scores[key] for key in expected], rtol=1e-5)


def test_half_precision_halves_the_bytes(tmp_path: Path, random_passages: Callable[..., Any]) -> None:
    engine = FlatEngine.create(tmp_path, 32)
    engine.add(range(200), random_passages(200, longest=40))
    engine.commit()
    stats = engine.stats()
    assert stats["documents"] == 200
    assert 0.5 < stats["ratio_to_fp32"] < 0.52


def test_an_index_that_was_replaced_meanwhile_still_tells_its_size(
    tmp_path: Path, random_passages: Callable[..., Any]
) -> None:
    engine = FlatEngine.create(tmp_path / "engine", 32)
    engine.add(range(20), random_passages(20))
    engine.commit()
    before = engine.stats()
    (tmp_path / "engine").rename(tmp_path / "old")  # what a rebuild does to a server's open index
    assert engine.stats()["documents"] == before["documents"] == 20


def test_every_finite_half_widens_to_itself() -> None:
    halves = np.arange(65_536).astype(np.uint16).view(np.float16)
    halves = halves[np.isfinite(halves)]
    np.testing.assert_array_equal(widened(halves), halves.astype(np.float32))


def test_the_first_search_waits_for_no_compiler(tmp_path: Path, random_passages: Callable[..., Any]) -> None:
    engine = FlatEngine.create(tmp_path, 32)
    engine.add(range(20), random_passages(20))
    engine.commit()
    program = (
        "import sys, numpy, pathlib; from numcolbert.index.engines import open_engine;"
        f"engine = open_engine('flat', pathlib.Path({str(tmp_path)!r}));"
        "assert len(engine.search(numpy.ones((2, 32), 'f4'), 5).keys) == 5;"
        "print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
