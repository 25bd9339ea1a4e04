from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from numcolbert.config import read_json, read_toml, settings_from
from numcolbert.errors import ConflictError, InputError, NotFoundError, StorageError, UsageError
from numcolbert.files import folder_bytes, open_binary, replacing_file, replacing_folder, require_file
from numcolbert.progress import Progress, Update, clock, describe, listening


@dataclass
class Inner:
    rate: float = 0.1
    names: tuple[str, ...] = ()
    weights: dict[str, float] | None = None


@dataclass
class Outer:
    steps: int
    mode: Literal["a", "b"] = "a"
    inner: Inner = field(default_factory=Inner)
    limit: int | None = None


def test_settings_nest_and_convert() -> None:
    made = settings_from(Outer, {"steps": 3, "inner": {"rate": 1, "names": ["x"]}, "limit": 4}, "recipe")
    assert made == Outer(3, inner=Inner(1.0, ("x",)), limit=4)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"steps": 1, "mood": "a"}, "did you mean 'mode'"),
        ({"steps": 1, "mode": "c"}, "choose one of 'a', 'b'"),
        ({"mode": "a"}, "lacks the key 'steps'"),
        ({"steps": "many"}, "type int"),
        ({"steps": True}, "type int"),
        ({"steps": 1, "inner": 3}, "must be a table"),
        ({"steps": 1, "inner": {"names": "x"}}, "must be a list"),
        ({"steps": 1, "inner": {"weights": 3}}, "key 'weights' must be a table"),
        ({"steps": 1, "inner": {"weights": {"a": "x"}}}, "key 'weights', key 'a' is 'x'"),
        ({"steps": 1, "inner": {"rate": float("nan")}}, "key 'rate' is nan.\nhint: give a finite number"),
        ({"steps": 1, "inner": {"rate": float("inf")}}, "key 'rate' is inf.\nhint: give a finite number"),
    ],
)
def test_wrong_settings_name_the_fix(values: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        settings_from(Outer, values, "recipe")
    assert words in str(caught.value)


def test_broken_toml_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text("steps = = 3")
    with pytest.raises(UsageError, match="not valid TOML"):
        read_toml(tmp_path / "r.toml")


def test_a_byte_order_mark_before_settings_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text("steps = 3", encoding="utf-8-sig")
    (tmp_path / "r.json").write_text('{"steps": 3}', encoding="utf-8-sig")
    assert read_toml(tmp_path / "r.toml") == read_json(tmp_path / "r.json", "file", hint="") == {"steps": 3}


def test_json_that_is_nested_too_deep(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 200_000)
    with pytest.raises(InputError, match=r"deep\.json' is not valid JSON"):
        read_json(tmp_path / "deep.json", "attributes file", hint="write less")


def test_replacing_folder_keeps_the_old_one_on_failure(tmp_path: Path) -> None:
    target = tmp_path / "made"
    with replacing_folder(target) as aside:
        (aside / "a").write_text("1")
    with pytest.raises(ConflictError), replacing_folder(target):
        pass
    with pytest.raises(RuntimeError), replacing_folder(target, overwrite=True) as aside:
        (aside / "a").write_text("2")
        raise RuntimeError
    assert (target / "a").read_text() == "1"
    assert [p.name for p in tmp_path.iterdir()] == ["made"]


def test_only_a_folder_of_its_kind_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "thesis"
    target.mkdir()
    with replacing_folder(target, overwrite=True, mark="pool.json") as aside:  # nothing is lost
        (aside / "chapter").write_text("1")
    with (
        pytest.raises(ConflictError, match=r"holds other things: it has no pool\.json"),
        replacing_folder(target, overwrite=True, mark="pool.json"),
    ):
        pass
    (target / "pool.json.xz").touch()
    monkeypatch.chdir(target)
    with replacing_folder(Path(), overwrite=True, mark="pool.json") as aside:
        (aside / "pool.json").touch()
    assert [p.name for p in target.iterdir()] == ["pool.json"]
    file = target / "pool.json"
    for overwrite in (False, True):
        with (
            pytest.raises(ConflictError, match="is a file, not a folder"),
            replacing_folder(file, overwrite=overwrite),
        ):
            pass
    assert file.is_file() and len(list(tmp_path.iterdir())) == 1


def test_a_folder_is_never_replaced_by_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in (tmp_path, Path()):
        with pytest.raises(StorageError, match="Is a directory"), replacing_file(folder):
            pass


def test_a_pipe_is_no_file_that_is_missing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotFoundError, match=r"pipe' is not a regular file") as refused:
        require_file(tmp_path / "pipe", "run file")
    assert "write it to a file" in refused.value.hint


def test_replacing_file_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), replacing_file(tmp_path / "f") as aside:
        aside.write_text("half")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    with replacing_file(tmp_path / "f") as aside:
        aside.write_text("whole")
    assert open_binary(tmp_path / "f").read() == b"whole"


def test_progress_reports_rate_and_time_left() -> None:
    seen: list[Update] = []
    with listening(seen.append), Progress("encode", 10, "documents", interval=0) as progress:
        progress.advance(4)
    assert [u.done for u in seen] == [0, 4, 4]
    assert seen[-1].finished
    assert (
        describe(Update("encode", 50, 100, "documents", 5.0, False))
        == "encode  50/100 documents  10/s  0:05 left"
    )
    assert describe(Update("train", 3, 6, "steps", 9.0, False)) == "train  3/6 steps  0.33/s  0:09 left"
    assert describe(Update("read", 0, 6, "files", 9.0, False)) == "read  0/6 files  0/s"
    assert clock(3700) == "1:01:40"


def test_more_than_there_was_to_do_leaves_nothing() -> None:
    seen: list[Update] = []
    with listening(seen.append), Progress("train", -1, "steps"):
        pass
    assert {update.total for update in seen} == {0}


def test_the_size_of_a_folder_counts_a_file_that_vanishes_meanwhile_as_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "kept").write_bytes(b"12345")
    (tmp_path / "below" / "kept").write_bytes(b"678")
    (tmp_path / "vanishing").write_bytes(b"9")
    walk = os.walk

    def walk_then_remove(folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
        listed = list(walk(folder))
        (tmp_path / "vanishing").unlink()
        yield from listed

    monkeypatch.setattr("numcolbert.files.os.walk", walk_then_remove)
    assert folder_bytes(tmp_path) == 8
