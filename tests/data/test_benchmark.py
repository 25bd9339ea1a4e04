"""A test set keeps its promises: enough relevant passages, more that violate, nothing doubtful, no leak."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.data.mined import mined_pool
from typer.testing import CliRunner

from numcolbert.cli.app import app
from numcolbert.data.benchmark import BenchmarkSettings, JudgedSet, build
from numcolbert.data.benchmark_files import write
from numcolbert.data.corpora import read_benchmark
from numcolbert.data.held_out import HeldOut
from numcolbert.data.pair_index import Pair
from numcolbert.data.pool import Pool
from numcolbert.data.query_words import Wording, normal
from numcolbert.data.thresholds import round_between
from numcolbert.errors import ConflictError, InputError, UsageError
from numcolbert.evaluate.trec import read_qrels
from numcolbert.quantities import conditions, extract
from numcolbert.train.benchmarks import read_benchmark as benchmark_to_rank
from numcolbert.train.fingerprint import fingerprint

SETTINGS = BenchmarkSettings(name="toy", queries=24, development=6, suite=4)


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Pool:
    return mined_pool(tmp_path_factory.mktemp("pool"))


@pytest.fixture(scope="module")
def made(pool: Pool) -> JudgedSet:
    return build(pool, SETTINGS)


@pytest.fixture(scope="module")
def folder(pool: Pool, made: JudgedSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("benchmark") / "toy"
    write(pool, made, target)
    return target


def value_in(text: str, concept_word: str) -> float:
    """The number after the concept's word, in millions, percent or weeks: an independent reading."""
    found = re.search(rf"{concept_word}[a-z ]*? (?:was|were|at) \$?(\d+)", text, re.IGNORECASE)
    assert found, text
    return float(found[1])


WORDS = {
    "adjusted EBITDA": "EBITDA", "revenue": "revenue", "free cash flow": "cash flow", "net income": "income",
    "backlog": "backlog", "capital expenditure": "expenditures", "gross margin": "gross margin",
    "tax rate": "tax rate", "occupancy": "occupancy", "operating margin": "operating margin",
    "washout period": "washout period", "follow-up time": "follow-up",
}  # fmt: skip
SCALE = {"currency:USD": 1e6, "percent": 1.0, "time": 604800.0}


def test_every_label_agrees_with_an_independent_reading(pool: Pool, made: JudgedSet) -> None:
    compare = {
        "=": lambda v, a, _: abs(v - a) <= 5e-3 * abs(a),  # rounded as people do when they convert
        ">": lambda v, a, _: v > a, "<": lambda v, a, _: v < a,
        ">=": lambda v, a, _: v >= a * (1 - 1e-9), "<=": lambda v, a, _: v <= a * (1 + 1e-9),
        "range": lambda v, a, b: a * (1 - 1e-9) <= v <= b * (1 + 1e-9),
    }  # fmt: skip
    checked = 0
    for query in made.all_queries():
        for asked in query.asked:
            for row in query.relevant:
                value = value_in(pool.sentences[row], WORDS[asked.pair[0]]) * SCALE[asked.pair[1]]
                assert compare[asked.operator](value, asked.base_value, asked.base_high), query.text
                checked += 1
    assert checked > 80


def test_two_to_ten_relevant_and_as_many_that_violate(made: JudgedSet) -> None:
    for query in made.all_queries():
        assert 2 <= len(query.relevant) <= 10
        assert query.negatives >= len(query.relevant)
        assert not made.removed.intersection(query.relevant)


def test_operators_are_balanced_and_half_is_expanded(made: JudgedSet) -> None:
    operators = [query.asked[0].operator for query in made.test]
    assert {operator: operators.count(operator) for operator in set(operators)} == {"=": 8, ">": 8, "<": 8}
    assert sum(query.expanded for query in made.test) == 12


def test_expanded_queries_use_words_that_most_relevant_passages_do_not(pool: Pool, made: JudgedSet) -> None:
    for query in made.test:
        phrase = normal(query.asked[0].phrase)
        held = [phrase in normal(pool.sentences[row]) for row in query.relevant]
        assert (sum(held) < len(held) / 2) == query.expanded


def test_query_texts_say_what_the_attributes_say(made: JudgedSet) -> None:
    for query in made.all_queries():
        read_back = {(c.operator, round(c.quantity.base_value, 6)) for c in conditions(query.text)}
        for asked in query.asked:
            middle = (asked.base_value + asked.base_high) / 2
            assert (asked.operator, round(middle, 6)) in read_back, query.text
            start, end = asked.span
            assert re.search(r"\d|\w", query.text[start:end])


def test_no_threshold_is_used_twice(made: JudgedSet) -> None:
    keys = [asked.key for query in made.all_queries() for asked in query.asked]
    assert len(keys) == len(set(keys))


def test_the_same_seed_gives_the_same_set(pool: Pool, made: JudgedSet) -> None:
    again = build(pool, SETTINGS)
    assert [query.text for query in again.all_queries()] == [query.text for query in made.all_queries()]
    other = build(pool, BenchmarkSettings(name="toy", queries=24, development=6, suite=4, seed=14))
    assert [query.text for query in other.test] != [query.text for query in made.test]


