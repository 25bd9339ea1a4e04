"""One call compares runs; slices and families are right."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from numcolbert.errors import InputError, NotFoundError, UsageError
from numcolbert.evaluate.compare import Comparison, compare, compare_scores
from numcolbert.evaluate.measures import measure_all
from numcolbert.evaluate.significance import holm
from numcolbert.evaluate.slices import (
    Slice,
    attribute_slices,
    check_inside,
    subset_slices,
    suite_slices,
    with_lengths,
)
from numcolbert.evaluate.trec import write_qrels

QRELS = {f"q{i:02}": {"good": 1} for i in range(20)}


def run_with_ranks(ranks: list[int]):
    """A run that puts the relevant document at the given rank of each query."""
    return {
        query: {
            ("good" if position == rank else f"d{position}"): 20.0 - position for position in range(1, 12)
        }
        for query, rank in zip(QRELS, ranks, strict=True)
    }


RUNS = {
    "base": run_with_ranks([2, 3] * 10),
    "better": run_with_ranks([1, 2] * 10),
    "worse": run_with_ranks([5, 9] * 10),
    "same": run_with_ranks([3, 2] * 10),
}


def test_means_marks_and_families() -> None:
    report = compare(RUNS, QRELS, "base", measures=["RR@10", "P@10"])
    rows = {row.system: row for row in report.overall.rows}
    assert rows["base"].cells["RR@10"].mean == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert rows["base"].cells["RR@10"].versus is None
    marks = {name: row.cells["RR@10"].versus.mark for name, row in rows.items() if name != "base"}
    assert marks == {"better": "+", "worse": "-", "same": ""}
    assert all(row.cells["P@10"].versus.mark == "" for name, row in rows.items() if name != "base")

    def reciprocal(name: str):
        return [
            next(1 / r for r, d in enumerate(ranking, 1) if d == "good") for ranking in RUNS[name].values()
        ]

    others = ["better", "worse", "same"]
    raw = [stats.ttest_rel(reciprocal(name), reciprocal("base")).pvalue for name in others]
    corrected = [rows[name].cells["RR@10"].versus.p_holm for name in others]
    assert corrected == pytest.approx(holm(raw))
    assert rows["better"].cells["RR@10"].low < rows["better"].cells["RR@10"].mean
    assert report.overall.best("RR@10") == rows["better"].cells["RR@10"].mean


def test_slices_are_tables_of_their_own() -> None:
    even = {query: judged for i, (query, judged) in enumerate(QRELS.items()) if i % 2 == 0}
    report = compare(RUNS, QRELS, slices=[Slice("even", even)], measures=["RR@10"])
    assert [(table.name, table.queries) for table in report.tables] == [("all", 20), ("even", 10)]
    assert report.tables[1].rows[0].cells["RR@10"].mean == pytest.approx(1 / 2)


def test_a_system_may_lack_measures() -> None:
    scores = measure_all(RUNS, QRELS, ["RR@10", "nDCG@10"])
    scores["base"] = measure_all(RUNS, QRELS, ["RR@10"])["base"]
    settings = Comparison("all", ("RR@10", "nDCG@10"), "base")
    report = compare_scores([("all", scores)], settings, with_tukey=True)
    whole = compare(RUNS, QRELS, "base", measures=["RR@10", "nDCG@10"])
    base, better = (next(r for r in report.overall.rows if r.system == name) for name in ("base", "better"))
    assert set(base.cells) == {"RR@10"}, "no number is made up"
    assert better.cells["RR@10"] == next(r.cells["RR@10"] for r in whole.overall.rows if r.system == "better")
    assert better.cells["nDCG@10"].versus is None
    assert len(report.overall.tukey["nDCG@10"]) == 3 and len(report.overall.tukey["RR@10"]) == 6
    only = {"base": scores["base"], "better": scores["better"]}
    assert compare_scores([("all", only)], settings, with_tukey=True).overall.tukey["nDCG@10"] == []


def test_scores_of_some_queries_are_those_of_a_slice() -> None:
    some = {query: judged for query, judged in QRELS.items() if query < "q05"}
    silent = {"silent": {"q01": {"good": 1.0}}}
    for name, run in (RUNS | silent).items():
        whole, part = (measure_all({name: run}, qrels)[name] for qrels in (QRELS, some))
        assert whole.on(some).queries == part.queries and whole.on(some).missing == part.missing
        assert np.array_equal(whole.on(some).values, part.values)


def test_tukey_on_request() -> None:
    report = compare(RUNS, QRELS, measures=["RR@10"], with_tukey=True)
    assert len(report.overall.tukey["RR@10"]) == 6


def test_the_same_seed_gives_the_same_report() -> None:
    assert compare(RUNS, QRELS, "base", seed=3) == compare(RUNS, QRELS, "base", seed=3)


def test_wrong_use() -> None:
    with pytest.raises(UsageError, match="'none' is not among the runs"):
        compare(RUNS, QRELS, "none")
    with pytest.raises(UsageError, match="no run"):
        compare({}, QRELS)


ATTRIBUTES: dict[str, dict[str, object]] = {
    "a": {"operator": ">", "seen": True, "expanded": False, "value": 3, "span": [0, 1]},
    "b": {"operator": "=", "seen": False, "expanded": False, "value": -0.5, "span": [0, 1]},
    "c": {"operator": ">", "seen": False, "expanded": True, "value": 0.0, "span": [0, 1]},
}


@pytest.mark.parametrize(
    ("keys", "parts"),
    [
        (["operator"], {">": ["a", "c"], "=": ["b"]}),
        (["seen"], {"seen": ["a"], "not seen": ["b", "c"]}),
        (["value"], {"value not below zero": ["a", "c"], "value below zero": ["b"]}),
        (
            ["seen", "expanded"],
            {"seen, not expanded": ["a"], "not seen, not expanded": ["b"], "not seen, expanded": ["c"]},
        ),
    ],
)
def test_queries_are_told_apart_by_their_attributes(keys: list[str], parts: dict[str, list[str]]) -> None:
    slices = attribute_slices({query: {"d": 1} for query in "abc"}, ATTRIBUTES, keys)
    assert {part.name: sorted(part.qrels) for part in slices} == parts


def test_queries_are_told_apart_by_their_length() -> None:
    texts = [("a", "cash above 2 dollars"), ("b", "one " * 7), ("c", "one " * 10), ("d", "one " * 6)]
    known = with_lengths(ATTRIBUTES, texts)
    slices = attribute_slices({query: {"d": 1} for query in "abcd"}, known, ["length"])
    assert {part.name: sorted(part.qrels) for part in slices} == {
        "up to 6 words": ["a", "d"],
        "7 to 9 words": ["b"],
        "10 words or more": ["c"],
    }
    assert known["a"]["operator"] == ATTRIBUTES["a"]["operator"]


def test_attributes_that_do_not_tell_queries_apart() -> None:
    with pytest.raises(InputError, match="'b' has no 'operator'") as missing:
        attribute_slices({"b": {"d": 1}}, {})
    assert "same benchmark" in str(missing.value.hint)
    with pytest.raises(InputError, match="'a' has no 'sen'") as misspelt:
        attribute_slices({"a": {"d": 1}}, ATTRIBUTES, ["sen"])
    assert "seen, expanded" in str(misspelt.value.hint)
    with pytest.raises(InputError, match="told apart by 'span'"):
        attribute_slices({"a": {"d": 1}}, ATTRIBUTES, ["span"])
    with pytest.raises(InputError, match="told apart by 'conditions'") as nothing:
        attribute_slices({"a": {"d": 1}}, {"a": {"conditions": []}}, ["conditions"])
    assert "--by" in nothing.value.hint


def test_slices_from_folders(tmp_path: Path) -> None:
    write_qrels(tmp_path / "qrels" / "less.trec", {"a": {"d": 1}})
    write_qrels(tmp_path / "suites" / "hard" / "qrels.trec", {"b": {"d": 1}})
    assert subset_slices(tmp_path / "qrels") == [Slice("less", {"a": {"d": 1}})]
    assert suite_slices(tmp_path / "suites") == [Slice("hard", {"b": {"d": 1}})]
    with pytest.raises(NotFoundError):
        subset_slices(tmp_path / "nothing")
    with pytest.raises(InputError, match="Subset 'less' judges query 'a'"):
        check_inside(subset_slices(tmp_path / "qrels"), ["b"])


def test_slices_from_compressed_files(tmp_path: Path) -> None:
    for name in ("qrels/less.trec", "qrels/more.trec", "suites/hard/qrels.trec"):
        write_qrels(tmp_path / name, {"a": {"d": 1}})
    expected = [subset_slices(tmp_path / "qrels"), suite_slices(tmp_path / "suites")]
    for name, ending, opened in (
        ("qrels/less.trec", ".xz", lzma.open),
        ("suites/hard/qrels.trec", ".gz", gzip.open),
    ):
        with opened(tmp_path / (name + ending), "wb") as file:
            file.write((tmp_path / name).read_bytes())
        (tmp_path / name).unlink()
    (tmp_path / "qrels" / "less.trec.bak").touch()
    assert [subset_slices(tmp_path / "qrels"), suite_slices(tmp_path / "suites")] == expected


def test_many_runs_stay_fast() -> None:
    runs = {f"s{i}": run_with_ranks(list(np.random.default_rng(i).integers(1, 11, 20))) for i in range(20)}
    report = compare(runs, QRELS, "s0")
    assert len(report.overall.rows) == 20
