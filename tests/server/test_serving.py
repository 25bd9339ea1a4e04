"""The server as a process: it finishes what it began, logs one JSON object a line, and bears load."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import logging
import signal
import socket
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
from fastapi.testclient import TestClient
from tests.serving import PATIENCE, Running, serving
from tests.standin import StandIn

from numcolbert.api import NumColBERT
from numcolbert.cli.serve import listen
from numcolbert.server.app import create_app
from numcolbert.server.client import Client, ServerError
from numcolbert.server.logs import JsonLines
from numcolbert.server.turns import cores
from numcolbert.types import QueryEncoding

SCRIPT = Path(__file__).parents[2] / "scripts" / "load_test.py"


class Held(StandIn):
    """Keeps one query until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go = threading.Event(), threading.Event()

    def encode_queries(self, texts: list[str]) -> list[QueryEncoding]:
        if "slowly" in texts:
            self.begun.set()
            self.go.wait(PATIENCE)
        return super().encode_queries(texts)


@contextmanager
def serving_two(folder: Path, encoder: StandIn | None = None) -> Iterator[Running]:
    texts = ["The disk holds 1 TB.", "The tape holds 18 TB."]
    with serving(create_app(NumColBERT(encoder or StandIn()).index(texts, folder))) as running:
        yield running


def test_a_request_under_way_is_answered_before_the_server_ends(tmp_path: Path) -> None:
    held = Held()
    with serving_two(tmp_path / "idx", held) as running:
        found: list[int] = []
        client = Client(running.url, timeout=PATIENCE)
        asker = threading.Thread(target=lambda: found.append(len(client.search("slowly"))))
        asker.start()
        assert held.begun.wait(PATIENCE)
        running.server.should_exit = True
        with pytest.raises(ServerError, match="No server answers"):
            while True:
                client.info()  # until new ones are turned away
        assert running.thread.is_alive()
        held.go.set()
        asker.join(PATIENCE)
        running.thread.join(PATIENCE)
        assert found == [2]


def test_an_answer_is_sent_at_once() -> None:
    """It leaves in parts, and Nagle's algorithm would hold the last one back for 40 ms."""

    async def accepted() -> int:
        at_once: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = writer.get_extra_info("socket")
            at_once.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listener = listen("127.0.0.1", 0)
        async with await asyncio.start_server(greet, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname())
            writer.close()
            return await at_once

    with ThreadPoolExecutor(1) as apart:  # a loop may be running in this thread: that of a browser
        assert apart.submit(asyncio.run, accepted()).result(PATIENCE)


def test_many_followers_of_a_job_leave_room_for_searches(tmp_path: Path) -> None:
    with serving_two(tmp_path / "idx") as running:
        client = Client(running.url, timeout=PATIENCE)
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
            follower.join(PATIENCE)
        assert last == ["done"] * 60


def test_logs_are_json_with_the_request_id(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "numcolbert.server")
    with serving_two(tmp_path / "idx") as running:
        Client(running.url).search("the disk")
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
    with serving_two(tmp_path / "idx") as running:
        found = load_test.measure(
            running.url, queries=["the disk over 500 GB"], clients=4, seconds=PATIENCE, searches=60, warm=0
        )
    assert (found["searches"], found["errors"], found["clients"]) == (60, 0, 4)
    assert 0 < found["p50_ms"] <= found["p95_ms"] <= found["p99_ms"]


def test_the_load_script_speaks_to_this_machine_only(load_test: ModuleType) -> None:
    with pytest.raises(SystemExit, match="not this machine"):
        load_test.measure("http://192.0.2.1:80", queries=["x"])
    with pytest.raises(SystemExit, match="is not an address"):
        load_test.measure("http://127.0.0.1:x", queries=["x"])
    with pytest.raises(SystemExit, match="nobody asks"):
        load_test.measure("http://127.0.0.1:80", queries=[])


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
    client = Client(started["address"])
    assert client.search("the disk")[0].text == "The disk holds 1 TB."
    client.add(["The tape holds 18 TB."])
    assert [state.state for state in client.follow(client.start_job(["The card holds 1 GB."]).id)][
        -1
    ] == "done"
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=PATIENCE)
    assert process.returncode in (0, -signal.SIGTERM, 128 + signal.SIGTERM)
    announced, *lines = log.splitlines()
    assert announced.startswith("serving 1 passages at ")
    entries = [json.loads(line) for line in lines]  # and nothing between them: no progress
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
