from __future__ import annotations

from pathlib import Path

import pytest
from tests.standin import StandIn

from numcolbert.api import NumColBERT


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, and the stand-in encoder for every model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NUMCOLBERT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(NumColBERT, "load", classmethod(lambda cls, model=None: cls(StandIn())))
    return tmp_path
