from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples

from numcolbert.errors import InputError, NotFoundError
from numcolbert.model.checkpoint import (
    ColBERTSettings,
    GateSettings,
    add_gate,
    build_colbert,
    save_checkpoint,
)
from numcolbert.train.benchmarks import read_attributes, read_benchmark, read_corpus, write_run
from numcolbert.train.evaluate import Ranker, collect, detector_measures, evaluate, main, save_results
from numcolbert.train.measures import MEASURES, mean_measures
from numcolbert.train.ranking import (
    BLOCKS,
    Blocks,
    encode_documents,
    encode_queries,
    score_all,
    tokenise,
)
from numcolbert.train.reranking import read_candidates


@examples(60)
@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "c"]),
        st.tuples(
            st.permutations([f"d{i}" for i in range(15)]),
            st.dictionaries(
                st.sampled_from([f"d{i}" for i in range(20)]), st.integers(0, 2), min_size=1, max_size=12
            ),
        ),
        min_size=1,
    )
)
def test_measures_equal_ir_measures(cases: dict[str, tuple[list[str], dict[str, int]]]) -> None:
    qrels = {query: judged for query, (_, judged) in cases.items()}
    run = {q: {d: float(-i) for i, d in enumerate(ranked)} for q, (ranked, _) in cases.items()}
    wanted = [ir_measures.parse_measure(name) for name in MEASURES]
    expected = ir_measures.calc_aggregate(wanted, qrels, run)
    ours = mean_measures({q: ranked for q, (ranked, _) in cases.items()}, qrels)
    for measure in wanted:
        assert ours[str(measure)] == pytest.approx(expected[measure], abs=1e-5)


@pytest.fixture(scope="module")
def model(backbone: Path) -> Any:
    made = add_gate(
        build_colbert(backbone, ColBERTSettings(dim=16, query_length=24, document_length=32)),
        GateSettings(hidden_dim=8),
    )
    torch.manual_seed(2)
    for network in (made[-1].detector, made[-1].gate):
        torch.nn.init.normal_(network[-1].weight, std=2.0)
    return made.eval()


def test_scores_equal_the_models_own_similarity(model: Any) -> None:
    ranker = Ranker.of(model)
    texts = ["the dose was 25 mg", "a report", "the revenue was 4 dollars in the report of the income"]
    queries = ["revenue above 4 dollars", "dose below 9 mg in the report"]
    groups = encode_documents(
        ranker.encoder, tokenise(ranker.reader, texts), ranker.device, store=torch.float32
    )
    encoded = encode_queries(ranker.encoder, ranker.gate, ranker.reader, queries, ranker.device)
    assert (encoded.gates != 1).any()
    gated, ungated = score_all(encoded, [encoded.gates, torch.ones_like(encoded.gates)], groups)
    expected = model.similarity(model.encode_query(queries), model.encode_document(texts))
    torch.testing.assert_close(gated, expected, atol=1e-4, rtol=1e-4)
    plain = model.similarity(model.encode(queries, prompt_name="query"), model.encode_document(texts))
    torch.testing.assert_close(ungated, plain, atol=1e-4, rtol=1e-4)


