"""Recorded runs, and what is written about them, say the same."""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from numcolbert.errors import InputError
from numcolbert.model.card import card, read_facts
from numcolbert.train.benchmarks import read_benchmark, read_corpus
from numcolbert.train.recipe import load_recipe
from numcolbert.types import QueryEncoding

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"

Script = Callable[[str], ModuleType]


def test_the_tables_are_those_of_the_recorded_runs(script: Script) -> None:
    page = (RESULTS / "runs.md").read_text(encoding="utf-8")
    assert page == script("runs_table").filled(page), "run: python scripts/runs_table.py"


def test_the_models_in_the_lessons_have_the_measures_of_their_runs(script: Script) -> None:
    making = script("runs_table")
    page = (RESULTS / "lessons.md").read_text(encoding="utf-8")
    columns = {3: "openfinquant", 4: "openmedquant", 5: "facts", 6: "facts-unseen", 7: "squad-sentences"}
    rows = re.findall(
        r"^\| (.+\]\((runs/[^)]+\.json)\).+) \|$", page.partition("## Where")[0], flags=re.MULTILINE
    )
    assert len(rows) > 5
    for row, file in rows:
        run = making.recorded(RESULTS / file)
        cells = row.split(" | ")
        for column, name in columns.items():
            if name in run["results"]:
                assert float(cells[column]) == pytest.approx(making.score(run["results"][name]), abs=6e-4)


@pytest.mark.parametrize("file", sorted((RESULTS / "runs").glob("*.json")), ids=lambda file: file.stem)
def test_the_command_of_a_run_gives_its_settings(script: Script, file: Path) -> None:
    recording = script("record_run")
    run = json.loads(file.read_text(encoding="utf-8"))
    recipe, *sets = run["command"].removeprefix("numcolbert train ").split(" --set ")
    again = load_recipe(recipe, [change.strip("'") for change in sets]).as_dict()
    assert recording.command(recipe, again) == run["command"]
    assert recording.deciding(run["recipe"]) == recording.deciding(again)


@pytest.mark.parametrize("model", ["numcolbert-minilm", "numcolbert-minilm-numbers"])
def test_the_card_of_a_shipped_model_is_that_of_its_run(script: Script, model: str) -> None:
    folder = ROOT / "models" / model
    facts = read_facts(folder / "facts.json")
    assert (folder / "README.md").read_text(encoding="utf-8") == card(facts), "run: scripts/model_facts.py"
    making = script("model_facts")
    recorded = [json.loads(file.read_text(encoding="utf-8")) for file in (RESULTS / "runs").glob("*.json")]
    (run,) = (making.with_names(r) for r in recorded if r["command"] == facts.recipe["command"])
    for title, rows in making.results(run, []).items():
        for row, written in zip(rows, facts.results[title], strict=True):
            assert row.items() <= written.items()


def test_a_resumed_run_is_recorded_with_the_time_of_all_its_parts(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = script("record_run")
    monkeypatch.setattr(recording, "RUNS", tmp_path / "recorded")
    (tmp_path / "recorded").mkdir()
    folder = tmp_path / "run"
    arguments = [str(folder), "--recipe", "default", "--name", "again", "--what", "a test"]
    assert recording.main(arguments) == 1 and "hint:" in capsys.readouterr().err
    folder.mkdir()
    (folder / "recipe.json").write_text(json.dumps(load_recipe("default").as_dict()))
    (folder / "results.json").write_text("[]")
    ends = [
        {"event": "end", "step": step, "triples": 4 * step, "seconds": 2.5, "triples_per_second": 8.0}
        for step in (5, 10)
    ]
    for interrupted in (True, False):
        log = [ends[0] | {"interrupted": True}, ends[1] | {"interrupted": interrupted}]
        (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in log))
        assert recording.main(arguments) == int(interrupted)
    assert "has not ended" in capsys.readouterr().err
    (file,) = (tmp_path / "recorded").iterdir()
    end = {"step": 10, "triples": 40, "seconds": 5.0, "triples_per_second": 8.0}
    assert json.loads(file.read_text())["end"] == end


