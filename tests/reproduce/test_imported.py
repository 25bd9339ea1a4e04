"""Files that are not what they should be get a sentence with their name and the line."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from numcolbert.errors import InputError, NotFoundError
from numcolbert.files import text_lines
from numcolbert.reproduce.imported import find_file


def test_the_first_pattern_that_fits_wins_plain_or_compressed(tmp_path: Path) -> None:
    for name in ("b.tsv", "a-1.tsv.xz", "a-2.tsv.gz"):
        (tmp_path / name).touch()
    assert find_file(tmp_path, "a-*.tsv", "b.tsv", hint="h").name == "a-1.tsv.xz"
    assert find_file(tmp_path, "c.tsv", "b.tsv", hint="h").name == "b.tsv"
    with pytest.raises(NotFoundError, match=r"holds no c\.tsv"):
        find_file(tmp_path, "c.tsv", hint="h")


def test_lines_that_are_no_text_and_files_cut_in_half_are_named(tmp_path: Path) -> None:
    (tmp_path / "latin.tsv").write_bytes(b"one\ncaf\xe9\n")
    with pytest.raises(InputError, match=r"Line 2 of .*latin\.tsv' is not UTF-8"):
        list(text_lines(tmp_path / "latin.tsv"))
    whole = lzma.compress("".join(f"line {n * n}\n" for n in range(5000)).encode())
    (tmp_path / "half.tsv.xz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "plain.tsv.gz").write_bytes(b"one\ntwo\n")
    for name in ("half.tsv.xz", "plain.tsv.gz"):
        with pytest.raises(InputError, match="cut off or damaged"):
            list(text_lines(tmp_path / name))
