from __future__ import annotations

import json
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from numcolbert.errors import ConflictError, InputError, NotFoundError, UsageError
from numcolbert.model.checkpoint import ColBERTSettings, build_colbert
from numcolbert.train.model_setup import text_settings
from numcolbert.train.sources import DataSettings
from numcolbert.train.tape import TapeReader, _read, _write, main, open_feed, write_tape
from numcolbert.train.workers import Feed, FeedSettings, WorkerFailedError


@pytest.fixture(scope="module")
def drawn(backbone: Path, triples_file: Path) -> FeedSettings:
    model = build_colbert(backbone, ColBERTSettings(dim=16, query_length=16, document_length=24))
    data = DataSettings(triples=triples_file, workers=0, token_multiple=64)
    return FeedSettings(data, text_settings(model), batch=8, seed=3)


def taped(settings: FeedSettings, folder: Path, **changes: object) -> FeedSettings:
    data = replace(settings.data, tape=folder, **changes)  # type: ignore[arg-type]
    return replace(settings, data=data)


def test_a_tape_gives_the_batches_that_were_drawn(drawn: FeedSettings, tmp_path: Path) -> None:
    write_tape(drawn, tmp_path / "tape", 5)
    fresh, feed = Feed(drawn), open_feed(taped(drawn, tmp_path / "tape", workers=3))
    expected = [next(fresh) for _ in range(5)]
    assert [next(feed) for _ in range(5)] == expected
    assert isinstance(feed, TapeReader)
    assert isinstance(open_feed(drawn), Feed)
    resumed = TapeReader(replace(taped(drawn, tmp_path / "tape"), first=3))
    assert [next(resumed) for _ in range(3)] == [*expected[3:], expected[0]]


def test_the_end_of_a_tape_is_told(
    drawn: FeedSettings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_tape(drawn, tmp_path / "tape", 2)
    reader = TapeReader(taped(drawn, tmp_path / "tape"))
    first = [next(reader) for _ in range(2)]
    assert not caplog.records
    assert [next(reader) for _ in range(2)] == first
    assert "all 2 batches of the tape are used" in caplog.text


def test_a_reader_follows_the_writer(drawn: FeedSettings, tmp_path: Path) -> None:
    write_tape(drawn, tmp_path / "tape", 3)
    last = tmp_path / "tape" / "0000002.batch"
    aside = last.rename(tmp_path / "later")
    reader = TapeReader(taped(drawn, tmp_path / "tape"), patience=30)
    for _ in range(2):
        next(reader)
    timer = threading.Timer(0.2, lambda: aside.rename(last))
    timer.start()
    assert next(reader).entries
    timer.join()
    last.unlink()
    stuck = TapeReader(replace(taped(drawn, tmp_path / "tape"), first=2), patience=0.01)
    with pytest.raises(WorkerFailedError, match="has no batch 2"):
        next(stuck)


def test_a_tape_of_other_settings_is_refused(drawn: FeedSettings, tmp_path: Path) -> None:
    folder = tmp_path / "tape"
    write_tape(drawn, folder, 1)
    own = taped(drawn, folder)
    TapeReader(taped(drawn, folder, mask_known=False))
    for other, name in [
        (replace(own, seed=4), "run.seed"),
        (replace(own, batch=9), "optimiser.batch"),
        (taped(drawn, folder, quantities=3), "data.quantities"),
        (replace(own, text=replace(own.text, query_length=15)), "text.query_length"),
    ]:
        with pytest.raises(InputError, match=f"another {name}"):
            TapeReader(other)
    with pytest.raises(UsageError, match="one process"):
        TapeReader(replace(own, rank=1))
    with pytest.raises(NotFoundError, match="no tape"):
        TapeReader(taped(drawn, tmp_path / "nowhere"))
    with pytest.raises(ConflictError, match=r"another run\.seed"):
        write_tape(replace(drawn, seed=4), folder, 1)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_tape_is_gone_on_with(drawn: FeedSettings, tmp_path: Path, workers: int) -> None:
    own = replace(drawn, data=replace(drawn.data, workers=workers))
    write_tape(own, tmp_path / "whole", 5)
    whole = [(tmp_path / "whole" / f"{n:07d}.batch").read_bytes() for n in range(5)]

    folder = tmp_path / "tape"
    write_tape(own, folder, 3)
    (folder / "0000002.batch").unlink()  # as if broken off
    write_tape(drawn, folder, 5)  # drawn by as many as before
    assert [(folder / f"{n:07d}.batch").read_bytes() for n in range(5)] == whole

    before = {path: path.stat().st_mtime_ns for path in folder.glob("*.batch")}
    write_tape(own, folder, 4)
    assert {path: path.stat().st_mtime_ns for path in folder.glob("*.batch")} == before
    reader = TapeReader(taped(own, folder))
    assert len([next(reader) for _ in range(5)]) == 5


def test_two_may_write_the_same_tape(drawn: FeedSettings, tmp_path: Path) -> None:
    write_tape(drawn, tmp_path / "tape", 1)
    batch = tmp_path / "tape" / "0000000.batch"
    whole, parts = batch.read_bytes(), []
    for process in (1, 2):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "getpid", lambda process=process: process)
            patch.setattr(Path, "replace", lambda path, _target: parts.append(path))  # not moved yet
            _write(batch, _read(batch))
    assert len({path.name for path in parts}) == 2  # else one moves away what the other still writes
    assert batch.read_bytes() == whole