@pytest.mark.parametrize(("made", "recorded"), [(20, False), (10, True)])
def test_a_time_that_was_not_used_up_is_not_recorded(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: int, recorded: bool
) -> None:
    recording = script("record_run")
    monkeypatch.setattr(recording, "RUNS", tmp_path)
    folder = tmp_path / "run"
    folder.mkdir()
    with_budget = load_recipe("default", ["run.steps=20", "run.time_budget_s=900"]).as_dict()
    (folder / "recipe.json").write_text(json.dumps(with_budget))
    (folder / "results.json").write_text("[]")
    end = {"event": "end", "step": made, "triples": 4 * made, "seconds": 2.5, "triples_per_second": 8.0}
    (folder / "log.jsonl").write_text(json.dumps(end) + "\n")
    assert recording.main([str(folder), "--recipe", "default", "--name", "a", "--what", "a test"]) == 0
    (file,) = tmp_path.glob("*-a.json")
    run = json.loads(file.read_text())
    assert ("time_budget_s" in run["command"]) == recorded
    assert run["recipe"]["run"]["time_budget_s"] == (900 if recorded else 0)


def test_losses_that_count_for_nothing_are_not_in_the_command(script: Script) -> None:
    recording = script("record_run")
    plain = load_recipe("colbert-ft", ["loss.multi_positive=mean_log", "loss.positives=unit"]).as_dict()
    assert recording.command("colbert-ft", plain) == "numcolbert train colbert-ft"
    no_contrast = load_recipe("no-cont", ["loss.multi_positive=mean_log"]).as_dict()
    assert "multi_positive=mean_log" in recording.command("no-cont", no_contrast)


def test_pairs_from_questions_and_answers(
    script: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "questions.jsonl", tmp_path / "pairs.jsonl.xz"
    source.write_text('{"text": "one two three", "questions": ["a?", " "]}\n{"q": "b?", "a": "four"}\n')
    making = script("general_pairs")
    assert making.main([str(source), "-o", str(out), "--words", "2"]) == 0
    with lzma.open(out, "rt") as file:
        assert [json.loads(line) for line in file] == [
            {"query": "a?", "positive": "one two"},
            {"query": "b?", "positive": "four"},
        ]
    before = out.read_bytes()
    texts = (
        '{"text": "one", "questions": "Who?"}',
        '{"q": "\\ud800?", "a": "x"}',
        '{"q": "b?", "a": "\\udc00"}',
    )
    for bad in ("no json", '"questions"', '{"q": "b?"}', '{"q": 1, "a": "x"}', *texts):
        source.write_text(bad + "\n")
        assert making.main([str(source), "-o", str(out), "--overwrite"]) == 1
        assert "Line 1 of" in capsys.readouterr().err
    source.write_text('{"text": "", "questions": ["a?"]}\n')
    assert making.main([str(source), "-o", str(out), "--overwrite"]) == 1
    assert "hold no question" in capsys.readouterr().err
    assert out.read_bytes() == before


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("-o {there}/old.jsonl.xz", "already exists"),
        ("-o {there}/new.jsonl.xz --development {there}/dev", "already exists"),
        ("-o {there}/in.jsonl.xz --overwrite", "is one of the collections"),
        ("-o {there}/dev/../in.jsonl.xz --overwrite", "is one of the collections"),
        ("-o {there}/dev/new.jsonl.xz --development {there}/dev --overwrite", "lies in"),
        ("-o {there}/new.jsonl", "does not end in .xz"),
        ("-o {there}/new.jsonl.xz --held-out 0.5", "name its folder with --development"),
        ("-o {there}/new.jsonl.xz --development {there}/new --held-out 0.05", "holds no question out"),
        ("-o {there}/new.jsonl.xz --development {there}/new --held-out 0.99", "leaves no pair"),
    ],
)
def test_pairs_replace_nothing_unasked_and_are_never_none(
    script: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: str, complaint: str
) -> None:
    rows = "".join(json.dumps({"q": f"what is {n}?", "a": f"passage {n}"}) + "\n" for n in range(10))
    (tmp_path / "in.jsonl.xz").write_bytes(lzma.compress(rows.encode()))
    (tmp_path / "old.jsonl.xz").write_bytes(b"")
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "queries.jsonl").write_text("")
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    command = [str(tmp_path / "in.jsonl.xz"), *options.format(there=tmp_path).split()]
    assert script("general_pairs").main(command) != 0
    assert complaint in capsys.readouterr().err
    assert before == {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}