def test_scores_do_not_depend_on_how_much_is_computed_at_once(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranker = Ranker.of(model)
    texts = ["the dose was 25 mg", "a report", "the income", "the revenue was 4 dollars in the report"]
    groups = encode_documents(
        ranker.encoder, tokenise(ranker.reader, texts), ranker.device, store=torch.float32
    )
    encoded = encode_queries(
        ranker.encoder, ranker.gate, ranker.reader, ["revenue above 4 dollars", "dose"], ranker.device
    )
    weights = [encoded.gates, torch.ones_like(encoded.gates)]
    whole = score_all(encoded, weights, groups)
    for elements, query_tokens in ((1, 1), (64, 3), (1 << 21, 5)):
        monkeypatch.setitem(BLOCKS, "cpu", Blocks(elements, query_tokens))
        for there, expected in zip(score_all(encoded, weights, groups), whole, strict=True):
            torch.testing.assert_close(there, expected, atol=1e-5, rtol=1e-5)


def test_evaluation_from_the_command_line(
    model: Any, benchmark_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_checkpoint(model, tmp_path / "model", half=False)
    assert main([str(tmp_path / "model"), str(benchmark_folder), "-o", str(tmp_path / "out")]) == 0
    table = capsys.readouterr().out
    assert "nDCG@10" in table
    assert "ungated" in table
    (result,) = json.loads((tmp_path / "out/results.json").read_text())
    run = (tmp_path / "out/tiny.gated.trec").read_text().splitlines()
    assert len(run) == result["queries"] * min(100, result["documents"])
    measured = ir_measures.calc_aggregate(
        [ir_measures.parse_measure(m) for m in MEASURES],
        ir_measures.read_trec_qrels(str(benchmark_folder / "qrels.trec")),
        ir_measures.read_trec_run(str(tmp_path / "out/tiny.gated.trec")),
    )
    for measure, value in measured.items():
        assert result["scores"]["gated"][str(measure)] == pytest.approx(value, abs=1e-4)
    assert main([str(tmp_path / "none"), str(benchmark_folder), "-o", str(tmp_path / "out")]) == 1


def test_a_file_in_the_place_of_the_output_is_named_before_anything_is_ranked(
    benchmark_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").touch()
    assert main([str(tmp_path / "no model"), str(benchmark_folder), "-o", str(tmp_path / "out")]) == 1
    assert "out' cannot be used: File exists" in capsys.readouterr().err


def test_ctrl_c_is_no_traceback(
    benchmark_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("numcolbert.train.evaluate.load_checkpoint", interrupted)
    assert main([str(tmp_path), str(benchmark_folder), "-o", str(tmp_path / "out")]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_runs_are_as_deep_as_asked(model: Any, benchmark_folder: Path, tmp_path: Path) -> None:
    benchmark = read_benchmark(benchmark_folder)
    documents = len(read_corpus(benchmark.corpus_path).ids)
    for depth in (2, 1000):
        list(evaluate(Ranker.of(model), [benchmark], tmp_path, depth=depth))
        lines = (tmp_path / "tiny.gated.trec").read_text().splitlines()
        assert len(lines) == len(benchmark.query_ids) * min(depth, documents)
    with pytest.raises(SystemExit):
        main([str(tmp_path), str(benchmark_folder), "-o", str(tmp_path), "--depth", "0"])


def test_an_evaluation_that_is_cut_off_keeps_what_it_has(
    model: Any, benchmark_folder: Path, tmp_path: Path
) -> None:
    first = read_benchmark(benchmark_folder)
    lost = replace(first, name="lost", corpus_path=tmp_path / "gone.jsonl")
    ranker = Ranker.of(model)
    ranker.encoder.train()
    with pytest.raises(FileNotFoundError):
        save_results(tmp_path / "results.json", evaluate(ranker, [first, lost], tmp_path))
    [kept] = json.loads((tmp_path / "results.json").read_text())
    assert kept["name"] == "tiny"
    assert kept["scores"]["gated"]["R@100"] > 0
    assert ranker.encoder.training  # a training that goes on after it drops tokens again


def test_suites_share_the_corpus_of_their_benchmark(
    model: Any, benchmark_folder: Path, tmp_path: Path
) -> None:
    import shutil

    whole = tmp_path / "bench"
    shutil.copytree(benchmark_folder, whole)
    suite = whole / "suites" / "one"
    suite.mkdir(parents=True)
    for name in ("queries.jsonl", "qrels.trec"):
        shutil.copy(whole / name, suite / name)
    benchmarks = collect([whole], suites=True)
    assert [b.name for b in benchmarks] == ["bench", "bench/one"]
    first, second = evaluate(Ranker.of(model), benchmarks, tmp_path / "out")
    assert first.scores == second.scores
    assert (tmp_path / "out/bench-one.gated.trec").is_file()


def test_every_benchmark_has_a_name_of_its_own(benchmark_folder: Path, tmp_path: Path) -> None:
    import shutil

    for place in ("fin/test", "fin/test/suites/hard", "fin/test/dev", "med/test", "med/test/suites/hard"):
        shutil.copytree(benchmark_folder, tmp_path / place, dirs_exist_ok=True)
    shutil.copytree(benchmark_folder, tmp_path / "med/test/dev")
    folders = [tmp_path / place for place in ("fin/test", "med/test", "fin/test")]
    assert [b.name for b in collect(folders, suites=True)] == [
        "fin/test", "fin/test/hard", "med/test", "med/test/hard",
    ]  # fmt: skip
    nested = [tmp_path / place for place in ("fin/test/dev", "med/test/dev")]
    assert [b.name for b in collect(nested, suites=False)] == ["fin/test/dev", "med/test/dev"]


def test_the_folder_one_stands_in_has_its_own_name(
    benchmark_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(benchmark_folder)
    assert read_benchmark(Path()).name == "tiny"


def test_the_detector_is_measured_on_tokens(model: Any, benchmark_folder: Path) -> None:
    benchmark = read_benchmark(benchmark_folder)
    ranker = Ranker.of(model)
    queries = encode_queries(ranker.encoder, ranker.gate, ranker.reader, benchmark.query_texts, ranker.device)
    marks = []
    for query, text, offsets in zip(benchmark.query_ids, benchmark.query_texts, queries.offsets, strict=True):
        a, b = benchmark.attributes[query]["span"]
        marks += [bool(text[s:e].strip()) and s < b and e > a for s, e in offsets]
    perfect = torch.tensor(marks, dtype=torch.float32)
    object.__setattr__(queries, "probabilities", perfect)
    measures = detector_measures(queries, benchmark)
    assert measures["f1"] == measures["precision"] == measures["recall"] == 1.0
    benchmark.attributes = {
        query: {"span": [0, 3]}
        for query in benchmark.query_ids  # so that the number is none of the condition
    }
    object.__setattr__(queries, "gates", 1 + perfect)
    assert detector_measures(queries, benchmark)["distractors_amplified"] == 1.0


def test_bad_benchmark_files_name_the_line(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="queries"):
        read_benchmark(tmp_path)
    (tmp_path / "queries.jsonl").write_text('{"text": "no id"}\n')
    with pytest.raises(InputError, match="Line 1"):
        read_benchmark(tmp_path)
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "cash"}\n')
    for end in (b"d1", b"d2 --1", "d2 ²".encode(), b"d2 \xff", b"d2 4000000000000", b"d2 -1001", b"d1 0"):
        (tmp_path / "qrels.trec").write_bytes(b"q1 0 d1 1\nq1 0 " + end + b"\n")
        with pytest.raises(InputError, match="Line 2"):
            read_benchmark(tmp_path)


def test_files_without_a_line_are_named(benchmark_folder: Path, tmp_path: Path) -> None:
    import shutil

    for name in ("queries.jsonl", "corpus.jsonl"):
        folder = shutil.copytree(benchmark_folder, tmp_path / name)
        (folder / name).write_text("\n")
        with pytest.raises(InputError, match=rf"{name}' is empty"):
            read_corpus(read_benchmark(folder).corpus_path)


def test_a_run_that_breaks_off_leaves_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gated.trec"
    write_run(path, {"q": [("d", 1.0)]}, "t")
    with pytest.raises(ValueError, match="format code"):
        write_run(path, {"q": [("d", 2.0), ("e", "no number")]}, "t")  # type: ignore[list-item]
    assert path.read_text() == "q Q0 d 1 1.000000 t\n"
    assert list(tmp_path.iterdir()) == [path]


def test_attributes_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "attributes.json"
    path.write_text('{"q": {"operator": "<"}}')
    assert read_attributes(path)["q"]["operator"] == "<"
    path.write_text("{")
    with pytest.raises(InputError, match="is not valid JSON"):
        read_attributes(path)
    path.write_text('{"q": 1}')
    with pytest.raises(InputError, match="does not map"):
        read_attributes(path)


@pytest.mark.parametrize(
    "known", [{"span": 3}, {"span": [1]}, {"span": ["a", "b"]}, {"conditions": 2}, {"conditions": [5]}]
)
def test_a_quantity_without_a_place_gets_a_sentence(
    benchmark_folder: Path, tmp_path: Path, known: dict[str, object]
) -> None:
    shutil.copytree(benchmark_folder, tmp_path / "copy")
    (tmp_path / "copy/attributes.json").write_text(json.dumps({"q0": known}))
    with pytest.raises(InputError, match="query 'q0' stands"):
        read_benchmark(tmp_path / "copy")


def test_candidates_that_are_no_run(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="The run of candidates"):
        read_candidates(tmp_path / "none.trec")
    for line, complaint in [
        ("q1 d2", "has 2 columns"),
        ("q1 Q0 d2 2 high tag", "not a number"),
        ("q1 Q0 d1 2 0.4 tag", "repeats"),
    ]:
        (tmp_path / "bad.trec").write_text(f"q1 Q0 d1 1 0.5 tag\n{line}\n")
        with pytest.raises(InputError, match=rf"Line 2 .*{complaint}"):
            read_candidates(tmp_path / "bad.trec")
    (tmp_path / "empty.trec").write_text("\n")
    with pytest.raises(InputError, match="is empty"):
        read_candidates(tmp_path / "empty.trec")
    (tmp_path / "good.trec").write_text("q1 Q0 d2 1 0.5 tag\nq1 Q0 d1 2 0.9 tag\nq2 Q0 d1 1 1 tag\n")
    assert read_candidates(tmp_path / "good.trec") == {"q1": ["d2", "d1"], "q2": ["d1"]}


def test_empty_rankings_count_zero() -> None:
    assert mean_measures({}, {"q": {"d": 1}}) == dict.fromkeys(MEASURES, 0.0)
    assert np.isfinite(list(mean_measures({"q": []}, {}).values())).all()
