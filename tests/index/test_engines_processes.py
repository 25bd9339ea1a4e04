"""Two readers and one writer, each a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

COMMON = """
import sys, json, time
from pathlib import Path
import numpy as np
from numcolbert.index.flat import FlatEngine
from numcolbert.index.plaid import PlaidEngine, PlaidSettings

def passage(key):
    rows = np.random.default_rng(key).standard_normal((1 + key % 4, 8)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)

kind, folder, stop = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
"""

WRITER = (
    COMMON
    + """
if kind == "flat":
    engine = FlatEngine.create(folder, 8)
else:
    sample = np.concatenate([passage(key) for key in range(50)])
    engine = PlaidEngine.create(folder, 8, PlaidSettings(4), sample=sample)
print("ready", flush=True)
for step in range(30):
    # Between commits there are always exactly the keys of one step: a reader that mixes two states sees it.
    if step:
        engine.delete(engine.keys().tolist())
    keys = range(1000 * step, 1000 * step + 10)
    engine.add(keys, [passage(key) for key in keys])
    if step % 3 == 2:
        engine.compact()
    engine.commit()
    time.sleep(0.02)
stop.write_text("done")
"""
)

READER = (
    COMMON
    + """
kind_class = FlatEngine if kind == "flat" else PlaidEngine
seen, opened = set(), 0
while True:
    last = stop.exists()
    engine = kind_class.open(folder)
    for _ in range(2):
        found = engine.search(passage(7), 20)
        keys = sorted(found.keys.tolist())
        if keys:
            step = keys[0] // 1000
            assert keys == list(range(1000 * step, 1000 * step + 10)), keys
            for key in keys[:2]:
                assert np.abs(engine.vectors(key) - passage(key)).max() < 0.4
            seen.add(step)
    engine.close()
    opened += 1
    if last:
        break
print(json.dumps({"seen": sorted(seen), "opened": opened}))
"""
)


@pytest.mark.parametrize("kind", ["flat", "plaid"])
def test_two_readers_and_a_writer(kind: str, tmp_path: Path) -> None:
    arguments = [kind, str(tmp_path / "engine"), str(tmp_path / "stop")]
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    readers = [
        subprocess.Popen(
            [sys.executable, "-c", READER, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    _, problem = writer.communicate(timeout=120)
    assert writer.returncode == 0, problem
    for reader in readers:
        said, problem = reader.communicate(timeout=120)
        assert reader.returncode == 0, problem
        assert json.loads(said)["seen"][-1] == 29  # the last committed state is reached
