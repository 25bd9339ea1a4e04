"""The manifest: what it refuses, and how it knows a file again."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest

from numcolbert.errors import DamagedIndexError, ModelError, NotFoundError, StorageError
from numcolbert.index.manifest import (
    FORMAT,
    Checksum,
    Manifest,
    checksum,
    file_problems,
    read_manifest,
    write_manifest,
)


def manifest(**changes: object) -> Manifest:
    facts: dict[str, object] = {
        "format": FORMAT, "uid": "u", "model": "default", "model_fingerprint": "f" * 64, "dim": 8,
        "engine": "flat", "documents": 1, "vectors": 2, "generation": 1, "created": "now", "updated": "now",
        "numcolbert": "0.1.0", "settings": {"nbits": 4}, "files": {},
    }  # fmt: skip
    return Manifest(**{**facts, **changes})  # type: ignore[arg-type]


def test_it_reads_what_it_wrote(tmp_path: Path) -> None:
    written = manifest(files={"engine/keys.0": {"bytes": 3, "crc32": 5}})
    write_manifest(tmp_path, written)
    assert read_manifest(tmp_path) == written
    assert written.checksum("engine/keys.0") == Checksum(3, 5)


def test_a_newer_format_is_refused_with_the_fix(tmp_path: Path) -> None:
    write_manifest(tmp_path, manifest(format=FORMAT + 1))
    with pytest.raises(DamagedIndexError) as caught:
        read_manifest(tmp_path)
    assert "upgrade" in caught.value.hint


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": 1}', '{"format": "1"}', "\x00"])
def test_a_damaged_manifest_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(DamagedIndexError):
        read_manifest(tmp_path)


def test_what_is_no_index_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path, words in (
        (tmp_path / "none", "no index"),
        (tmp_path, "not an index"),
        (tmp_path / "file", "a file"),
    ):
        with pytest.raises(NotFoundError, match=words):
            read_manifest(path)


def test_another_model_is_refused_with_the_right_one_named() -> None:
    manifest().require_model("default", "f" * 64, Path("idx"))
    with pytest.raises(ModelError) as caught:
        manifest().require_model("mine", "e" * 64, Path("idx"))
    assert "'default'" in caught.value.message and "'mine'" in caught.value.message
    assert "--model default" in caught.value.hint
    with pytest.raises(ModelError, match="no longer"):
        manifest().require_model("default", "e" * 64, Path("idx"))


def test_a_checksum_goes_on_from_a_known_beginning(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"abc" * 1000)
    first = checksum(path)
    path.write_bytes(b"abc" * 1000 + b"tail")
    assert (
        checksum(path, known=first) == checksum(path) == Checksum(3004, zlib.crc32(b"abc" * 1000 + b"tail"))
    )
    assert checksum(path, upto=3000) == first


def test_growth_is_fine_and_anything_else_is_not(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"0123456789")
    entry = json.loads(json.dumps({"bytes": 10, "crc32": zlib.crc32(b"0123456789")}))
    known = manifest(files={"data": entry})
    assert file_problems(tmp_path, known, ["data"]) == []
    path.write_bytes(b"0123456789more")
    assert file_problems(tmp_path, known, ["data"]) == []
    path.write_bytes(b"012345678X")
    assert "changed" in file_problems(tmp_path, known, ["data"])[0]
    path.write_bytes(b"0123")
    assert "4 bytes instead of 10" in file_problems(tmp_path, known, ["data"])[0]
    path.unlink()
    assert "missing" in file_problems(tmp_path, known, ["data"])[0]


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a refused system call, because tests may run as root, whom no permission stops."""
    (tmp_path / "ends.0").write_bytes(b"12345678")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(StorageError, match=r"ends\.0' cannot be accessed"):
        checksum(tmp_path / "ends.0")
