"""`verify` finds what a half copy or a bad disk does to an index, and opening it never gives a traceback."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.standin import StandIn

from numcolbert.api import NumColBERT
from numcolbert.api import open as open_index
from numcolbert.errors import NotFoundError, NumColBERTError
from numcolbert.index.verify import problems

VECTORS = {
    "flat": ["vectors.0", "keys.0", "ends.0"],
    "plaid": ["residuals.0", "codes.0", "lengths.0", "centroids.0", "rotation.0", "levels.0", "ends.0"],
}
CHECKED = [(kind, f"engine/{name}") for kind, names in VECTORS.items() for name in names]
OTHERS = ["manifest.json", "documents.sqlite", "engine/state.json"]
FILES = [*((kind, name) for kind in VECTORS for name in OTHERS), *CHECKED]
of_both_engines = pytest.mark.parametrize(("kind", "name"), FILES)


@pytest.fixture
def kind() -> str:
    return "flat"


@pytest.fixture
def folder(kind: str, tmp_path: Path) -> Path:
    documents = [{"id": f"d{i}", "text": f"item {i} weighs {i} kg"} for i in range(50)]
    index = NumColBERT(StandIn()).index(documents, tmp_path / "idx", engine=kind)
    index.add([{"id": "late", "text": "a late one of 3 km"}])
    index.delete(["d3"])
    index.close()
    assert problems(tmp_path / "idx") == []
    return tmp_path / "idx"


def opens_or_refuses(folder: Path) -> None:
    try:
        with open_index(folder, model=StandIn()) as index:
            index.search("item 7 weighs 7 kg")
    except NumColBERTError as error:
        assert error.hint


@of_both_engines
def test_a_missing_file_is_found(folder: Path, name: str) -> None:
    (folder / name).unlink()
    opens_or_refuses(folder)
    try:
        assert len(problems(folder)) == 1, "one fault, one sentence"
    except NotFoundError:
        assert name == "manifest.json"


@of_both_engines
@pytest.mark.parametrize("kept", [0.0, 0.5, 0.9])
def test_a_file_that_is_cut_short_is_found(folder: Path, name: str, kept: float) -> None:
    path = folder / name
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * kept)])
    opens_or_refuses(folder)
    assert problems(folder)


@pytest.mark.parametrize(("kind", "name"), [*CHECKED, ("flat", "documents.sqlite")])
def test_changed_bytes_are_found(folder: Path, name: str) -> None:
    path = folder / name
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 64] = bytes(255 - byte for byte in content[middle : middle + 64])
    path.write_bytes(content)
    opens_or_refuses(folder)
    if name != "documents.sqlite":  # there the bytes may lie in free space, which harms nothing
        assert any(name in sentence for sentence in problems(folder))


def test_a_store_without_its_log_is_found(folder: Path) -> None:
    """Copying an index file by file while it is written can lose the write-ahead log."""
    before = (folder / "documents.sqlite").read_bytes()
    with open_index(folder, model=StandIn()) as index:
        index.add([{"id": "newest", "text": "the newest one, 4 kg"}])
    (folder / "documents.sqlite").write_bytes(before)
    assert any("-wal" in sentence for sentence in problems(folder))


def test_a_copy_of_an_index_in_use_is_whole(folder: Path, tmp_path: Path) -> None:
    with open_index(folder, model=StandIn()) as index:
        index.add([{"id": "newest", "text": "the newest one, 4 kg"}])
        copy = Path(
            shutil.copytree(folder, tmp_path / "copy", ignore=shutil.ignore_patterns("*-wal", "*-shm"))
        )
    assert problems(copy) == []


def test_documents_without_vectors_are_found(folder: Path) -> None:
    from numcolbert.index.flat import FlatEngine

    engine = FlatEngine.open(folder / "engine")
    engine.delete([7])
    engine.commit()
    engine.close()
    assert any("'d7'" in sentence for sentence in problems(folder))


def test_a_whole_copy_is_as_good_as_the_original(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    assert problems(copy) == []
    with open_index(copy, model=StandIn()) as index:
        assert index.search("item 7 weighs 7 kg", k=1)[0].id == "d7"
