"""A real server over the demo corpus, with the stand-in encoder, and a browser to look at it with."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.serving import PATIENCE, serving
from tests.standin import StandIn

from numcolbert.api import NumColBERT
from numcolbert.cli.demo import QUERIES
from numcolbert.data import corpora
from numcolbert.server.app import create_app

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip
EVERY_NTH = 4
"""A quarter of the corpus is enough to look at, and indexed in a moment."""

OpenPage = Callable[..., "Page"]


@contextmanager
def serving_demo(folder: Path) -> Iterator[str]:
    corpus = Path(str(files("numcolbert.assets") / "demo.jsonl"))
    documents = [document for i, document in enumerate(corpora.read(corpus)) if i % EVERY_NTH == 0]
    index = NumColBERT(StandIn()).index(documents, folder)
    with serving(create_app(index, examples=QUERIES)) as running:
        yield f"{running.url}/"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("no Chromium on this machine: apt install chromium")
    with api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def address(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving_demo(tmp_path_factory.mktemp("page") / "idx") as url:
        yield url


@pytest.fixture
def open_page(browser: Browser, address: str) -> Iterator[OpenPage]:
    """Opens the page and fails the test when it logs an error or asks another host for anything."""
    contexts: list[Any] = []
    complaints: list[str] = []

    def opened(
        width: int = 1000, scheme: str = "light", path: str = "", motion: str = "reduce", wait: bool = True
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme=scheme,  # type: ignore[arg-type]
            reduced_motion=motion,  # type: ignore[arg-type]
        )
        context.set_default_timeout(1000 * PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda m: complaints.append(m.text) if "Security Policy" in m.text else None)
        page.on("request", lambda r: None if r.url.startswith(address) else complaints.append(r.url))
        page.goto(address + path)
        if wait:
            page.wait_for_selector(".hit")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not complaints


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    return open_page()
