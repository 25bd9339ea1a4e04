"""The demo with a stand-in encoder: what it shows, and that it indexes once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.standin import StandIn
from typer.testing import CliRunner

from numcolbert.api import NumColBERT
from numcolbert.cli.app import app


@pytest.fixture
def encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    made = StandIn()
    monkeypatch.setenv("NUMCOLBERT_CACHE", str(tmp_path))
    monkeypatch.setattr(NumColBERT, "load", classmethod(lambda cls, model=None: cls(made)))
    return made


def test_three_rankings_side_by_side(encoder: StandIn) -> None:
    result = CliRunner().invoke(app, ["demo", "mountains higher than 8,000 metres", "--json", "-k", "2"])
    assert result.exit_code == 0, result.output
    (answer,) = json.loads(result.stdout)
    assert {"numcolbert", "without_gate", "bm25"} < set(answer)
    assert all(len(answer[name]) == 2 for name in ("numcolbert", "without_gate", "bm25"))
    assert {hit["satisfies"] for hit in answer["bm25"]} <= {True, False, None}


def test_the_corpus_is_indexed_once_and_every_example_is_answered(encoder: StandIn) -> None:
    first = CliRunner().invoke(app, ["demo"])
    assert first.exit_code == 0, first.output
    assert "rivers longer than 3,000 miles" in first.stdout
    documents = encoder.encoded
    second = CliRunner().invoke(app, ["demo", "bridges over 2 km"])
    assert second.exit_code == 0
    assert encoder.encoded == documents


def test_a_damaged_cache_is_built_again(encoder: StandIn, tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["demo", "bridges over 2 km"]).exit_code == 0
    (folder,) = tmp_path.glob("demo-*")
    next(file for file in (folder / "engine").iterdir() if file.stat().st_size).write_bytes(b"broken")
    again = CliRunner().invoke(app, ["demo", "bridges over 2 km", "--json"])
    assert again.exit_code == 0, again.output
    assert len(json.loads(again.stdout)[0]["numcolbert"]) == 3
    assert "damaged" in again.stderr
