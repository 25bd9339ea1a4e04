"""What is worth keeping of a campaign comes back whole, and no more of it than there is room for."""

from __future__ import annotations

import io
import json
import lzma
import random
import tarfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from numcolbert.evaluate.trec import read_run
from numcolbert.train.fingerprint import note_of


@pytest.fixture
def campaign(script: Callable[[str], ModuleType]) -> ModuleType:
    return script("campaign")


@pytest.fixture
def packing(script: Callable[[str], ModuleType]) -> ModuleType:
    return script("campaign_pack")


def run_file(path: Path, benchmark: str, *, queries: int = 2, depth: int = 1000, noted: bool = True) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"q{q} Q0 d{r} {r} {1 / r:.6f} x\n" for q in range(queries) for r in range(1, depth + 1)]
    path.write_text("".join(lines))
    if noted:
        note_of(path).write_text(json.dumps({"benchmark": benchmark, "fingerprint": "f"}))


def noise(path: Path, size: int) -> None:
    """A file that nothing can compress."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(random.Random(path.as_posix()).randbytes(size))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A campaign as ours leave it: a training, an evaluation, a baseline."""
    work = tmp_path / "work"
    (work / "logs").mkdir(parents=True)
    (work / "logs" / "trained.log").write_text("well\n")
    (work / "campaign.log").write_text("all went well\n")
    (work / "plan.toml").write_text(
        '[[runs]]\nname = "trained"\nrecipe = "x"\nkeep_model = true\n'
        '[[runs]]\nname = "baseline"\nrecipe = "x"\nkeep_depth = 1000\n'
        '[[runs]]\nname = "averaged"\ncommand = ["x"]\n'
    )
    trained, averaged, baseline = (work / "runs" / name for name in ("trained", "averaged", "baseline"))
    run_file(trained / "runs" / "fin.gated.trec", "fin")
    run_file(trained / "runs" / "fin.ungated.trec", "fin")
    run_file(trained / "runs" / "fin-dev.gated.trec", "fin/dev")
    run_file(trained / "runs" / "msmarco-dev.gated.trec", "msmarco-dev")
    run_file(trained / "runs" / "med.gated.trec", "med", noted=False)
    run_file(averaged / "runs" / "fin.plain.trec", "fin")
    run_file(averaged / "runs" / "questions.plain.trec", "questions", queries=2001, depth=12)
    run_file(baseline / "fin.trec", "fin")
    for folder in (trained, averaged / "runs", baseline):
        (folder / "results.json").write_text("[]")
    (baseline / "training.json").write_text("{}")
    noise(trained / "model" / "model.safetensors", 100_000)
    noise(trained / "state" / "state.safetensors", 100_000)
    noise(averaged / "model" / "model.safetensors", 100_000)
    (baseline / "model").mkdir()
    (baseline / "model" / "log.jsonl").write_text("{}\n")
    return work


