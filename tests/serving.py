"""A real server on a loopback port, in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn

from numcolbert.cli.serve import listen

PATIENCE = 120.0
"""Seconds until something that must happen is taken for stuck; on a busy machine little happens in a few."""


@dataclass(frozen=True, slots=True)
class Running:
    address: str
    """host:port"""
    server: uvicorn.Server
    thread: threading.Thread

    @property
    def url(self) -> str:
        return f"http://{self.address}"


@contextmanager
def serving(app: Any) -> Iterator[Running]:
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=int(PATIENCE)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.01)
    try:
        yield Running(f"127.0.0.1:{listener.getsockname()[1]}", server, thread)
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
    assert not thread.is_alive()
