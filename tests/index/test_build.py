"""Building: streaming, resumable, never half there."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.standin import StandIn

from numcolbert.api import NumColBERT
from numcolbert.api import open as open_index
from numcolbert.errors import ConflictError, InputError, StorageError, UsageError
from numcolbert.index import build as build_module
from numcolbert.index import engines
from numcolbert.index.aside import Aside
from numcolbert.index.build import build
from numcolbert.index.estimate import Estimate, Survey
from numcolbert.index.flat import FlatEngine
from numcolbert.progress import Update, listening
from numcolbert.types import Document

DOCUMENTS = [Document(f"d{i}", f"item {i % 7} weighs {i} kg", {"n": i}) for i in range(100)]


class Interrupted(StandIn):
    """Is interrupted when it has encoded so many documents; the estimate's sample is not counted."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.after = after

    def encode_documents(self, texts: list[str], batch_size: int = 32) -> Any:
        if threading.current_thread() is not threading.main_thread():
            self.after -= len(texts)
            if self.after < 0:
                raise KeyboardInterrupt
        return super().encode_documents(texts, batch_size)


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_documents_are_counted_estimated_and_indexed(tmp_path: Path) -> None:
    heard: list[Estimate] = []
    updates: list[Update] = []
    with listening(updates.append):
        report = build(DOCUMENTS, tmp_path / "idx", StandIn(), on_estimate=heard.append)
    assert (report.documents, report.engine, report.skipped, report.resumed_at) == (100, "flat", 0, 0)
    assert heard[0].documents == 100
    assert heard[0].vectors == pytest.approx(report.vectors, rel=0.1)
    assert heard[0].bytes_while_building >= heard[0].bytes > 0
    last = [update for update in updates if update.label == "index"][-1]
    assert (last.done, last.total, last.finished) == (100, 100, True)
    assert listing(tmp_path) == ["idx"], "nothing is left beside the index"
    assert listing(tmp_path / "idx") == ["documents.sqlite", "engine", "manifest.json"]
    with open_index(tmp_path / "idx", model=StandIn()) as index:
        assert [d.id for d in index.documents()] == [d.id for d in DOCUMENTS]
        assert index.search("item 3 weighs 45 kg", k=1)[0].id == "d45"
        assert index.verify() == []


def test_an_interrupted_build_goes_on_where_it_stopped(tmp_path: Path) -> None:
    target = tmp_path / "idx"
    with pytest.raises(KeyboardInterrupt):
        build(DOCUMENTS, target, Interrupted(after=80), batch_size=2, resume_as="docs")
    assert not target.exists(), "never a partial index"
    encoder = StandIn()
    report = build(DOCUMENTS, target, encoder, batch_size=2, resume_as="docs")
    assert report.documents == 100
    assert report.resumed_at == 64, "two windows of 32 were done"
    assert encoder.encoded == 36 + 64, "what was done is not encoded again; the estimate's sample is"
    build(DOCUMENTS, tmp_path / "at once", StandIn(), batch_size=2)
    with (
        open_index(target, model=encoder) as resumed,
        open_index(tmp_path / "at once", model=encoder) as whole,
    ):
        for query in ("item 3 weighs 45 kg", "weighs 7 kg"):
            assert resumed.search(query, k=20).hits == whole.search(query, k=20).hits
        assert resumed.verify() == []
    assert listing(tmp_path) == ["at once", "idx"]


