from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

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


@pytest.fixture(scope="session")
def script() -> Callable[[str], ModuleType]:
    """Opens a program of the folder scripts as a module."""

    def opened(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(
            name, Path(__file__).parents[2] / "scripts" / f"{name}.py"
        )
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return opened
