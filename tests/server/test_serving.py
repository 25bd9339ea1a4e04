"""The server as a process: it finishes what it began, logs one JSON object a line, and bears load."""

from __future__ import annotations

import importlib.util
import json
import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import uvicorn
from fastapi.testclient import TestClient
from tests.standin import StandIn

from numcolbert.api import NumColBERT
from numcolbert.cli.serve import listen
from numcolbert.server.app import create_app
from numcolbert.server.client import Client, ServerError
from numcolbert.server.logs import JsonLines
from numcolbert.server.turns import cores
from numcolbert.types import QueryEncoding

SCRIPT = Path(__file__).parents[2] / "scripts" / "load_test.py"


class Slow(StandIn):
    """Takes its time for one query."""

    def encode_queries(self, texts: list[str]) -> list[QueryEncoding]:
        if "slowly" in texts:
            time.sleep(0.6)
        return super().encode_queries(texts)


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, uvicorn.Server, threading.Thread]]:
    index = NumColBERT(Slow()).index(["The disk holds 1 TB.", "The tape holds 18 TB."], folder)
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(create_app(index), log_config=None, timeout_graceful_shutdown=10))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}", server, thread
    server.should_exit = True
    thread.join(15)
    assert not thread.is_alive()


def test_a_request_under_way_is_answered_before_the_server_ends(tmp_path: Path) -> None:
    with serving(tmp_path / "idx") as (url, server, thread):
        found: list[int] = []
        asker = threading.Thread(target=lambda: found.append(len(Client(url).search("slowly"))))
        asker.start()
        time.sleep(0.2)
        server.should_exit = True
        asker.join(10)
        thread.join(10)
        assert found == [2]
        with pytest.raises(ServerError, match="No server answers"):
            Client(url).info()


def test_many_followers_of_a_job_leave_room_for_searches(tmp_path: Path) -> None:
    with serving(tmp_path / "idx") as (url, _, _):
        client = Client(url)
        job = client.start_job([f"disk {i} of {i} GB" for i in range(1, 200)]).id
        last: list[str] = []
        followers = [
            threading.Thread(target=lambda: last.append(list(client.follow(job))[-1].state))
            for _ in range(60)  # more than the framework has threads
        ]
        for follower in followers:
            follower.start()
        assert client.search("the disk")
        for follower in followers:
            follower.join(20)
        assert last == ["done"] * 60


def test_logs_are_json_with_the_request_id(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "numcolbert.server")
    with serving(tmp_path / "idx") as (url, _, _):
        Client(url).search("the disk")
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records]
    (entry,) = [line for line in lines if line.get("path") == "/v1/search"]
    assert {"time", "level", "message", "request_id", "method", "status", "ms"} <= set(entry)
    assert entry["status"] == 200


@pytest.fixture(scope="module")
def load_test() -> ModuleType:
    spec = importlib.util.spec_from_file_location("load_test", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["load_test"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_the_load_script_counts_what_it_asked(load_test: ModuleType, tmp_path: Path) -> None:
    with serving(tmp_path / "idx") as (url, _, _):
        found = load_test.measure(
            url, queries=["the disk over 500 GB"], clients=4, seconds=10, searches=60, warm=0
        )
    assert (found["searches"], found["errors"], found["clients"]) == (60, 0, 4)
    assert 0 < found["p50_ms"] <= found["p95_ms"] <= found["p99_ms"]


def test_the_load_script_speaks_to_this_machine_only(load_test: ModuleType) -> None:
    with pytest.raises(SystemExit, match="not this machine"):
        load_test.measure("http://192.0.2.1:80", queries=["x"])


def test_the_command_starts_serves_and_ends_on_a_signal(tmp_path: Path) -> None:
    """The whole of it in a process of its own, with a port that the system chooses."""
    NumColBERT(StandIn()).index(["The disk holds 1 TB."], tmp_path / "idx").close()
    code = (
        "import sys; from tests.standin import StandIn; from numcolbert.api import NumColBERT\n"
        "NumColBERT.load = classmethod(lambda cls, model=None: cls(StandIn()))\n"
        "from numcolbert.cli.app import main; main()"
    )
    arguments = ["serve", str(tmp_path / "idx"), "--port", "0", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", code, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=SCRIPT.parents[1],
    )  # fmt: skip
    assert process.stdout
    started = json.loads("".join(iter(lambda: process.stdout.readline(), "}\n")) + "}")  # type: ignore[union-attr]
    assert started["documents"] == 1
    assert Client(started["address"]).search("the disk")[0].text == "The disk holds 1 TB."
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=30)
    assert process.returncode in (0, -signal.SIGTERM, 128 + signal.SIGTERM)
    entries = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert any(entry.get("path") == "/v1/search" for entry in entries)
    assert "Traceback" not in log


def test_searches_take_turns_and_none_is_lost(tmp_path: Path) -> None:
    index = NumColBERT(StandIn()).index(["The disk holds 1 TB."], tmp_path / "idx")
    running, most, lock = [0], [0], threading.Lock()
    plain = index.search

    def watched(*arguments: Any, **options: Any) -> Any:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        try:
            time.sleep(0.02)
            return plain(*arguments, **options)
        finally:
            with lock:
                running[0] -= 1

    app = create_app(index)
    with TestClient(app) as client:
        index.search = watched  # type: ignore[method-assign]
        with ThreadPoolExecutor(12) as pool:
            answers = list(
                pool.map(lambda i: client.post("/v1/search", json={"query": f"disk {i} GB"}), range(24))
            )
    assert [answer.json()["query"] for answer in answers] == [f"disk {i} GB" for i in range(24)]
    assert 1 <= most[0] <= cores()