def test_a_damaged_tape_gets_a_sentence(drawn: FeedSettings, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="0 batches"):
        write_tape(drawn, tmp_path / "none", 0)
    assert not (tmp_path / "none").exists()
    folder = tmp_path / "tape"
    write_tape(drawn, folder, 3)
    reader = TapeReader(taped(drawn, folder))
    whole = [(folder / f"000000{number}.batch").read_bytes() for number in range(3)]
    (folder / "0000000.batch").write_bytes(whole[0][:-20])
    (folder / "0000001.batch").write_bytes(whole[1][:40])
    (folder / "0000002.batch").write_bytes(b"")
    for words in ("cut off", "damaged", "damaged"):
        with pytest.raises(InputError, match=words):
            next(reader)
    for listed in (b"[]", b"[1]", b"3"):
        (folder / "0000000.batch").write_bytes(len(listed).to_bytes(8, "little") + listed)
        with pytest.raises(InputError, match="damaged") as refused:
            next(TapeReader(taped(drawn, folder)))
    assert "remove the file" in refused.value.hint
    for number in range(3):
        (folder / f"000000{number}.batch").unlink()
    write_tape(drawn, folder, 3)  # as the hint says
    assert [(folder / f"000000{number}.batch").read_bytes() for number in range(3)] == whole
    for text, words in [
        ("{", "not valid JSON"),
        ("[]", "one JSON object"),
        ("{}", "does not say"),
        ('{"batches": 0, "made_with": {}}', "does not say"),
        ('{"batches": "3", "made_with": {}}', "does not say"),
        ('{"batches": 3, "made_with": []}', "does not say"),
    ]:
        (folder / "tape.json").write_text(text)
        with pytest.raises(InputError, match=words):
            TapeReader(taped(drawn, folder))


def test_the_command_writes_a_tape(
    backbone: Path, triples_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = [
        f"model.backbone={backbone}",
        f"data.triples={triples_file}",
        "data.workers=0",
        "model.encoder.document_length=32",
        "optimiser.batch=4",
        "run.steps=1",
    ]
    sets = [part for change in changes for part in ("--set", change)]
    assert main(["default", *sets, "-o", str(tmp_path / "tape"), "--batches", "2"]) == 0
    label = json.loads((tmp_path / "tape" / "tape.json").read_text(encoding="utf-8"))
    assert label["batches"] == 2
    assert len(list((tmp_path / "tape").glob("*.batch"))) == 2
    other = ["--set", "run.seed=9"]
    assert main(["default", *sets, *other, "-o", str(tmp_path / "tape"), "--batches", "2"]) == 1
    assert "hint:" in capsys.readouterr().err
