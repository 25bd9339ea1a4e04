"""TREC files survive a round trip, and a bad line is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numcolbert.errors import InputError, NotFoundError
from numcolbert.evaluate.trec import read_qrels, read_run, write_qrels, write_run

ids = st.text(st.characters(exclude_categories=("Z", "C")), min_size=1, max_size=8)
scores = st.floats(allow_nan=False, allow_infinity=False)


@given(run=st.dictionaries(ids, st.dictionaries(ids, scores, min_size=1, max_size=6), min_size=1, max_size=4))
def test_a_run_survives_a_round_trip(tmp_path_factory: pytest.TempPathFactory, run) -> None:
    path = tmp_path_factory.mktemp("run") / "a.run"
    write_run(path, run, "tag")
    assert read_run(path) == run


def test_a_run_file_is_ranked_best_first(tmp_path: Path) -> None:
    write_run(tmp_path / "a.run", {"q": {"low": 0.5, "high": 2.0, "mid": 1.0}}, "t")
    lines = (tmp_path / "a.run").read_text().splitlines()
    assert lines == ["q Q0 high 1 2.0 t", "q Q0 mid 2 1.0 t", "q Q0 low 3 0.5 t"]


@pytest.mark.parametrize("tag", ["my own model", ""])
def test_any_tag_makes_a_run_that_can_be_read(tmp_path: Path, tag: str) -> None:
    write_run(tmp_path / "a.run", {"q": {"d": 1.0}}, tag)
    assert read_run(tmp_path / "a.run") == {"q": {"d": 1.0}}


def test_a_byte_order_mark_is_no_part_of_the_first_query(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 0.9 t\n", encoding="utf-8-sig")
    (tmp_path / "q.trec").write_text("q1 0 d1 1\n", encoding="utf-8-sig")
    assert read_run(tmp_path / "a.run") == {"q1": {"d1": 0.9}}
    assert read_qrels(tmp_path / "q.trec") == {"q1": {"d1": 1}}


def test_qrels_survive_a_round_trip(tmp_path: Path) -> None:
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"c": 3}}
    write_qrels(tmp_path / "q.trec", qrels)
    assert read_qrels(tmp_path / "q.trec") == qrels


@pytest.mark.parametrize(
    ("line", "complaint", "hint"),
    [
        ("q1 Q0 d2 2 0.5", "has 5 columns", "query Q0 document rank score tag"),
        ("q1 Q0 d2 2 high t", "score 'high', which is not a number", "column 5"),
        ("q1 Q0 d2 2 nan t", "score 'nan'", "finite"),
        ("q1 Q0 d2 2 inf t", "score 'inf'", "finite"),
        ("q1 Q0 d1 2 0.5 t", "repeats document 'd1' for query 'q1'", "one line"),
        ("q9 Q0 d1 1 0.5 t", "names the query 'q9'", "same benchmark"),
        ("q1 Q0 d9 1 0.5 t", "names the document 'd9'", "same benchmark"),
    ],
)
def test_a_bad_run_line_is_named(tmp_path: Path, line: str, complaint: str, hint: str) -> None:
    path = tmp_path / "a.run"
    path.write_text(f"q1 Q0 d1 1 0.9 t\n\n{line}\n")
    with pytest.raises(InputError) as caught:
        read_run(path, queries={"q1"}, documents={"d1", "d2"})
    assert caught.value.message.startswith(f"Line 3 of '{path}'")
    assert complaint in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("q1 0 d2", "has 3 columns"),
        ("q1 0 d2 1.5", "grade '1.5'"),
        ("q1 0 d2 4000000000000", "grade 4000000000000"),
        ("q1 0 d2 99999999999999999999", "grade 99999999999999999999"),
        ("q1 0 d2 1001", "grade 1001"),
        ("q1 0 d2 -1001", "grade -1001"),
        ("q1 0 d1 0", "repeats document 'd1'"),
        ("q9 0 d1 1", "names the query 'q9'"),
        ("q1 0 d9 1", "names the document 'd9'"),
    ],
)
def test_a_bad_qrels_line_is_named(tmp_path: Path, line: str, complaint: str) -> None:
    path = tmp_path / "q.trec"
    path.write_text(f"q1 0 d1 1\n{line}\n")
    with pytest.raises(InputError) as caught:
        read_qrels(path, queries={"q1"}, documents={"d1", "d2"})
    assert f"Line 2 of '{path}'" in caught.value.message
    assert complaint in caught.value.message


def test_files_that_are_no_trec_files(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        read_run(tmp_path / "none.run")
    (tmp_path / "empty.run").write_text("\n")
    with pytest.raises(InputError, match="is empty"):
        read_run(tmp_path / "empty.run")
    (tmp_path / "binary.run").write_bytes(b"\xff\xfe\x00\n")
    with pytest.raises(InputError, match=r"Line 1 .* is not UTF-8"):
        read_run(tmp_path / "binary.run")


def test_ids_with_spaces_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'a b' cannot stand"):
        write_run(tmp_path / "a.run", {"q": {"a b": 1.0}}, "t")
    assert not list(tmp_path.iterdir())
