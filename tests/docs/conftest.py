from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tests.standin import StandIn

from numcolbert.api import NumColBERT

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, and the stand-in encoder for every model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NUMCOLBERT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(NumColBERT, "load", classmethod(lambda cls, model=None: cls(StandIn())))
    return tmp_path


@pytest.fixture(scope="session")
def script() -> Iterator[Callable[[str], ModuleType]]:
    """Opens a program of the folder scripts as a module; they find each other as when they are started."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPTS))
        yield importlib.import_module
