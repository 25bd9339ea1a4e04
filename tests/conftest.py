"""For every test: the same examples every time, and nothing from the caller's terminal or home folder."""

from __future__ import annotations

import atexit
import importlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tests.properties import register_profiles

register_profiles()

# How a terminal is described, which decides about colours and the width of tables.
for name in ("FORCE_COLOR", "NO_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE", "COLUMNS"):
    os.environ.pop(name, None)

# Before anything is imported that reads them: caches away from the home folder, and no network.
_caches = Path(tempfile.mkdtemp(prefix="numcolbert-tests-"))
atexit.register(shutil.rmtree, _caches, ignore_errors=True)
os.environ["NUMCOLBERT_CACHE"] = str(_caches / "numcolbert")
os.environ["HF_MODULES_CACHE"] = str(_caches / "modules")
os.environ["HF_HUB_OFFLINE"] = "1"

SCRIPTS = Path(__file__).parents[1] / "scripts"


@pytest.fixture(scope="session")
def script() -> Iterator[Callable[[str], ModuleType]]:
    """Opens a program of the folder scripts as a module; they find each other as when they are started."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPTS))
        yield importlib.import_module
