"""The race of encoders, and its command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from numcolbert.cli.app import app
from numcolbert.errors import InputError
from numcolbert.model.checkpoint import save_checkpoint
from numcolbert.model.export import export_model
from numcolbert.model.speed import Contestant, race


def test_the_race_counts_documents_and_queries_by_the_clock() -> None:
    now = [0.0]

    def takes(seconds_a_text: float):  # type: ignore[no-untyped-def]
        def encode(texts: list[str]) -> None:
            now[0] += seconds_a_text * len(texts)

        return encode

    slow = Contestant("slow", takes(0.5), takes(0.010))
    fast = Contestant("fast", takes(0.125), takes(0.002))
    found = race([slow, fast], ["a"] * 8, ["q"] * 4, clock=lambda: now[0])
    assert [round(s.documents_per_second, 3) for s in found] == [2.0, 8.0]
    assert [round(s.query_ms_p50, 3) for s in found] == [10.0, 2.0]


@pytest.mark.filterwarnings("ignore::numcolbert.model.encoder.QuantityCutOffWarning")
def test_bench_encode_measures_both(make_model, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    model = make_model()
    save_checkpoint(model, tmp_path / "m")
    export_model(model, tmp_path / "m" / "onnx")
    (tmp_path / "texts.txt").write_text("sales fell\n\nthe dose was 5 mg\n")
    arguments = ["bench", "encode", "--model", str(tmp_path / "m"), "--checkpoint", str(tmp_path / "m")]
    arguments += ["--texts", str(tmp_path / "texts.txt"), "--count", "4", "--rounds", "1", "--threads", "1"]
    done = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False)
    found = json.loads(done.stdout)
    assert [row["name"].split(",")[0] for row in found] == ["sentence-transformers", "numcolbert"]
    assert all(row["documents_per_second"] > 0 and row["query_ms_p50"] > 0 for row in found)
    table = CliRunner().invoke(app, arguments, catch_exceptions=False).stdout
    assert table.startswith("encoder\tdocuments/s\ttimes")


def test_a_file_without_text_is_refused(make_model, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    export_model(make_model(), tmp_path / "m")
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(InputError, match="holds no text"):
        CliRunner().invoke(
            app,
            ["bench", "encode", "--model", str(tmp_path / "m"), "--texts", str(tmp_path / "empty.txt")],
            catch_exceptions=False,
        )
