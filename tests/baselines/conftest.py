from __future__ import annotations

import os
from pathlib import Path

import pytest

from numcolbert.baselines.quantulum import Quantulum


@pytest.fixture(scope="session")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Quantulum:
    """quantulum3 takes seconds to load; all tests share one."""
    pytest.importorskip("quantulum3")
    path: Path = tmp_path_factory.mktemp(f"quantulum-{os.getpid()}") / "cache.sqlite"
    return Quantulum(path)