@pytest.mark.parametrize("engine", ["flat", "plaid"])
@pytest.mark.parametrize("step", ["_finish_engine", "describe", "publish"])
def test_a_build_that_stops_near_its_end_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, step: str
) -> None:
    def stopping(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    place: Any = Aside if step == "publish" else build_module
    with monkeypatch.context() as patch:
        patch.setattr(place, step, stopping)
        with pytest.raises(KeyboardInterrupt):
            build(DOCUMENTS, tmp_path / "idx", StandIn(), engine=engine, resume_as="docs")
    encoder = StandIn()
    assert build(DOCUMENTS, tmp_path / "idx", encoder, engine=engine, resume_as="docs").resumed_at == 100
    assert encoder.encoded <= 64, "nothing but the estimate's sample"
    assert listing(tmp_path) == ["idx"]
    assert listing(tmp_path / "idx") == ["documents.sqlite", "engine", "manifest.json"]
    with open_index(tmp_path / "idx", model=encoder) as index:
        assert len(index) == 100 and index.verify() == []


def test_an_unfinished_build_with_other_arguments_is_not_thrown_away(tmp_path: Path) -> None:
    target = tmp_path / "idx"
    with pytest.raises(KeyboardInterrupt):
        build(DOCUMENTS, target, Interrupted(after=80), batch_size=2, resume_as="docs")
    with pytest.raises(ConflictError, match="unfinished build"):
        build(DOCUMENTS, target, StandIn(), resume_as="other docs")
    assert build(DOCUMENTS, target, StandIn(), resume_as="other docs", overwrite=True).resumed_at == 0


def test_a_build_that_cannot_be_resumed_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        build(DOCUMENTS, tmp_path / "idx", Interrupted(after=80), batch_size=2)
    assert listing(tmp_path) == []


def test_a_bad_document_is_found_before_anything_is_encoded(tmp_path: Path) -> None:
    encoder = StandIn()
    with pytest.raises(InputError, match="'bad'"):
        build([*DOCUMENTS, Document("bad", "")], tmp_path / "idx", encoder)
    assert encoder.encoded == 0
    assert listing(tmp_path) == []
    report = build([Document("bad", ""), *DOCUMENTS], tmp_path / "idx", encoder, skip_bad=True)
    assert (report.documents, report.skipped) == (100, 1)


def test_a_generator_is_read_once(tmp_path: Path) -> None:
    def stream() -> Iterator[str]:
        yield from (d.text for d in DOCUMENTS)

    assert build(stream(), tmp_path / "idx", StandIn()).documents == 100


def test_nothing_is_overwritten_without_being_told(tmp_path: Path) -> None:
    target = tmp_path / "idx"
    build(DOCUMENTS[:3], target, StandIn())
    with pytest.raises(ConflictError, match=r"already exists.*\n.*in Python overwrite=True"):
        build(DOCUMENTS, target, StandIn())
    assert build(DOCUMENTS, target, StandIn(), overwrite=True).documents == 100
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.tex").write_text("words")
    with pytest.raises(ConflictError, match="not an index"):
        build(DOCUMENTS, precious, StandIn(), overwrite=True)
    assert (precious / "thesis.tex").exists()


def test_a_failed_rebuild_leaves_the_old_index(tmp_path: Path) -> None:
    target = tmp_path / "idx"
    build(DOCUMENTS[:3], target, StandIn())
    with pytest.raises(KeyboardInterrupt):
        build(DOCUMENTS, target, Interrupted(after=10), batch_size=2, overwrite=True)
    with open_index(target, model=StandIn()) as index:
        assert len(index) == 3


def test_two_builds_of_the_same_index_do_not_mix(tmp_path: Path) -> None:
    def documents() -> Iterator[Document]:
        with pytest.raises(ConflictError, match="being written"):
            build(DOCUMENTS, tmp_path / "idx", StandIn())
        yield from DOCUMENTS

    assert build(documents(), tmp_path / "idx", StandIn()).documents == 100


def test_a_large_collection_is_compressed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "FLAT_UP_TO", 50)
    report = build(DOCUMENTS, tmp_path / "idx", StandIn(), settings={"nbits": 8})
    assert report.engine == "plaid"
    with open_index(tmp_path / "idx", model=StandIn()) as index:
        assert index.info()["settings"] == {"nbits": 8}
        assert index.search("item 3 weighs 45 kg", k=1)[0].id == "d45"
        index.add([{"id": "d45", "text": "item 3 weighs 46 kg"}])
        index.compact()
        assert len(index) == 100 and index.verify() == []


def test_repeated_ids_in_the_input_leave_one_document(tmp_path: Path) -> None:
    report = build([*DOCUMENTS, Document("d5", "the last word, 1 kg")], tmp_path / "idx", StandIn())
    assert report.documents == 100
    with open_index(tmp_path / "idx", model=StandIn()) as index:
        assert index.get("d5").text == "the last word, 1 kg"
        assert index.info()["deleted"] == 0


@pytest.mark.parametrize(
    ("engine", "settings", "named"),
    [
        ("fast", {}, "'fast'"),
        ("plaid", {"bits": 4}, "'bits'"),
        ("plaid", {"nbits": 3}, "nbits is 3"),
        ("flat", {"nbits": 4}, "'nbits'"),
        ("auto", {"nbits": "4"}, "nbits"),
    ],
)
def test_wrong_settings_are_refused_before_any_work(
    tmp_path: Path, engine: str, settings: dict[str, Any], named: str
) -> None:
    with pytest.raises(UsageError, match=named):
        build(DOCUMENTS, tmp_path / "idx", StandIn(), engine=engine, settings=settings)
    assert listing(tmp_path) == []


def test_a_full_disk_is_one_sentence_and_the_build_can_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("numcolbert.index.columns._write", full)
        with pytest.raises(StorageError, match="full"):
            build(DOCUMENTS, tmp_path / "idx", StandIn(), resume_as="docs")
    assert not (tmp_path / "idx").exists()
    assert build(DOCUMENTS, tmp_path / "idx", StandIn(), resume_as="docs").documents == 100


def test_too_little_space_is_told_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = 10

    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage)
    with pytest.raises(StorageError, match="needs about"):
        build(DOCUMENTS, tmp_path / "idx", StandIn())


def test_a_full_disk_while_adding_leaves_the_index_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = NumColBERT(StandIn()).index(["first 1 kg", "second 2 kg"], tmp_path / "idx")

    def full(self: FlatEngine) -> None:
        raise StorageError("The disk is full.", hint="free some space")

    with monkeypatch.context() as patch:
        patch.setattr(FlatEngine, "commit", full)
        with pytest.raises(StorageError):
            index.add([Document("0", "changed 9 kg"), Document("x", "new 3 kg")])
    assert {d.id: d.text for d in index.documents()} == {"0": "first 1 kg", "1": "second 2 kg"}
    assert index.verify() == []
    index.add([Document("x", "new 3 kg")])
    assert len(index) == 3 and index.verify() == []


def test_the_sample_is_taken_from_the_whole_input() -> None:
    survey = Survey.of(Document(str(i), f"text {i}") for i in range(10_000))
    positions = [int(text.split()[1]) for text in survey.sample]
    assert survey.documents == 10_000
    assert 64 <= len(positions) <= 128
    assert positions[0] == 0 and positions[-1] > 9_000
