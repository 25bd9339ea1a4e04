from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.standin import StandIn

from numcolbert.api import NumColBERT
from numcolbert.cli.app import main

DOCUMENTS = [
    {"id": "big", "text": "The SSD holds 1 TB of data.", "year": 2022, "price": 99},
    {"id": "small", "text": "The SSD holds 256 GB of data.", "year": 2020, "price": 40},
    {"id": "link", "text": "The link moves 600 Mbps.", "year": 2021},
]


@dataclass(frozen=True, slots=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Outcome]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs the command line as the console script does, with the stand-in for every model name."""

    def load(cls: type[NumColBERT], model: str | None = None) -> NumColBERT:
        return cls(StandIn(name=model or "stand-in"))

    monkeypatch.setattr(NumColBERT, "load", classmethod(load))

    def command(*arguments: object, stdin: str | bytes = "") -> Outcome:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "argv", ["numcolbert", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1 if end.code else 0
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Outcome(code, captured.out, captured.err)

    return command


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(json.dumps(document) + "\n" for document in DOCUMENTS), encoding="utf-8")
    return path


@pytest.fixture
def idx(tmp_path: Path) -> Path:
    NumColBERT(StandIn()).index(DOCUMENTS, tmp_path / "idx").close()
    return tmp_path / "idx"
