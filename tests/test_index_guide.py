"""What the guide to indexing shows works as it stands there."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from tests.standin import StandIn

from numcolbert.api import NumColBERT
from numcolbert.cli.app import main

GUIDE = (Path(__file__).parent.parent / "docs" / "guides" / "index-your-data.md").read_text(encoding="utf-8")
PRODUCTS = [
    {"id": f"p{i}", "text": f"Drive {i} holds {i * 200} GB.", "description": f"drive {i}", "price": 20 * i,
     "year": 1998 + 6 * i, "category": "ssd", "day": "2023-01-01", "tags": ["new"], "title": "a drive",
     "archived": False, "seller": {"country": "DE"}, "odd name": 1}
    for i in range(1, 6)
]  # fmt: skip


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, flags=re.DOTALL)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(NumColBERT, "load", classmethod(lambda cls, model=None: cls(StandIn())))


def test_the_commands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    Path("products.jsonl").write_text("".join(json.dumps(p) + "\n" for p in PRODUCTS))
    Path("sheet.csv").write_text("id,description,price,year\np1,holds 1 TB,70,2021\np2,holds 2 GB,60,1995\n")
    Path("more.jsonl").write_text('{"id": "p2", "text": "now 3 TB", "year": 2022, "price": 50}\n')
    lines = [line for block in blocks("bash") for line in block.splitlines()]
    assert len(lines) > 12
    for line in lines:
        command = shlex.split(line, comments=True)
        if command[:3] == ["numcolbert", "index", "delete"] and "--where" not in command:
            command.append("--ignore-missing")
        monkeypatch.setattr(sys, "argv", command)
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        assert code == 0, f"{line}\n{capsys.readouterr().err}"


def test_the_filters(tmp_path: Path) -> None:
    table = GUIDE.split("| filter | selects |")[1].split("\n\n")[0]
    filters = [
        f for row in table.splitlines()[2:] for f in re.findall(r"`` (.+?) ``|`([^`]+)`", row.split(" | ")[0])
    ]
    assert len(filters) > 15
    with NumColBERT(StandIn()).index(PRODUCTS, tmp_path / "made") as index:
        for quoted, plain in filters:
            index.count((quoted or plain).strip())


def test_the_mistake(tmp_path: Path) -> None:
    from numcolbert.errors import UsageError

    with (
        NumColBERT(StandIn()).index(PRODUCTS, tmp_path / "made") as index,
        pytest.raises(UsageError) as caught,
    ):
        index.count("price < 5 quux")
    assert f"error: {caught.value}\n" in blocks("text")[0]


def test_the_python(capsys: pytest.CaptureFixture[str]) -> None:
    NumColBERT(StandIn()).index(["The drive holds 1 TB."], "idx").close()  # the commands above it made one
    exec(compile(blocks("python")[0], "index-your-data.md", "exec"), {})
    assert "p1" in capsys.readouterr().out