def kept(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def depth(run: Path) -> int:
    return max(map(len, read_run(run).values()))


def test_what_is_packed_comes_back(campaign: ModuleType, work: Path, tmp_path: Path) -> None:
    out, again = tmp_path / "out", tmp_path / "again"
    assert campaign.main(["pack", str(work), str(out), "--part-megabytes", "0.02"]) == 0
    parts = sorted(out.glob("campaign.tar.xz.*"))
    assert len(parts) > 5
    assert max(part.stat().st_size for part in parts) == 20_000
    assert "packed 0.1 MB" in (out / "campaign.log").read_text()
    assert campaign.main(["unpack", str(out), str(again)]) == 0
    assert kept(again) == {
        *("campaign.log", "plan.toml", "logs/trained.log"),
        *("runs/trained/results.json", "runs/trained/model/model.safetensors"),
        *("runs/trained/runs/fin.gated.trec", "runs/trained/runs/fin.gated.made-on.json"),
        *("runs/trained/runs/fin-dev.gated.trec", "runs/trained/runs/fin-dev.gated.made-on.json"),
        *("runs/trained/runs/msmarco-dev.gated.trec", "runs/trained/runs/msmarco-dev.gated.made-on.json"),
        *("runs/averaged/runs/results.json",),
        *("runs/averaged/runs/fin.plain.trec", "runs/averaged/runs/fin.plain.made-on.json"),
        *("runs/averaged/runs/questions.plain.trec", "runs/averaged/runs/questions.plain.made-on.json"),
        *("runs/baseline/results.json", "runs/baseline/training.json", "runs/baseline/model/log.jsonl"),
        *("runs/baseline/fin.trec", "runs/baseline/fin.made-on.json"),
    }
    for name in kept(again) - {"campaign.log"}:
        if not name.endswith(".trec"):
            assert (again / name).read_bytes() == (work / name).read_bytes(), name
    assert depth(again / "runs/trained/runs/fin.gated.trec") == 100
    assert depth(again / "runs/baseline/fin.trec") == 1000
    assert depth(again / "runs/averaged/runs/questions.plain.trec") == 10
    assert len(read_run(again / "runs/averaged/runs/questions.plain.trec")) == 2001


def test_what_has_no_room_is_left_out_and_named(
    campaign: ModuleType, work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, again = tmp_path / "out", tmp_path / "again"
    assert campaign.main(["pack", str(work), str(out), "--most-megabytes", "0.09"]) == 0
    assert "left out, 0.09 MB are full: model of trained" in capsys.readouterr().err
    assert "model of trained" in (out / "campaign.log").read_text()
    assert campaign.main(["unpack", str(out), str(again)]) == 0
    assert "runs/trained/model/model.safetensors" not in kept(again)
    assert depth(again / "runs/baseline/fin.trec") == 1000


def test_models_go_first_then_deep_runs_then_runs_of_the_last_in_the_plan(packing: ModuleType) -> None:
    def piece(kind: str, run: str, size: int) -> object:
        return packing.Piece(kind, run, bytes(size))

    pieces = [
        *(piece("notes", "a", 1), piece("runs", "a", 10), piece("deep", "a", 50), piece("model", "a", 100)),
        *(piece("notes", "b", 1), piece("runs", "b", 10), piece("model", "b", 100)),
    ]

    def left_out(most: int) -> list[str]:
        found, dropped = packing.fitting(pieces, most)
        assert sum(len(piece.data) for piece in found) <= max(most, 2)
        return [f"{piece.kind} {piece.run}" for piece in dropped]

    assert left_out(262) == []  # the deep run of a stands for its run
    assert left_out(261) == ["model b"]
    assert left_out(100) == ["model b", "model a"]
    assert left_out(30) == ["model b", "model a", "deep a"]
    assert left_out(20) == ["model b", "model a", "deep a", "runs b"]
    assert left_out(0) == ["model b", "model a", "deep a", "runs b", "runs a"]


def test_a_file_that_cannot_be_read_does_not_cost_the_others(
    campaign: ModuleType, work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (work / "runs" / "trained" / "runs" / "fin.gated.trec").write_text("not a run\n")
    assert campaign.main(["pack", str(work), str(tmp_path / "out")]) == 0
    assert "cannot be packed: runs of trained" in capsys.readouterr().err
    assert campaign.main(["unpack", str(tmp_path / "out"), str(tmp_path / "again")]) == 0
    assert "runs/averaged/runs/fin.plain.trec" in kept(tmp_path / "again")


def test_a_missing_part_or_folder_is_named(
    campaign: ModuleType, work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert campaign.main(["pack", str(work), str(out), "--part-megabytes", "0.05"]) == 0
    assert campaign.main(["pack", str(work), str(out)]) == 1
    sorted(out.glob("campaign.tar.xz.*"))[-1].unlink()
    assert campaign.main(["unpack", str(out), str(tmp_path / "again")]) == 1
    assert campaign.main(["unpack", str(tmp_path), str(tmp_path / "again")]) == 1
    assert campaign.main(["pack", str(tmp_path), str(tmp_path / "other")]) == 1
    said = capsys.readouterr().err
    assert "already holds a packed campaign" in said
    assert "holds 2 of 3 parts" in said
    assert "holds no packed campaign" in said
    assert "holds no campaign" in said
    assert not (tmp_path / "again").exists()


def test_nothing_is_written_outside_the_folder(
    campaign: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("../outside"))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "campaign.tar.xz.1-of-1").write_bytes(lzma.compress(buffer.getvalue()))
    assert campaign.main(["unpack", str(tmp_path / "out"), str(tmp_path / "again")]) == 1
    assert "outside" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"out"}


def test_a_damaged_archive_is_named(
    campaign: ModuleType, work: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert campaign.main(["pack", str(work), str(out)]) == 0
    (part,) = out.glob("campaign.tar.xz.*")
    part.write_bytes(part.read_bytes()[:-40])
    assert campaign.main(["unpack", str(out), str(tmp_path / "again")]) == 1
    assert "is damaged" in capsys.readouterr().err
