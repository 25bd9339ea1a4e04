"""Benchmark folders in, runs out: how the neural baselines are trained and ranked from a terminal."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from numcolbert.baselines.collection import read_documents, read_queries
from numcolbert.errors import InputError, NotFoundError
from numcolbert.train.benchmarks import read_benchmark


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny"
    (folder / "suites" / "hard").mkdir(parents=True)
    documents = {"d1": "revenue of 50 dollars", "d2": "weight of 5 kilograms"}
    (folder / "corpus.jsonl").write_text(
        "".join(json.dumps({"_id": name, "text": text}) + "\n" for name, text in documents.items())
    )
    for place, query in ((folder, "q1"), (folder / "suites" / "hard", "h1")):
        (place / "queries.jsonl").write_text(
            json.dumps({"_id": query, "text": "revenue above 40 dollars"}) + "\n"
        )
        (place / "qrels.trec").write_text(f"{query} 0 d1 1\n")
    attributes = {
        "q1": {
            "concept": "revenue", "phrase": "revenues", "operator": ">", "value": 40, "unit": "USD",
            "dimension": "currency:USD", "base_value": 40.0, "base_high": 40.0, "span": [14, 24],
            "expanded": False, "seen": True,
        }
    }  # fmt: skip
    (folder / "attributes.json").write_text(json.dumps(attributes))
    return folder


def test_queries_have_concept_and_condition(benchmark: Path) -> None:
    found = read_benchmark(benchmark)
    (query,) = read_queries(found)
    assert (query.id, query.concept) == ("q1", "revenues")
    assert query.condition is not None
    assert query.condition.operator == ">" and query.condition.quantity.value == 40
    assert query.text[slice(*query.condition.span)] == "40 dollars"
    assert [d.id for d in read_documents(found.corpus_path)] == ["d1", "d2"]
    (plain,) = read_queries(read_benchmark(benchmark / "suites" / "hard"))
    assert plain.condition is None and plain.concept is None


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"_id": "d1", "text": "again"}', "repeats the id 'd1'"),
        ('{"_id": "d 3", "text": "two words"}', "has the id 'd 3'"),
        ('{"_id": "", "text": "none"}', "has the id ''"),
        ('{"_id": null, "text": "none"}', "has no id and text"),
        ('{"_id": "d3", "text": null}', "has no id and text"),
        ('["d3", "a list"]', "has no id and text"),
        ('{"_id": "d\\ud800", "text": "half"}', r"is not valid JSON \(half of a surrogate pair\)"),
        ('{"_id": "d3", "text": "half \\uDC00"}', r"is not valid JSON \(half of a surrogate pair\)"),
        ('{"_id": "d3", "text": ', "is not valid JSON"),
        ("[" * 100_000, r"is not valid JSON \(nested too deep\)"),
    ],
)
def test_a_collection_that_no_run_file_could_name(benchmark: Path, line: str, complaint: str) -> None:
    with (benchmark / "corpus.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(InputError, match=rf"Line 3 of .*corpus.jsonl' {complaint}"):
        read_documents(benchmark / "corpus.jsonl")


def test_a_character_written_as_two_surrogates_is_one(benchmark: Path) -> None:
    with (benchmark / "corpus.jsonl").open("a") as file:
        file.write('{"_id": "d3", "text": "\\ud83d\\ude00"}\n')
    assert read_documents(benchmark / "corpus.jsonl")[-1].text == "😀"


def test_a_file_is_no_benchmark(benchmark: Path) -> None:
    with pytest.raises(NotFoundError, match=r"corpus\.jsonl' is a file, not a folder"):
        read_benchmark(benchmark / "corpus.jsonl")
    with pytest.raises(NotFoundError, match="'none' does not exist"):
        read_benchmark(Path("none"))


def test_subsets_may_be_compressed(benchmark: Path) -> None:
    (benchmark / "qrels").mkdir()
    (benchmark / "qrels" / "a.trec").write_text("q1 0 d1 1\n")
    (benchmark / "qrels" / "a.trec.bak").write_text("not read")
    with gzip.open(benchmark / "qrels" / "b.c.trec.gz", "wt") as file:
        file.write("q1 0 d1 1\n")
    assert [*read_benchmark(benchmark).subsets] == ["a", "b.c"]


def test_a_benchmark_without_judgements(benchmark: Path) -> None:
    (benchmark / "qrels.trec").write_text("\n")
    with pytest.raises(InputError, match=r"qrels.trec' is empty"):
        read_benchmark(benchmark)


@pytest.mark.parametrize(
    "changed",
    [{"operator": [">"]}, {"operator": "over"}, {"value": 10**400}, {"span": [0, "1"], "value": None}],
)
def test_attributes_that_are_no_condition(benchmark: Path, changed: dict[str, object]) -> None:
    attributes = json.loads((benchmark / "attributes.json").read_text())
    attributes["q1"] |= changed
    found = replace(read_benchmark(benchmark), attributes=attributes)
    with pytest.raises(InputError, match="attributes of query 'q1'"):
        read_queries(found)


def test_attributes_that_cannot_be_read(benchmark: Path) -> None:
    (benchmark / "attributes.json").write_text(json.dumps({"q1": {"operator": ">"}}))
    with pytest.raises(InputError, match="attributes of query 'q1'"):
        read_queries(read_benchmark(benchmark))


@pytest.mark.train
@pytest.mark.parametrize("system", ["splade", "deepquant"])
def test_train_and_rank_from_the_terminal(
    system: str,
    benchmark: Path,
    tmp_path: Path,
    backbone: str,
    triples_file: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from numcolbert.baselines import splade
    from numcolbert.baselines.__main__ import main
    from numcolbert.evaluate.trec import read_run

    monkeypatch.setattr(splade, "FIRST_BIAS", 0.0)  # the toy's embeddings are too short to overcome it
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        f'[model]\nbackbone = "{backbone}"\n[data]\ntriples = "{triples_file}"\nworkers = 0\n'
        f'[optimiser]\nbatch = 8\n[run]\nsteps = 2\ndevice = "cpu"\nevaluate_at_end = ["{benchmark}"]\n'
        f'evaluate_during = ["{benchmark}"]\n'
    )
    out = tmp_path / "out"
    rates = ["--rates", "1e-5", "1e-3"]
    training = ["train", system, str(recipe), "--set", "run.steps=3", "-o", str(out)]
    assert main([*training, *rates]) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["steps"] == 3 and set(outcome["results"]) == {"tiny", "tiny/hard"}
    assert set(outcome["rates"]) == {"1e-05", "0.001"}
    assert json.loads((out / "recipe.json").read_text())["optimiser"]["lr"] == outcome["lr"]
    assert (out / "tiny-hard.trec").is_file() and (out / "recipe.json").is_file()
    again = tmp_path / "once again"
    before = (out / "results.json").read_bytes()
    assert main(training) == 1
    said = capsys.readouterr().err
    assert f"'{out / 'model'}' already exists" in said and "hint: pass --overwrite" in said
    assert (out / "results.json").read_bytes() == before
    assert main([*training, "--overwrite"]) == 0
    assert not json.loads((out / "training.json").read_text())["rates"]
    assert (
        main(["rank", system, str(out / "model"), str(benchmark), "--device", "cpu", "-o", str(again)]) == 0
    )
    # A model saved and opened ranks alike; the tag is the folder's name, as one word.
    first, second = (read_run(folder / "tiny.trec") for folder in (out, again))
    assert {query: [*hits] for query, hits in first.items()} == {q: [*hits] for q, hits in second.items()}
    assert "once-again" in (again / "tiny.trec").read_text()


@pytest.mark.train
def test_only_queries_with_conditions_are_ranked_deeply(benchmark: Path) -> None:
    from numcolbert.baselines.__main__ import DEPTH, DEPTH_WITHOUT_CONDITIONS, rank
    from numcolbert.baselines.ranker import Query, Run
    from numcolbert.train.benchmarks import read_benchmark
    from numcolbert.types import Document

    asked: list[int] = []

    class Noting:
        def index(self, corpus: Iterable[Document]) -> None: ...

        def search(self, queries: Sequence[Query], k: int) -> Run:
            asked.append(k)
            return {query.id: {} for query in queries}

    with_conditions = replace(read_benchmark(benchmark), attributes={"q1": {"concept": "revenue"}})
    general = replace(with_conditions, name="general", attributes={})
    rank(Noting(), [with_conditions, general], None)
    rank(Noting(), [with_conditions, general], None, depth=7)
    assert asked == [DEPTH, DEPTH_WITHOUT_CONDITIONS, 7, 7]


@pytest.mark.train
def test_the_learning_rate_is_chosen_on_development_queries() -> None:
    from numcolbert.baselines.rates import DivergedError, choose_rate
    from numcolbert.errors import UsageError
    from numcolbert.train.recipe import Recipe, RunSettings

    recipe = Recipe(run=RunSettings(steps=200, time_budget_s=50.0, evaluate_during=(Path("dev"),)))
    seen: list[Recipe] = []

    def quality(attempt: Recipe) -> float:
        seen.append(attempt)
        if attempt.optimiser.lr == 1:
            raise DivergedError("The loss is not a number at step 3.", hint="lower it")
        return {1e-5: 0.3, 5e-5: 0.7, 1e-4: 0.5}[attempt.optimiser.lr]

    assert choose_rate(recipe, [1, 1e-5], 0.1, quality)[1] == {1: 0.0, 1e-5: 0.3}, "one that diverges is out"
    seen.clear()
    chosen, reached = choose_rate(recipe, [1e-5, 5e-5, 1e-4], 0.1, quality)
    assert chosen == replace(recipe, optimiser=replace(recipe.optimiser, lr=5e-5)), "with its whole budget"
    assert [(a.run.steps, a.run.time_budget_s) for a in seen] == [(20, 5.0)] * 3
    assert reached == {1e-5: 0.3, 5e-5: 0.7, 1e-4: 0.5}
    with pytest.raises(UsageError, match="development queries"):
        choose_rate(Recipe(), [1e-5], 0.1, quality)
    with pytest.raises(UsageError, match="cannot be tried"):
        choose_rate(recipe, [1e-5], 0.0, quality)
    for rate in (0.0, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="cannot be tried"):
            choose_rate(recipe, [1e-5, rate], 0.1, quality)


@pytest.mark.train
def test_errors_are_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from numcolbert.baselines.__main__ import main

    assert main(["rank", "deepquant", str(tmp_path), str(tmp_path), "-o", str(tmp_path / "o")]) == 1
    assert "error: " in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["rank", "deepquant", str(tmp_path), str(tmp_path), "-o", str(tmp_path / "o"), "--depth", "0"])
    assert "0 is not positive" in capsys.readouterr().err
