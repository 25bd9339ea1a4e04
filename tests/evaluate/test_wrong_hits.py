"""Wrong concepts and wrong numbers, against values computed by hand and against trec_eval."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from numcolbert.cli.app import app
from numcolbert.errors import InputError, NotFoundError
from numcolbert.evaluate.measures import measure
from numcolbert.evaluate.significance import bootstrap_ratio
from numcolbert.evaluate.slices import Slice
from numcolbert.evaluate.trec import Qrels, write_qrels, write_run
from numcolbert.evaluate.wrong_hits import find_about, read_about, wrong_hits

# "net income above 2 billion" is satisfied by high1 and high2, "margin below 5 %" by one passage of three.
ABOUT: Qrels = {
    "income": {"high1": 1, "high2": 1, "low1": 0, "low2": 0},
    "margin": {"m4": 1, "m6": 0, "m7": 0},
}
QRELS: Qrels = {"income": {"high1": 1, "high2": 1}, "margin": {"m4": 1}}
RUN = {
    "income": {"high1": 9.0, "low2": 8.0, "high2": 7.0},  # of two: both in the concept, one right
    "margin": {"weather": 9.0, "m4": 8.0},  # of one: another concept
}


def ranked(*passages: str) -> dict[str, float]:
    return {passage: -float(rank) for rank, passage in enumerate(passages)}


def test_by_hand() -> None:
    (hits,) = wrong_hits({"ours": RUN}, Slice("all", QRELS), ABOUT)
    assert (hits.system, hits.part, hits.queries, hits.left_out) == ("ours", "all", 2, 0)
    assert hits.concept.value == (2 / 2 + 0 / 1) / 2
    assert hits.number is not None and hits.number.value == 1 / 2
    assert hits.both.value == (1 / 2 + 0 / 1) / 2


def test_numbers_are_averaged_over_hits() -> None:
    run = {"income": ranked("high1", "low1"), "margin": ranked("m4")}
    (hits,) = wrong_hits({"ours": run}, Slice("all", QRELS), ABOUT)
    # Two of three hits; the mean over queries would be 3/4.
    assert hits.number is not None and hits.number.value == 2 / 3
    assert hits.number.low == 1 / 2 and hits.number.high == 1
    assert hits.concept == type(hits.concept)(1.0, 1.0, 1.0)
    assert hits.both.value == 3 / 4


def test_empty_places_are_wrong_and_no_concept_means_no_number() -> None:
    silent, elsewhere, short = wrong_hits(
        {
            "silent": {},
            "elsewhere": {"income": ranked("x", "y", "high1")},
            "short": {"income": ranked("high1")},
        },
        Slice("all", {"income": QRELS["income"]}),
        ABOUT,
    )
    assert silent.number is None and silent.concept.value == silent.both.value == 0
    assert elsewhere.number is None and elsewhere.concept.value == 0
    assert short.concept.value == short.both.value == 1 / 2
    assert short.number is not None and short.number.value == 1


def test_queries_with_two_conditions_are_left_out() -> None:
    (hits,) = wrong_hits({"ours": RUN}, Slice("all", {**QRELS, "two": {"high1": 1}}), ABOUT)
    assert (hits.queries, hits.left_out) == (2, 1)
    assert hits.both.value == 1 / 4
    assert wrong_hits({"ours": RUN}, Slice("two", {"two": {"high1": 1}}), ABOUT) == []


SCORES = st.sampled_from([0.0, 1.0, 1.0 + 1e-9, 1.0 + 1e-6, 2.0])


@given(st.dictionaries(st.sampled_from([*ABOUT["income"], "x", "y"]), SCORES))
def test_both_is_the_r_precision_of_trec_eval(ranking: dict[str, float]) -> None:
    judged = {"income": QRELS["income"]}
    (hits,) = wrong_hits({"ours": {"income": ranking}}, Slice("all", judged), ABOUT, resamples=10)
    assert hits.both.value == measure({"income": ranking}, judged, ["Rprec"]).means()["Rprec"]


def test_judgements_of_another_build_are_refused() -> None:
    other = {**QRELS, "margin": {"m6": 1}}
    with pytest.raises(InputError, match=r"the qrels of 'all' do not agree .* query 'margin'"):
        wrong_hits({"ours": RUN}, Slice("all", other), ABOUT)


def test_a_draw_without_any_hit_about_the_concept_has_no_ratio() -> None:
    assert bootstrap_ratio(np.array([1.0, 0.0]), np.array([2.0, 0.0])) == (0.5, 0.5)
    with pytest.raises(InputError, match="no queries to resample"):
        bootstrap_ratio(np.empty(0), np.empty(0))


def test_the_file_may_be_compressed_or_missing(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"has no about.trec") as refused:
        read_about(tmp_path, QRELS)
    assert "numcolbert data benchmark" in refused.value.hint
    with gzip.open(tmp_path / "about.trec.gz", "wt") as file:
        file.write("income 0 low1 0\n")
    assert find_about(tmp_path) == tmp_path / "about.trec.gz"
    assert read_about(tmp_path, QRELS) == {"income": {"low1": 0}}


# -- the command -------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_qrels(tmp_path / "qrels.trec", QRELS)
    write_qrels(tmp_path / "about.trec", ABOUT)
    write_run(tmp_path / "ours.run", {**RUN, "b1": {"z": 1.0}, "t1": {"z": 1.0}}, "ours")
    (tmp_path / "attributes.json").write_text(
        json.dumps({"income": {"operator": ">"}, "margin": {"operator": "<"}})
    )
    write_qrels(tmp_path / "suites" / "bounds" / "qrels.trec", {"b1": {"z": 1}})
    write_qrels(tmp_path / "suites" / "bounds" / "about.trec", {"b1": {"z": 1, "y": 0}})
    write_qrels(tmp_path / "suites" / "two_conditions" / "qrels.trec", {"t1": {"z": 1}})
    return tmp_path


def invoke(folder: Path, *options: str) -> str:
    arguments = ["evaluate", str(folder / "ours.run"), "--qrels", str(folder / "qrels.trec")]
    arguments += ["--attributes", str(folder / "attributes.json"), "--suites", str(folder / "suites")]
    result = CliRunner().invoke(app, [*arguments, "--dataset", "tiny", "-m", "Rprec", *options])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_columns_when_piped(folder: Path) -> None:
    title, *table = invoke(folder, "--errors").split("\n\n")[-1].splitlines()
    assert title == "# tiny: concept and number of the first R hits"
    assert [line.split("\t") for line in table] == [
        ["system", "part", "queries", "concept", "number", "both"],
        ["ours", "all", "2", "0.500", "0.500", "0.250"],
        ["ours", ">", "1", "1.000", "0.500", "0.500"],
        ["ours", "<", "1", "0.000", "–", "0.000"],
        ["ours", "bounds", "1", "1.000", "1.000", "1.000"],
    ]


def test_json(folder: Path) -> None:
    report = json.loads(invoke(folder, "--errors", "--json"))
    means = {table["name"]: table["rows"][0]["cells"]["Rprec"]["mean"] for table in report["tables"]}
    assert [(part["part"], part["both"]["value"]) for part in report["errors"]] == [
        ("all", means["tiny"]), (">", means[">"]), ("<", means["<"]), ("bounds", means["bounds"]),
    ]  # fmt: skip
    assert report["errors"][2]["number"] is None
    assert "errors" not in json.loads(invoke(folder, "--json"))


def test_other_formats(folder: Path) -> None:
    assert "| ours | > | 1 | 1.000 | 0.500 | 0.500 |" in invoke(folder, "--errors", "--markdown")
    assert r"ours & \textgreater{} & 1 & 1.000 & 0.500 & 0.500 \\" in invoke(folder, "--errors", "--latex")
    invoke(folder, "--errors", "--html", str(folder / "page.html"))
    page = (folder / "page.html").read_text()
    assert "Wrong concepts and wrong numbers" in page and "95% interval 0.000 to 1.000" in page


def test_systems_keep_their_parts_together_and_a_note_counts_what_is_left_out(folder: Path) -> None:
    write_qrels(folder / "about.trec", {"income": ABOUT["income"]})
    (folder / "other.run").write_bytes((folder / "ours.run").read_bytes())
    text = invoke(folder, "--errors", "--markdown", str(folder / "other.run"))
    rows = [line.split(" | ")[:2] for line in text.split("first R hits**")[1].splitlines() if " | " in line]
    assert rows[1:] == [[f"| {name}", part] for name in ("ours", "other") for part in ("all", ">", "bounds")]
    assert "Queries left out, because their concept is not known: all 1." in text


def test_what_is_known_of_other_queries_alone_is_refused(folder: Path) -> None:
    for place in (folder / "suites" / "bounds", folder):
        write_qrels(place / "about.trec", {"other": {"z": 1}})
        with pytest.raises(InputError, match="knows none of the queries of the qrels beside it") as refused:
            invoke(folder, "--errors")
        assert str(place / "about.trec") in refused.value.message


def test_an_older_benchmark(folder: Path) -> None:
    (folder / "about.trec").unlink()
    with pytest.raises(NotFoundError, match=r"has no about.trec, which says what passages are about"):
        invoke(folder, "--errors")
    assert "first R hits" not in invoke(folder)
