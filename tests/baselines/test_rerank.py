"""Rerankers: order, ties, depth; the cross-encoder against a graph computed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from numcolbert.baselines.crossencoder import CrossEncoder, find_cross_encoder
from numcolbert.baselines.kept_scores import KeptScores
from numcolbert.baselines.quantity_rerank import RunRanker
from numcolbert.baselines.ranker import Query
from numcolbert.baselines.rerank import Pair, Reranker
from numcolbert.errors import ModelError, NotFoundError
from numcolbert.types import Document

CORPUS = [Document(name, f"text {name}") for name in "abcd"]
RUN = {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}}


class Fixed:
    def __init__(self, grades: dict[str, float]) -> None:
        self.grades = grades
        self.seen: list[Pair] = []

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        self.seen = list(pairs)
        return [self.grades[passage] for _, passage in pairs]


def test_the_scorer_orders_and_the_rest_follows() -> None:
    scorer = Fixed({"text a": 1.0, "text b": 5.0, "text c": 5.0})
    ranker = Reranker(RunRanker(RUN), scorer, depth=3)
    ranker.index(CORPUS)
    run = ranker.search([Query("q", "query")], 10)
    assert list(run["q"]) == ["b", "c", "a", "d"], "b and c tie: the first system's order stays"
    assert list(run["q"].values()) == sorted(run["q"].values(), reverse=True)
    assert len(set(run["q"].values())) == 4, "a run file knows no order but the score"
    assert scorer.seen == [("query", f"text {name}") for name in "abc"]
    assert list(ranker.search([Query("q", "query")], 2)["q"]) == ["b", "c"]


def test_a_query_without_hits() -> None:
    ranker = Reranker(RunRanker({}), Fixed({}), depth=3)
    ranker.index(CORPUS)
    assert ranker.search([Query("q", "query")], 5) == {"q": {}}


@pytest.fixture
def toy_model(tmp_path: Path) -> Path:
    """A graph whose logit is the sum of the passage's token ids."""
    onnx = pytest.importorskip("onnx")
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    vocabulary = {"[PAD]": 0, "[UNK]": 1, "[SEP]": 2, "one": 10, "two": 20, "three": 30}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A [SEP]", pair="$A [SEP] $B:1 [SEP]:1", special_tokens=[("[SEP]", 2)]
    )
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    helper, kind = onnx.helper, onnx.TensorProto.INT64
    names = ["input_ids", "attention_mask", "token_type_ids"]
    graph = helper.make_graph(
        [
            helper.make_node("Mul", ["input_ids", "token_type_ids"], ["passage"]),
            helper.make_node("Mul", ["passage", "attention_mask"], ["kept"]),
            helper.make_node("ReduceSum", ["kept", "axes"], ["sum"], keepdims=1),
            helper.make_node("Cast", ["sum"], ["logits"], to=onnx.TensorProto.FLOAT),
        ],
        "toy",
        [helper.make_tensor_value_info(name, kind, ["batch", "tokens"]) for name in names],
        [helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, ["batch", 1])],
        [helper.make_tensor("axes", kind, [1], [1])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(tmp_path / "model.onnx"))
    return tmp_path


def test_cross_encoder_by_hand(toy_model: Path) -> None:
    scorer = CrossEncoder(toy_model, batch=2)
    pairs = [("one", "two three"), ("three three three", "one"), ("one", "two"), ("x", "")]
    assert scorer.score(pairs) == [20 + 30 + 2, 10 + 2, 20 + 2, 2]


def test_long_passages_are_cut_and_queries_are_not(toy_model: Path) -> None:
    scorer = CrossEncoder(toy_model, length=5)
    assert scorer.score([("one one", "three three three three")]) == [30 + 2]


def test_a_query_that_leaves_no_room_for_a_passage_is_cut(toy_model: Path) -> None:
    scorer = CrossEncoder(toy_model, length=6)
    assert scorer.score([("one " * 50, "two three"), ("one one one one", "two")]) == [20 + 2, 20 + 2]


def test_where_the_cross_encoder_is(
    toy_model: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path_factory.mktemp("empty")
    assert find_cross_encoder(toy_model) == toy_model
    monkeypatch.setenv("NUMCOLBERT_CROSS_ENCODER", str(toy_model))
    assert find_cross_encoder() == toy_model
    with pytest.raises(NotFoundError, match="no cross-encoder in"):
        find_cross_encoder(empty)
    (empty / "model.onnx").write_bytes(b"nonsense")
    with pytest.raises(ModelError, match="is not a cross-encoder"):
        CrossEncoder(empty)


def test_kept_scores_survive_an_interruption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numcolbert.baselines.kept_scores.BLOCK", 2)
    pairs = [("query", f"text {name}") for name in "abcb"]

    class Breaks(Fixed):
        def score(self, pairs: Sequence[Pair]) -> list[float]:
            if self.seen:
                raise KeyboardInterrupt
            return super().score(pairs)

    with pytest.raises(KeyboardInterrupt):
        KeptScores(Breaks({"text a": 1.0, "text b": 2.0}), "m", tmp_path / "kept.sqlite").score(pairs)
    scorer = Fixed({"text a": 9.0, "text b": 9.0, "text c": 3.0})
    kept = KeptScores(scorer, "m", tmp_path / "kept.sqlite")
    assert kept.score(pairs) == [1.0, 2.0, 3.0, 2.0]
    assert scorer.seen == [pairs[2]], "only what was not scored before, each pair once"
    assert KeptScores(scorer, "other model", tmp_path / "kept.sqlite").score(pairs[:1]) == [9.0]
