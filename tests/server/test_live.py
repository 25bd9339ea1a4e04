"""The server keeps answering while others change, replace or break the index on disk."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.serving import PATIENCE
from tests.standin import StandIn

import numcolbert
from numcolbert.api import NumColBERT
from numcolbert.server.app import create_app
from numcolbert.server.live import LiveIndex


def build(path: Path, *texts: str, name: str = "stand-in") -> numcolbert.Index:
    return NumColBERT(StandIn(name=name)).index(list(texts), path, overwrite=True)


def test_documents_added_by_another_process_appear(tmp_path: Path) -> None:
    live = LiveIndex(build(tmp_path / "idx", "a disk of 1 TB"))
    with numcolbert.open(tmp_path / "idx", model=StandIn()) as other:
        other.add(["a tape of 18 TB"])
    assert live.look()
    assert not live.look()
    with live.lease() as index:
        assert len(index) == 2
    live.close()


def test_a_rebuilt_index_takes_over_and_the_old_one_stays_for_those_who_use_it(tmp_path: Path) -> None:
    live = LiveIndex(build(tmp_path / "idx", "a disk of 1 TB"))
    with live.lease() as old:
        build(tmp_path / "idx", "a cat of 4 kg", "a dog of 30 kg").close()
        assert live.look()
        with live.lease() as new:
            assert {hit.text for hit in new.search("a cat of 4 kg")} == {"a cat of 4 kg", "a dog of 30 kg"}
        assert old.search("a disk")[0].text == "a disk of 1 TB"
    with pytest.raises(Exception, match="closed"):
        old.search("a disk")
    live.close()


@pytest.mark.parametrize("fault", ["other model", "damaged", "gone"])
def test_an_index_that_cannot_be_used_does_not_take_over(
    tmp_path: Path, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "idx"
    live = LiveIndex(build(path, "a disk of 1 TB"))
    if fault == "gone":
        path.rename(tmp_path / "away")
    else:
        build(path, "a cat of 4 kg", name="another" if fault == "other model" else "stand-in").close()
    if fault == "damaged":
        next(file for file in (path / "engine").rglob("*") if file.is_file()).write_bytes(b"broken")
    assert not live.look()
    assert not live.look()
    with live.lease() as index:
        assert index.search("a disk")[0].text == "a disk of 1 TB"
    assert len(caplog.records) == (0 if fault == "gone" else 1)
    live.close()


def test_searches_go_on_while_the_index_is_rebuilt_again_and_again(tmp_path: Path) -> None:
    app = create_app(build(tmp_path / "idx", "a disk of 1 TB"), look_every=0.02)
    failures: list[str] = []
    stop = threading.Event()

    with TestClient(app) as client:

        def ask() -> None:
            while not stop.is_set():
                for answer in (
                    client.post("/v1/search", json={"query": "a disk over 500 GB"}),
                    client.get("/v1/index"),
                ):
                    if answer.status_code != 200:
                        failures.append(answer.text)

        askers = [threading.Thread(target=ask) for _ in range(3)]
        for asker in askers:
            asker.start()
        for i in range(8):
            build(tmp_path / "idx", *(f"disk {n} of {n} TB" for n in range(1, 3 + i))).close()
        deadline = time.monotonic() + PATIENCE
        while client.get("/v1/index").json()["documents"] != 9 and time.monotonic() < deadline:
            time.sleep(0.01)
        stop.set()
        for asker in askers:
            asker.join()
        assert client.get("/v1/index").json()["documents"] == 9
    assert failures == []
