"""Imports flow one way, and the core never touches torch."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cpu_time import least_seconds_in_a_new_process

SOURCE = Path(__file__).parent.parent / "src" / "numcolbert"

# A room may import from itself, from those before it, and from the shared files at the top.
ROOMS = [
    "quantities", "data", "model", "train", "index", "search", "baselines",
    "evaluate", "report", "reproduce", "api", "server", "cli",
]  # fmt: skip
SHARED = {"types", "errors", "progress", "program", "files", "config", "assets"}
NO_ENCODER = {"quantities", "evaluate", "report"}
TORCH = {"torch", "sentence_transformers", "transformers", "accelerate", "safetensors"}
TORCH_FILES = {
    "model/gate.py", "model/checkpoint.py", "model/export.py",
    "baselines/splade.py", "baselines/deepquant.py",
    "baselines/deepquant_model.py", "baselines/fitting.py", "index/fastplaid.py",
}  # fmt: skip
ONLY_IN = {
    "onnxruntime": {"model/runtime.py"},
    "pint": {"quantities/units.py"},
    "fast_plaid": {"index/fastplaid.py"},
    "qdrant_client": {"index/qdrant.py", "index/qdrant_server.py"},
    "ray": {"index/ray.py"},
}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def imports(path: Path) -> list[tuple[str, bool]]:
    """(dotted name, whether it happens when the module is imported) for every import in a file."""
    found: list[tuple[str, bool]] = []

    def walk(node: ast.AST, eager: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                found.extend((alias.name, eager) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{path}: relative import"
                if child.module == "numcolbert":
                    found.extend((f"numcolbert.{alias.name}", eager) for alias in child.names)
                else:
                    found.append((child.module or "", eager))
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                continue
            else:
                function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                walk(child, eager and not function)

    walk(ast.parse(path.read_text(encoding="utf-8")), True)
    return found


def room_of(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_flow_one_way(path: Path) -> None:
    relative = path.relative_to(SOURCE)
    room = relative.parts[0].removesuffix(".py")
    for name, eager in imports(path):
        if name.startswith("numcolbert."):
            other = room_of(name)
            if room in ("__init__", "__main__") or other in SHARED or other.startswith("__"):
                continue
            assert room not in SHARED, f"{relative} is shared and must not import {name}"
            assert ROOMS.index(other) <= ROOMS.index(room), f"{relative} imports {name}, which comes later"
            if room in NO_ENCODER:
                assert other != "model", f"{relative} must not import an encoder"
        top = name.split(".")[0]
        if top in TORCH:
            allowed = room == "train" or str(relative) in TORCH_FILES
            assert allowed, f"{relative} imports {top}, which belongs to the train extra"
        if top in ONLY_IN:
            assert str(relative) in ONLY_IN[top], f"{relative} imports {top}"
        if eager and top in {"numba", "matplotlib", "scipy", "pint"}:
            assert room not in {"cli", "__init__"}, f"{relative} imports {top} when the command line starts"


def test_the_core_runs_without_torch() -> None:
    """Import every module of the core with torch and its company made unimportable."""
    core = [
        "numcolbert." + ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        for path in modules()
        if path.name not in ("__init__.py", "__main__.py")
        and path.relative_to(SOURCE).parts[0] != "train"
        and str(path.relative_to(SOURCE)) not in TORCH_FILES
    ]
    blocked = sorted(TORCH | {"spacy", "matplotlib", "quantulum3", "statsmodels", "sklearn", "pyarrow",
                              "onnx", "fast_plaid", "qdrant_client", "ray"})  # fmt: skip
    script = f"""
import importlib, sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Block())
for module in {core!r}:
    importlib.import_module(module)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_import_is_fast() -> None:
    assert least_seconds_in_a_new_process("import numcolbert") < 0.3
