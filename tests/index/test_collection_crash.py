"""A process that dies at any point of a change leaves an index that is whole, before or after it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.standin import StandIn

from numcolbert.api import Index, NumColBERT
from numcolbert.api import open as open_index
from numcolbert.index import writer as writer_module
from numcolbert.index.build import BuildReport, build
from numcolbert.index.flat import FlatEngine
from numcolbert.index.store import Store

OLD = [{"id": "a", "text": "an old truck of 30 kg"}, {"id": "b", "text": "an old boat of 12 m"}]
NEW = [{"id": "a", "text": "a new truck of 31 kg"}, {"id": "c", "text": "a new house of 5 rooms"}]


Install = Callable[[pytest.MonkeyPatch, type], None]


class Engine:
    """Stands for the class of the index's engine among the targets of `dying`."""


def dying(target: Any, name: str, *, after: bool, call: int = 1) -> Install:
    """Patch `target.name` so that the process ends before or after its nth call."""

    def install(patch: pytest.MonkeyPatch, engine: type) -> None:
        patched = engine if target is Engine else target
        original = getattr(patched, name)
        calls = 0

        def replaced(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == call and not after:
                os._exit(9)
            result = original(*arguments, **options)
            if calls == call:
                os._exit(9)
            return result

        patch.setattr(patched, name, replaced)

    return install


ADD_POINTS = {
    "before the vectors": dying(Engine, "add", after=False),
    "after the vectors": dying(Engine, "add", after=True),
    "between the documents": dying(Store, "insert", after=True),
    "before the engine commits": dying(Engine, "commit", after=False),
    "after the engine committed": dying(Engine, "commit", after=True),
    "before old vectors go": dying(Engine, "delete", after=False),
    "after old vectors went": dying(Engine, "delete", after=True),
    "before the last engine commit": dying(Engine, "commit", after=False, call=2),
    "before the manifest": dying(writer_module, "write_manifest", after=False),
}
COMPACT_POINTS = {
    "before the engine commits": dying(Engine, "commit", after=False),
    "after the engine committed": dying(Engine, "commit", after=True),
    "before the store is purged": dying(Store, "purge", after=False),
    "after the store was purged": dying(Store, "purge", after=True),
}


def in_dying_child(folder: Path, install: Install, change: Callable[[Index], object]) -> None:
    def body() -> None:
        index = open_index(folder, model=StandIn())
        install(pytest.MonkeyPatch(), type(index.collection.view.engine))
        change(index)

    die(body)


def die(body: Callable[[], object]) -> None:
    """Run `body` in a child that is expected to end at a `dying` point."""
    child = multiprocessing.get_context("fork").Process(target=body)
    child.start()
    child.join(60)
    assert child.exitcode == 9, "the child was to die at the point"


def texts(index: Index) -> dict[str, str]:
    return {document.id: document.text for document in index.documents()}


def check_whole(folder: Path, allowed: list[dict[str, str]]) -> None:
    with open_index(folder, model=StandIn()) as index:
        found = texts(index)
        assert found in allowed
        hits = index.search("truck boat house", k=10)
        assert {hit.id: hit.text for hit in hits} == found, "every document is found, and nothing else"
        assert index.verify() == []
        index.add([{"id": "z", "text": "the next writer goes on with 7 kg"}])
        assert texts(index) == {**found, "z": "the next writer goes on with 7 kg"}
        assert {hit.id for hit in index.search("truck boat house", k=10)} == {*found, "z"}
        assert index.verify() == []
        assert index.collection.view.engine.count == len(index), "no vectors are left over"


@pytest.fixture(params=["flat", "plaid"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    NumColBERT(StandIn()).index(OLD, tmp_path / "idx", engine=request.param).close()
    return tmp_path / "idx"


BEFORE = {d["id"]: d["text"] for d in OLD}
AFTER = {**BEFORE, **{d["id"]: d["text"] for d in NEW}}


@pytest.mark.parametrize("point", ADD_POINTS)
def test_dying_while_adding(folder: Path, point: str) -> None:
    in_dying_child(folder, ADD_POINTS[point], lambda index: index.add(NEW))
    check_whole(folder, [BEFORE, AFTER])


@pytest.mark.parametrize("point", COMPACT_POINTS)
def test_dying_while_compacting(folder: Path, point: str) -> None:
    with open_index(folder, model=StandIn()) as index:
        index.add(NEW)
        index.delete(["b"])
    in_dying_child(folder, COMPACT_POINTS[point], lambda index: index.compact())
    check_whole(folder, [{id: text for id, text in AFTER.items() if id != "b"}])


def test_dying_after_the_store_has_deleted(folder: Path) -> None:
    in_dying_child(folder, dying(Engine, "delete", after=False), lambda index: index.delete(["a"]))
    check_whole(folder, [{"b": OLD[1]["text"]}])


BUILD_POINTS = {
    "after vectors": dying(Engine, "add", after=True, call=2),
    "after the engine committed": dying(Engine, "commit", after=True, call=3),
    "between documents": dying(Store, "insert", after=True, call=40),
    "before the windows are counted": dying(Store, "consume", after=False, call=2),
    "before the store is purged": dying(Store, "purge", after=False),
}


@pytest.mark.parametrize("point", BUILD_POINTS)
def test_a_build_that_dies_is_finished_by_the_next_call(tmp_path: Path, point: str) -> None:
    documents = [{"id": f"d{i}", "text": f"item {i} weighs {i} kg"} for i in range(100)]

    def make() -> BuildReport:
        return build(documents, tmp_path / "idx", StandIn(), batch_size=2, resume_as="documents")

    def body() -> None:
        BUILD_POINTS[point](pytest.MonkeyPatch(), FlatEngine)
        make()

    die(body)
    assert not (tmp_path / "idx").exists()
    report = make()
    assert report.documents == 100 and report.resumed_at >= 32
    with open_index(tmp_path / "idx", model=StandIn()) as index:
        assert [d.id for d in index.documents()] == [d["id"] for d in documents]
        assert index.search("item 63 weighs 63 kg", k=1)[0].id == "d63"
        assert index.collection.view.engine.count == 100
        assert index.verify() == []


WRITER = """
import sys
from tests.standin import StandIn
from numcolbert.api import open as open_index
index = open_index(sys.argv[1], model=StandIn())
for round in range(10_000):
    index.add([{"id": f"d{i}", "text": f"round {round} of document {i}, {round} kg"} for i in range(20)])
    print(round, flush=True)
"""

READER = """
import sys, time
from tests.standin import StandIn
from numcolbert.api import open as open_index
index = open_index(sys.argv[1], model=StandIn())
changes = 0
while changes < 8:
    rounds = {d.text.split()[1] for d in index.documents() if d.id.startswith("d")}
    assert len(rounds) <= 1, f"half a write is visible: {rounds}"
    hits = index.search("round of document", k=50)
    assert len(hits) == len(index), (len(hits), len(index))
    assert len({h.text.split()[1] for h in hits if h.id.startswith("d")}) <= 1
    changes += index.refresh()
    time.sleep(0.01)
"""


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_two_readers_and_a_writer_that_is_killed(folder: Path) -> None:
    """Readers only ever see whole writes; killing the writer loses nothing it had confirmed."""
    writer = start(WRITER, str(folder))
    assert writer.stdout is not None
    confirmed = int(writer.stdout.readline())
    readers = [start(READER, str(folder)) for _ in range(2)]
    outputs = [reader.communicate(timeout=120) for reader in readers]
    time.sleep(0.05)
    writer.send_signal(signal.SIGKILL)
    rest = writer.communicate(timeout=60)[0].split()
    confirmed = int(rest[-1]) if rest and rest[-1].isdigit() else confirmed
    for reader, (_, errors) in zip(readers, outputs, strict=True):
        assert reader.returncode == 0, errors
    with open_index(folder, model=StandIn()) as index:
        assert int(index.get("d0").text.split()[1]) in (confirmed, confirmed + 1)
        assert len(index) == 22
        assert index.verify() == []
