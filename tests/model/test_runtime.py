"""The runtime of the core keeps to itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
from numcolbert.model.encoder import Encoder
Encoder.load().encode_queries(["over 5 kg"])
"""


def _folders_after_encoding(home: Path) -> list[str]:
    # What tells the runtime that it runs on a build machine would keep it quiet too.
    quiet = ("CI", "GITHUB_ACTIONS", "TF_BUILD", "BUILD_BUILDID", "ORT_DISABLE_TELEMETRY")
    kept = {name: value for name, value in os.environ.items() if name not in quiet}
    places = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, env={**kept, **places})
    return [path.name for path in home.rglob("*")]


def test_encoding_leaves_no_identifier_of_this_machine_behind(tmp_path: Path) -> None:
    """As installed onnxruntime sends events to its makers, and keeps by what to know the machine again."""
    left = _folders_after_encoding(tmp_path)
    assert not [name for name in left if "onnxruntime" in name or "deviceid" in name]
