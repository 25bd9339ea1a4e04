"""What the pages show works as it stands there.

Python blocks of a page run one after another in one namespace; `numcolbert` lines of its bash blocks run as
commands before them. A comment above a block says what it needs:

<!-- needs: PACKAGE -->      skipped where the package is missing
<!-- with a server -->       a server answers where the block says 127.0.0.1:8080
<!-- not run: REASON -->     only compiled
"""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from tests.standin import StandIn

from numcolbert.api import NumColBERT
from numcolbert.cli.app import main
from numcolbert.cli.serve import listen
from numcolbert.server.app import create_app

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "docs/tutorial.md", "docs/guides/serve.md", "docs/guides/other-engines.md"]
BLOCK = re.compile(r"(?:<!-- ([^>]*) -->\n)?```(python|bash)\n(.*?)```", flags=re.DOTALL)
DRIVES = re.search(
    r"Save this as `drives.jsonl`:\n```json\n(.*?)```",
    (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"),
    flags=re.DOTALL,
)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    index = NumColBERT(StandIn()).index(["The first drive holds 900 GB."], folder)
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(create_app(index), log_config=None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join(15)


def run_command(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", shlex.split(line, comments=True))
    try:
        main()
    except SystemExit as end:
        assert not end.code, line


@pytest.mark.parametrize("page", PAGES)
def test_page(page: str, elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert DRIVES
    for name in ("drives.jsonl", "products.jsonl"):
        (elsewhere / name).write_text(DRIVES[1], encoding="utf-8")
    blocks = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    assert any(language == "python" for _, language, _ in blocks)
    if "engines" in page:  # the tutorial built this index
        pytest.importorskip("pyarrow")
        run_command("numcolbert index build drives.jsonl -o drives", monkeypatch)
    namespace: dict[str, object] = {"__name__": "__page__"}
    for number, (note, language, text) in enumerate(blocks):
        if language == "bash":
            for line in text.splitlines():
                if line.startswith("numcolbert ") and not line.startswith("numcolbert serve"):
                    run_command(line, monkeypatch)
            continue
        code = compile(text, f"{page}, block {number}", "exec")
        if note.startswith("not run") or (
            note.startswith("needs: ") and not importlib.util.find_spec(note.removeprefix("needs: "))
        ):
            continue
        if note == "with a server":
            with serving(elsewhere / f"served{number}") as address:
                text = text.replace("127.0.0.1:8080", address)
                exec(compile(text, f"{page}, block {number}", "exec"), namespace)
            continue
        exec(code, namespace)