def test_suites(made: JudgedSet) -> None:
    assert set(made.suites) == {"bounds", "conversion", "formats", "distractors", "two_conditions"}
    assert {q.asked[0].operator for q in made.suites["bounds"]} <= {">=", "<=", "range"}
    assert all(len(query.asked) == 2 for query in made.suites["two_conditions"])
    assert all(query.asked[0].unit != "week" for query in made.suites["conversion"])


def test_the_files_read_back(pool: Pool, made: JudgedSet, folder: Path) -> None:
    benchmark = read_benchmark(folder)
    assert len(benchmark.queries) == 24 and set(benchmark.qrels) == set(benchmark.queries)
    documents = {document.id for document in benchmark.documents()}
    assert len(documents) == len(pool.sentences) - len(made.removed)
    assert all(document in documents for judged in benchmark.qrels.values() for document in judged)
    subsets = benchmark.subsets
    assert set(subsets) == {"equal", "greater", "less", "expanded", "seen", "unseen"}
    assert set(subsets["seen"]) | set(subsets["unseen"]) == set(benchmark.qrels)
    assert not set(subsets["seen"]) & set(subsets["unseen"])
    assert len(read_benchmark(folder / "dev").queries) == 6
    assert len(read_benchmark(folder / "suites" / "bounds").queries) >= 1
    assert "test queries | 24" in (folder / "card.md").read_text()


def test_passages_about_the_concept(pool: Pool, made: JudgedSet, folder: Path) -> None:
    """Each file agrees with the judgements, and its passages hold the concept, by an independent reading."""
    sets = {folder: made.test, folder / "dev": made.development}
    sets |= {folder / "suites" / name: queries for name, queries in made.suites.items()}
    assert not (folder / "suites" / "two_conditions" / "about.trec").exists()
    texts = {document.id: document.text for document in read_benchmark(folder).documents()}
    for place, queries in sets.items():
        if place.name == "two_conditions":
            continue
        about, qrels = (read_qrels(place / name) for name in ("about.trec", "qrels.trec"))
        assert list(about) == [query.id for query in queries]
        for query in queries:
            asked = query.asked[0]
            assert {d: 1 for d, grade in about[query.id].items() if grade} == qrels[query.id]
            assert len(qrels[query.id]) < len(about[query.id]) <= len(query.relevant) + query.negatives
            assert all(value_in(texts[document], WORDS[asked.pair[0]]) for document in about[query.id])


def test_held_out_names_unseen_pairs_and_every_threshold(made: JudgedSet, folder: Path) -> None:
    held = HeldOut.read([folder])
    attributes = json.loads((folder / "attributes.json").read_text())
    for query in attributes.values():
        pair = (query["concept"], query["dimension"])
        assert (pair in held.pairs) == (not query["seen"])
        assert held.blocks(*pair, query["operator"], query["base_value"])
    assert len(held.thresholds) == len({a.key[:4] for q in made.all_queries() for a in q.asked})


def test_impossible_wishes_are_refused(pool: Pool) -> None:
    for wish in ({"queries": 0}, {"queries": -3}, {"development": -3}, {"suite": -1}):
        with pytest.raises(UsageError, match="too few"):
            build(pool, BenchmarkSettings(name="x", **wish))
    with pytest.raises(UsageError, match="cannot be spread evenly"):
        build(pool, BenchmarkSettings(name="toy", queries=10))
    with pytest.raises(UsageError, match="7 development queries cannot be spread evenly"):
        build(pool, BenchmarkSettings(name="toy", queries=12, development=7))
    with pytest.raises(InputError, match="of 3000 queries"):
        build(pool, BenchmarkSettings(name="toy", queries=3000))


def test_development_queries_and_suites_can_be_left_out(pool: Pool, tmp_path: Path) -> None:
    made = build(pool, BenchmarkSettings(name="toy", queries=12, development=0, suite=0))
    write(pool, made, tmp_path / "toy")
    assert len(read_benchmark(tmp_path / "toy").queries) == 12
    assert not (tmp_path / "toy" / "dev").exists() and not (tmp_path / "toy" / "suites").exists()


def test_the_command(pool: Pool, tmp_path: Path) -> None:
    pool.save(tmp_path / "pool")
    arguments = ["data", "benchmark", str(tmp_path / "pool"), "-o", str(tmp_path / "out"), "--queries", "12"]
    arguments += ["--development", "3", "--suite", "2", "--json"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["queries"] == 12
    assert told["fingerprint"] == fingerprint(benchmark_to_rank(tmp_path / "out"))[:12]
    assert isinstance(CliRunner().invoke(app, arguments).exception, ConflictError)


@given(st.floats(-1e12, 1e12), st.floats(-1e12, 1e12), st.integers())
def test_round_numbers_lie_strictly_between(one: float, other: float, seed: int) -> None:
    assume(one != other)
    low, high = sorted((one, other))
    number = round_between(low, high, Random(seed))
    assert number is None or low < number < high


def test_a_foreign_concept_is_called_by_its_own_name_only(pool: Pool) -> None:
    pair = Pair("zinc", "mass", [(0, extract("5 kg")[0])], {})
    for tables, names in (
        (["finance"], {"zinc"}),
        (["medicine"], {"zinc", "elemental zinc", "zinc supplement"}),
    ):
        wording = Wording(replace(pool, notes={"tables": tables}))
        assert {wording.phrase(pair, {0}, Random(seed), expanded=True) for seed in range(60)} == names