@pytest.mark.parametrize("words", ["0", "-1"])
def test_passages_are_cut_after_a_word_at_least(
    script: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    with pytest.raises(SystemExit):
        script("general_pairs").main(["in.jsonl", "-o", str(tmp_path / "o.jsonl.xz"), "--words", words])
    assert f"{words} is not positive" in capsys.readouterr().err


def test_held_out_questions_are_a_benchmark_and_no_pairs(script: Script, tmp_path: Path) -> None:
    source, out, folder = tmp_path / "questions.jsonl", tmp_path / "pairs.jsonl.xz", tmp_path / "development"
    rows = [
        {"text": f"passage {n}", "questions": [f"one {n}?", f"two {n}?", f"of {n // 2}?"]} for n in range(20)
    ]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [str(source), "-o", str(out), "--development", str(folder), "--held-out", "0.1"]
    making = script("general_pairs")
    assert making.main(command) == 0
    with lzma.open(out, "rt") as file:
        kept = [json.loads(line) for line in file]
    made = read_benchmark(folder)
    asked = set(made.query_texts)
    assert asked and not asked & {pair["query"] for pair in kept}
    corpus = read_corpus(made.corpus_path)
    assert len(corpus.ids) == 20, "every passage can be found, also those that are trained with"
    answers = {corpus.texts[corpus.ids.index(name)] for grades in made.qrels.values() for name in grades}
    assert not answers & {pair["positive"] for pair in kept}
    both = {q: len(made.qrels[i]) for i, q in zip(made.query_ids, made.query_texts, strict=True)}
    assert {n for q, n in both.items() if q.startswith("of")} == {2}, "a question may have several answers"
    assert making.main(command) == 1, "no benchmark is replaced unasked"
    before = out.read_bytes()
    assert making.main([*command, "--overwrite"]) == 0 and out.read_bytes() == before, "drawn with a seed"


def test_passages_are_asked_for_by_their_sentences_too(script: Script, tmp_path: Path) -> None:
    source, out, folder = tmp_path / "questions.jsonl", tmp_path / "pairs.jsonl.xz", tmp_path / "development"
    first, short, numbered = "{n} is the first of them.", "Too short to ask.", "It had 12 of these in 1887."
    fit = "Every summer a festival of old songs fills the narrow streets of {n}."
    texts = [" ".join([first, numbered, fit, short]).format(n=f"Town{n:c}") for n in range(65, 75)]
    rows = [{"text": text, "questions": [f"where is {n}?", f"what is {n}?"]} for n, text in enumerate(texts)]
    rows.append({"text": f"Nothing here asks. {short} {numbered}", "questions": ["what asks?"]})
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    held_out = ["--development", str(folder), "--held-out", "0.2"]
    command = [str(source), "-o", str(out), "--sentences", "--words", "13", *held_out]
    assert script("general_pairs").main(command) == 0
    with lzma.open(out, "rt") as file:
        kept = [json.loads(line) for line in file]
    questions = [pair for pair in kept if pair["query"].endswith("?")]
    sentences = [pair for pair in kept if pair not in questions]
    towns = {pair["positive"].split()[0] for pair in questions if pair["positive"].startswith("Town")}
    assert {pair["positive"].split()[0] for pair in sentences} == towns, "none that is held out"
    assert len(sentences) == len(towns) < len(texts)
    for pair in sentences:
        town = pair["positive"].split()[0]
        assert pair["query"] == fit.format(n=town)
        # The sentence stands behind the words that are kept.
        assert pair["positive"] == f"{first.format(n=town)} {numbered}"


def test_what_several_passages_say_asks_for_none(script: Script, tmp_path: Path) -> None:
    source, out = tmp_path / "questions.jsonl", tmp_path / "pairs.jsonl.xz"
    common = "In these cases the sign or symptom may be rare or common."
    own = [
        "{n} was built on old foundations near the northern river.",
        "Every summer {n} opens its gates to us all.",
    ]
    rows = [
        {"text": f"This is {n}. {common} " + " ".join(own).format(n=n), "questions": [f"what is {n}?"]}
        for n in ("Alder", "Birch", "Cedar")
    ]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert script("general_pairs").main([str(source), "-o", str(out), "--sentences", "9"]) == 0
    with lzma.open(out, "rt") as file:
        asked = [pair["query"] for pair in map(json.loads, file) if not pair["query"].endswith("?")]
    both = {text.format(n=n) for n in ("Alder", "Birch", "Cedar") for text in own}
    assert sorted(asked) == sorted(both), "each of its own sentences once"


def test_near_misses_are_what_bm25_finds_and_no_answers(script: Script, tmp_path: Path) -> None:
    source, out = tmp_path / "questions.jsonl", tmp_path / "pairs.jsonl.xz"
    river = "The river Alder floods every spring, and its banks are walled."
    asked = "Walls of grey stone keep the river Alder from the lower town."
    rows = [
        {
            "text": f"{river} {asked}",
            "questions": ["Where does the river Alder flood?", "Which river floods?"],
        },
        {"text": "The river Birch floods in autumn.", "questions": ["Which river floods?"]},
        {"text": "The river Cedar never floods the town.", "questions": ["What about Cedar?"]},
        *({"text": f"Passage {n} tells of music.", "questions": [f"Music {n}?"]} for n in range(8)),
    ]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [str(source), "-o", str(out), "--sentences", "--negatives", "2", "--words", "12"]
    assert script("general_pairs").main(command) == 0
    with lzma.open(out, "rt") as file:
        pairs = [json.loads(line) for line in file]
    negatives = {(pair["query"], pair["positive"].split()[2]): pair["negative"] for pair in pairs}
    others = ("The river Birch floods in autumn.", "The river Cedar never floods the town.")
    assert negatives["Where does the river Alder flood?", "Alder"] in others
    answers = {row["text"] for row in rows if "Which river floods?" in row["questions"]}
    assert not answers & {negatives["Which river floods?", name] for name in ("Alder", "Birch")}
    # A sentence does not find the passage it was taken from.
    assert negatives[asked, "Alder"] in others
    assert all(len(pair["negative"].split()) <= 12 for pair in pairs)
    before = out.read_bytes()
    assert script("general_pairs").main([*command, "--overwrite"]) == 0 and out.read_bytes() == before


def test_a_question_that_every_passage_answers_has_no_negative(script: Script, tmp_path: Path) -> None:
    source, out = tmp_path / "questions.jsonl", tmp_path / "pairs.jsonl.xz"
    source.write_text('{"q": "what?", "a": "alder"}\n{"q": "what?", "a": "birch"}\n')
    assert script("general_pairs").main([str(source), "-o", str(out), "--negatives", "3"]) == 0
    with lzma.open(out, "rt") as file:
        assert [set(json.loads(line)) for line in file] == [{"query", "positive"}] * 2


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A benchmark of 50 passages, whose development queries share its corpus."""
    whole = tmp_path / "whole"
    (whole / "dev").mkdir(parents=True)
    lines = "".join(json.dumps({"_id": f"d{n}", "text": f"text {n}"}) + "\n" for n in range(50))
    (whole / "corpus.jsonl").write_text(lines)
    (whole / "dev" / "queries.jsonl").write_text('{"_id": "q", "text": "a"}\n')
    (whole / "dev" / "qrels.trec").write_text("q 0 d7 1\n")
    (whole / "dev" / "about.trec").write_text("q 0 d7 1\nq 0 d8 0\n")
    return whole


def test_a_cut_benchmark_keeps_what_matters(
    script: Script, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, run = tmp_path / "cut", tmp_path / "bm25.run"
    run.write_text("q Q0 d40 1 3.0 t\nq Q0 d41 2 2.0 t\nq Q0 d42 3 1.0 t\n")
    command = [str(whole / "dev"), "-o", str(out), "--runs", str(run), "--best", "2", "--passages", "3"]
    cutting = script("cut_benchmark")
    assert cutting.main(command) == 0
    assert capsys.readouterr().out == "7 of 50 passages\n"
    made = read_benchmark(out)
    assert made.qrels == {"q": {"d7": 1}} and made.query_texts == ["a"]
    kept = read_corpus(made.corpus_path)
    assert {"d7", "d8", "d40", "d41"} < set(kept.ids) and kept.ids == sorted(
        kept.ids, key=lambda d: int(d[1:])
    )
    assert kept.texts == [f"text {name[1:]}" for name in kept.ids]
    assert cutting.main(command) == 1, "nothing is replaced unasked"
    run.write_text("q Q0 stranger 1 3.0 t\n")
    assert cutting.main([*command, "--overwrite"]) == 1
    assert "'stranger'" in capsys.readouterr().err


def test_a_cut_benchmark_knows_what_compressed_files_say(script: Script, whole: Path, tmp_path: Path) -> None:
    about = whole / "dev" / "about.trec"
    about.with_name("about.trec.xz").write_bytes(lzma.compress(about.read_bytes()))
    about.unlink()
    out = tmp_path / "cut"
    assert script("cut_benchmark").main([str(whole / "dev"), "-o", str(out), "--passages", "0"]) == 0
    assert read_corpus(out / "corpus.jsonl").ids == ["d7", "d8"]


@pytest.mark.parametrize("place", ["dev", "dev/cut", "", "dev/../dev"])
def test_a_cut_benchmark_lies_beside_its_source(
    script: Script, whole: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    (whole / "queries.jsonl").write_text('{"_id": "q", "text": "a"}\n')
    before = {file: file.read_bytes() for file in whole.rglob("*") if file.is_file()}
    command = [str(whole / "dev"), "-o", str(whole / place), "--passages", "3", "--overwrite"]
    assert script("cut_benchmark").main(command) == 1
    assert "hint: choose a folder beside the benchmark" in capsys.readouterr().err
    assert before == {file: file.read_bytes() for file in whole.rglob("*") if file.is_file()}


@pytest.mark.parametrize("command", ["cut_benchmark -o cut", "wrong_parts model"])
def test_fewer_than_no_passages_are_refused(
    script: Script, whole: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    name, *others = command.split()
    with pytest.raises(SystemExit):
        script(name).main([str(whole / "dev"), *others, "--passages", "-1"])
    assert "-1 is negative" in capsys.readouterr().err


def test_best_hits_are_of_judged_queries_and_known_passages(script: Script, tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"id": "d1", "text": "one"}\n{"id": "d2", "text": "two"}\n')
    (tmp_path / "queries.jsonl").write_text('{"id": "q1", "text": "a"}\n{"id": "not-judged", "text": "b"}\n')
    (tmp_path / "qrels.trec").write_text("q1 0 d2 1\n")
    run = tmp_path / "a.trec"
    run.write_text("q1 Q0 d1 1 2.0 t\nq1 Q0 d2 2 1.0 t\nnot-judged Q0 d1 1 1.0 t\n")
    hits = script("best_hits").best_hits(tmp_path, [run], 10)
    assert hits.queries == {"q1": "a"} and hits.passages == {"d1": "one", "d2": "two"}
    assert hits.ndcg(lambda query, passage: float(passage == "d2")) == 1
    run.write_text("q1 Q0 stranger 1 2.0 t\n")
    with pytest.raises(InputError, match="'stranger'"):
        script("best_hits").best_hits(tmp_path, [run], 10)


def test_best_hits_of_some_queries_are_spread_over_all(script: Script, tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"id": "d", "text": "one"}\n')
    names = [f"q{n:02}" for n in range(20)]
    (tmp_path / "queries.jsonl").write_text("".join(f'{{"id": "{q}", "text": "a"}}\n' for q in names))
    (tmp_path / "qrels.trec").write_text("".join(f"{q} 0 d 1\n" for q in names))
    run = tmp_path / "a.trec"
    run.write_text("".join(f"{q} Q0 d 1 2.0 t\n" for q in names))
    making = script("best_hits")
    assert [*making.best_hits(tmp_path, [run], 1, 3).queries] == ["q00", "q06", "q13"]
    assert [*making.best_hits(tmp_path, [run], 1, 12).queries][-1] == "q18"
    assert [*making.best_hits(tmp_path, [run], 1, 30).queries] == names


def test_wrong_concepts_are_counted_by_their_words(
    script: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {"d1": "The budget deficit was $5.", "d2": "We sold 5 cars.", "d3": "The trade deficits were $5."}
    (tmp_path / "corpus.jsonl").write_text(
        "".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in texts.items())
    )
    (tmp_path / "queries.jsonl").write_text(
        "".join(json.dumps({"id": q, "text": "trade deficit of $5"}) + "\n" for q in ("q1", "q2", "q3"))
    )
    (tmp_path / "qrels.trec").write_text("".join(f"{q} 0 d3 1\n" for q in ("q1", "q2", "q3")))
    (tmp_path / "about.trec").write_text("".join(f"{q} 0 d3 1\n" for q in ("q1", "q2", "q3")))
    asked = {
        q: {"concept": "trade deficit", "phrase": "trade deficit", "seen": q == "q1"} for q in ("q1", "q2")
    }
    (tmp_path / "attributes.json").write_text(json.dumps(asked | {"q3": {"concept": "trade deficit"}}))
    run = tmp_path / "a.trec"
    run.write_text(
        "q1 Q0 d1 1 2 t\nq1 Q0 d3 2 1 t\nq2 Q0 d2 1 2 t\nq2 Q0 d1 2 1 t\nq3 Q0 d3 1 2 t\nq3 Q0 d1 2 1 t\n"
    )
    assert script("wrong_concepts").main([str(tmp_path), str(run), "--show", "5"]) == 0
    counts, shown = capsys.readouterr().out.split("}")
    assert [*json.loads(counts + "}").values()] == [2, 1, 0, 1, 1, 1]
    assert texts["d1"] in shown and texts["d2"] in shown and texts["d3"] not in shown


def test_a_gate_with_its_own_length_is_the_same_gate(script: Script) -> None:
    gates = np.array([1.0, 1.0, 3.9, 0.2], np.float32)  # the first two do not act
    again = script("gate_length").with_length(gates, 4)
    assert again == pytest.approx(gates)
    weaker = script("gate_length").with_length(gates, 2)
    assert weaker[:2].tolist() == [1, 1] and 1 < weaker[2] < 2
    held = script("gate_length").with_length(gates, 8, 4)
    assert script("gate_length").with_length(held, 4, 8) == pytest.approx(gates)


def test_what_some_vectors_of_a_query_tell_apart(script: Script) -> None:
    parts = script("token_parts")
    scores = np.array([3.0, 1.0, 2.0, 2.0], np.float32)
    assert parts.pairs_in_order(scores, [0, 2], [1, 3]) == pytest.approx((1 + 1 + 1 + 0.5) / 4)
    ones = np.ones(4, np.float32)
    spans = (None, (0, 5), (6, 8), (8, 9))  # [CLS] ships 30 m
    query = QueryEncoding(
        "ships 30m", np.eye(4, dtype=np.float32), ("", "ships", "30", "m"), spans, ones, ones
    )
    assert parts.is_number(query, (6, 9)).tolist() == [False, False, True, True]


def test_which_part_of_a_query_prefers_a_wrong_hit(script: Script) -> None:
    parts = script("wrong_parts")
    number = np.array([5.0, 1.0, 3.0, 2.0], np.float32)
    words = np.array([1.0, 4.5, 2.0, 2.0], np.float32)
    found = list(parts.wrong_hits(number, words, right=[2, 3], about=frozenset({1, 2, 3})))
    assert [(hit.kind, hit.number, hit.words) for hit in found] == [
        ("concept", 2.0, -1.0),  # the right number of something else, before row 2
        ("number", -2.0, 2.5),
    ]
    table = parts.told(found)
    assert table["concept"]["the number alone does"] == 1 and table["number"]["number prefers it"] == 0
    corpus = parts.Corpus(Path("c"), list("abcd"), list("ABCD"))
    kept = parts.cut(corpus, ["c"], 1, seed=1)
    assert len(kept.ids) == 2 and "c" in kept.ids and [name.upper() for name in kept.ids] == kept.texts


def test_runs_that_err_in_other_places_are_better_together(script: Script, tmp_path: Path) -> None:
    fused = script("fused_runs").fused
    first, second = {"q": {"a": 9.0, "b": 8.0, "c": 1.0}}, {"q": {"b": 0.3, "d": 0.2, "a": 0.1}}
    together = fused([first, second])["q"]
    assert list(together) == ["b", "a", "d", "c"]  # d lacks in the first run, c in the second
    assert together["b"] == pytest.approx(0.5620 + 1.2247, abs=1e-3)
    assert fused([{"q": {"a": 1.0}}, {}]) == {"q": {"a": 0.0}}  # one hit has no spread
