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
from pathlib import Path

import pytest
from tests.serving import serving
from tests.standin import StandIn

from numcolbert.api import NumColBERT
from numcolbert.cli.app import main
from numcolbert.server.app import create_app

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    "docs/tutorial.md",
    "docs/concepts/quantities.md",
    "docs/guides/evaluate.md",
    "docs/guides/other-engines.md",
    "docs/guides/serve.md",
]
ELSEWHERE = {
    "docs/guides/index-your-data.md": "tests/test_index_guide.py",
    "docs/concepts/gate.md": "needs a trained checkpoint and torch",
    "docs/guides/triples.md": "needs a mined pool",
}
FILES = {
    "qrels.trec": "q1 0 d1 1\nq2 0 d2 1\n",
    "a.run": "q1 Q0 d1 1 2.0 a\nq2 Q0 d1 1 2.0 a\nq2 Q0 d2 2 1.0 a\n",
    "b.run": "q1 Q0 d2 1 2.0 b\nq2 Q0 d2 1 2.0 b\n",
}
COMMANDS = ("numcolbert index", "numcolbert search", "numcolbert explain", "numcolbert quantities")
"""What runs on the files at hand; `serve` does not end, and `evaluate` asks for files of the reader's own."""
BLOCK = re.compile(r"(?:<!-- ([^>]*) -->\n)?```(python|bash)\n(.*?)```", flags=re.DOTALL)
DRIVES = re.search(
    r"Save this as `drives.jsonl`:\n```json\n(.*?)```",
    (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"),
    flags=re.DOTALL,
)


def run_command(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", shlex.split(line, comments=True))
    try:
        main()
    except SystemExit as end:
        assert not end.code, line


@pytest.mark.parametrize("page", PAGES)
def test_page(page: str, elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert DRIVES
    for name, text in {"drives.jsonl": DRIVES[1], "products.jsonl": DRIVES[1], **FILES}.items():
        (elsewhere / name).write_text(text, encoding="utf-8")
    blocks = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    assert any(language == "python" for _, language, _ in blocks)
    if "engines" in page:  # the tutorial built this index
        pytest.importorskip("pyarrow")
        run_command("numcolbert index build drives.jsonl -o drives", monkeypatch)
    namespace: dict[str, object] = {"__name__": "__page__"}
    for number, (note, language, text) in enumerate(blocks):
        if language == "bash":
            for line in text.splitlines():
                if line.startswith(COMMANDS):
                    run_command(line, monkeypatch)
            continue
        code = compile(text, f"{page}, block {number}", "exec")
        if note.startswith("not run") or (
            note.startswith("needs: ") and not importlib.util.find_spec(note.removeprefix("needs: "))
        ):
            continue
        if note == "with a server":
            drives = NumColBERT(StandIn()).index(
                ["The first drive holds 900 GB."], elsewhere / f"served{number}"
            )
            with serving(create_app(drives)) as running:
                text = text.replace("127.0.0.1:8080", running.address)
                exec(compile(text, f"{page}, block {number}", "exec"), namespace)
            continue
        exec(code, namespace)


def test_every_page_with_python_is_tested() -> None:
    with_python = {
        str(page.relative_to(ROOT))
        for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
        if "```python\n" in page.read_text(encoding="utf-8")
    }
    assert with_python == {*PAGES, *ELSEWHERE}
    for page in ELSEWHERE:
        for _, language, text in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
            if language == "python":
                compile(text, page, "exec")
