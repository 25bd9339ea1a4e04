"""SPLADE and DeepQuant on a toy backbone: they learn, save, and score as the formulas say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")

from numcolbert.baselines import fitting, splade  # noqa: E402
from numcolbert.baselines.deepquant import (  # noqa: E402
    DeepQuant,
    DeepQuantRanker,
    DeepQuantSettings,
    Encoded,
    build_deepquant,
    load_deepquant,
    train_deepquant,
)
from numcolbert.baselines.deepquant_text import Marked  # noqa: E402
from numcolbert.baselines.ranker import Query  # noqa: E402
from numcolbert.baselines.rivals import batch_labels, rivals  # noqa: E402
from numcolbert.baselines.splade import (  # noqa: E402
    Splade,
    SpladeText,
    build_splade,
    flops,
    load_splade,
    sparse_vectors,
    train_splade,
)
from numcolbert.data.triple import Triple  # noqa: E402
from numcolbert.errors import ModelError, UsageError  # noqa: E402
from numcolbert.train.model_setup import ModelSettings  # noqa: E402
from numcolbert.train.packing import group_by_length  # noqa: E402
from numcolbert.train.recipe import OptimiserSettings, Recipe, RunSettings  # noqa: E402
from numcolbert.train.sources import DataSettings  # noqa: E402
from numcolbert.types import Document  # noqa: E402

if TYPE_CHECKING:
    from torch import Tensor

pytestmark = pytest.mark.train


@pytest.fixture
def recipe(backbone: str, triples_file: Path) -> Recipe:
    return Recipe(
        model=ModelSettings(backbone=backbone),
        data=DataSettings(triples=triples_file, workers=0),
        optimiser=OptimiserSettings(batch=16, lr=2e-3, head_factor=2.0),
        run=RunSettings(steps=40, device="cpu", log_every=1),
    )


CORPUS = [
    Document("r50", "the company reported revenue of 50 dollars"),
    Document("r20", "the company reported revenue of 20 dollars"),
    Document("w50", "weight of 50 kilograms"),
    Document("none", "the company"),
]


def losses_of(folder: Path, name: str) -> list[float]:
    return [json.loads(line)[name] for line in (folder / "log.jsonl").read_text().splitlines()]


def test_rivals_leave_out_other_right_answers(triples: list[Triple]) -> None:
    first, second = triples[:2]
    same = replace(first)
    mask = rivals(batch_labels([first, same]))
    assert mask.shape == (2, 4)
    # Both positives satisfy both queries: each competes only where it is the target.
    assert mask.tolist() == [[True, False, True, True], [False, True, True, True]]
    assert rivals(batch_labels([first, second])).diagonal().all()


def test_retrieval_loss_by_hand() -> None:
    scores = torch.tensor([[1.0, 3.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]])
    rivals = torch.tensor([[True, False, True, True], [True, True, True, True]])
    expected = (
        -torch.log(torch.e ** torch.tensor(1.0) / (torch.e + 2))
        - torch.log(torch.e ** torch.tensor(2.0) / (torch.e**2 + 3))
    ) / 2
    assert fitting.retrieval_loss(scores, rivals) == pytest.approx(float(expected), abs=1e-6)


def test_flops_by_hand() -> None:
    assert float(flops(torch.tensor([[1.0, 0.0], [3.0, 2.0]]))) == pytest.approx(2**2 + 1**2)


def test_splade_scores_are_sentence_transformers(backbone: str) -> None:
    model = build_splade(backbone)
    torch.nn.init.zeros_(model[0].auto_model.cls.predictions.decoder.bias)
    ranker = Splade(model)
    ranker.index(CORPUS)
    queries = [Query("a", "revenue above 20 dollars"), Query("b", "weight")]
    run = ranker.search(queries, 3)
    left = model.encode([q.text for q in queries], convert_to_sparse_tensor=False)
    right = model.encode([d.text for d in CORPUS], convert_to_sparse_tensor=False)
    expected = left @ right.T
    for row, query in enumerate(queries):
        reference = sorted(zip(expected[row].tolist(), (d.id for d in CORPUS), strict=True), reverse=True)[:3]
        assert list(run[query.id]) == [name for _, name in reference]
        assert list(run[query.id].values()) == pytest.approx([score for score, _ in reference], rel=1e-5)
    assert ranker.active > 1


def test_splade_head_is_tied_and_begins_with_the_texts_own_words(backbone: str) -> None:
    model = build_splade(backbone)
    inner = model[0].auto_model
    assert inner.cls.predictions.decoder.weight is inner.get_input_embeddings().weight
    assert float(inner.cls.predictions.decoder.bias.detach().mean()) == -5
    text = SpladeText(model)
    ids, mask = text.padded(["revenue of dollars", "weight"])
    assert ids.shape == mask.shape and mask.tolist() == [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    vectors = sparse_vectors(model.eval(), ids, mask)
    assert vectors.shape == (2, inner.config.vocab_size) and (vectors >= 0).all()


def test_splade_vectors_and_gradients_are_those_of_all_logits(backbone: str) -> None:
    model = build_splade(backbone)
    ids, mask = SpladeText(model).padded(["profit of 20 million", "a dose of 5 mg a day, for two weeks"])
    masked_lm: Any = model[0].auto_model
    masked_lm.cls.predictions.decoder.bias.data.zero_()  # words of all kinds are active

    def slow() -> Tensor:
        logits = masked_lm(input_ids=ids, attention_mask=mask).logits  # [texts, tokens, vocabulary]
        highest: Tensor = logits.masked_fill(~mask.bool()[..., None], -torch.inf).amax(dim=1)
        return highest.relu().log1p()

    found = []
    for vectors in (sparse_vectors(model, ids, mask), slow()):
        model.zero_grad()
        vectors.square().sum().backward()
        gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
        found.append((vectors.detach(), {name: gradient.clone() for name, gradient in gradients.items()}))
    (fast, fast_gradients), (all_logits, all_gradients) = found
    assert (fast > 0).any()
    torch.testing.assert_close(fast, all_logits)
    assert fast_gradients.keys() == all_gradients.keys()
    for name, gradient in all_gradients.items():
        torch.testing.assert_close(fast_gradients[name], gradient, rtol=1e-3, atol=1e-5, msg=name)


def test_splade_learns_and_saves(recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splade, "FIRST_BIAS", 0.0)  # the toy's embeddings are too short to overcome it
    model, fitted = train_splade(recipe, tmp_path / "splade")
    assert (fitted.steps, fitted.triples) == (40, 640)
    retrieval = losses_of(tmp_path / "splade", "retrieval")
    assert sum(retrieval[-5:]) < sum(retrieval[:5]) * 0.9
    queries = [Query("q", "revenue of 20 dollars")]
    runs = []
    for either in (model, load_splade(tmp_path / "splade")):
        ranker = Splade(either)
        ranker.index(CORPUS)
        runs.append(ranker.search(queries, 4))
    assert runs[0]["q"] == pytest.approx(runs[1]["q"], rel=1e-4)


def test_a_loss_that_is_no_number_ends_the_training(recipe: Recipe, tmp_path: Path) -> None:
    hot = replace(recipe, optimiser=replace(recipe.optimiser, lr=1e30), run=replace(recipe.run, log_every=1))
    with pytest.raises(ModelError, match="not a number at step") as raised:
        train_deepquant(hot, tmp_path / "hot")
    assert "lr" in raised.value.hint


def test_splade_needs_a_collection(backbone: str) -> None:
    with pytest.raises(UsageError, match="no collection"):
        Splade(build_splade(backbone)).search([Query("q", "a")], 1)


def encoded(asked, given, units, mask, operator, alpha=0.5, words=None) -> Encoded:
    count = len(mask)
    words = torch.ones(count, 1, 2) if words is None else words
    return Encoded(
        words, torch.ones(words.shape[:2], dtype=torch.bool), torch.tensor(asked), torch.tensor(given),
        torch.tensor(units), torch.tensor(mask), torch.tensor(operator), torch.full((count,), alpha),
        torch.zeros(0), torch.zeros(0),
    )  # fmt: skip


def test_deepquant_numeric_score_by_hand(backbone: str) -> None:
    model, _ = build_deepquant(backbone, DeepQuantSettings(alignment_scale=1.0))
    # One query number; operators (=, >, <) with probabilities .2 .5 .3; vectors of one dimension.
    query = encoded([[[[1.0], [0.5], [-1.0]]]], [[[[0.0]] * 3]], [[[1.0]]], [[True]], [[0.2, 0.5, 0.3]])
    passages = encoded(
        [[[[0.0]] * 3] * 2] * 2,
        [[[[1.0], [1.0], [1.0]], [[0.0], [1.0], [0.0]]], [[[9.0]] * 3] * 2],
        [[[1.0], [0.0]], [[1.0], [1.0]]],
        [[True, True], [False, False]],
        [[1 / 3] * 3] * 2,
    )
    first = 0.2 * 1 + 0.5 * 0.5 - 0.3
    second = 0.5 * 0.5
    weight = torch.tensor([1.0, 0.0]).softmax(0)
    expected = float(weight[0] * first + weight[1] * second)
    assert model.numeric(query, passages)[0].tolist() == pytest.approx([expected, -1.0])


def test_deepquant_combines_by_alpha(backbone: str) -> None:
    model, _ = build_deepquant(backbone)
    words = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    query = encoded([[[[1.0]] * 3]], [[[[1.0]] * 3]], [[[1.0]]], [[True]], [[0.0, 1.0, 0.0]], 0.25, words)
    passage = encoded(
        [[[[1.0]] * 3]], [[[[0.6]] * 3]], [[[1.0]]], [[True]], [[0.0, 1.0, 0.0]], 0.9, words[:, :1]
    )
    # text: mean of (1, 0); numeric: 0.6
    assert float(model.score(query, passage)) == pytest.approx(0.25 * 0.5 + 0.75 * 0.6, abs=1e-6)
    query.number_mask[:] = False
    assert float(model.score(query, passage)) == pytest.approx(0.5), "without a number only words count"


def test_deepquant_reads_numbers(backbone: str) -> None:
    _, text = build_deepquant(backbone)
    marked = text.read(["revenue of $2.5 billion", "no number", "-3 kilograms and 40"])
    assert marked.number_mask.tolist() == [[True, False], [False, False], [True, True]]
    assert marked.value[0, 0] == 2.5e9 and marked.negative[2].tolist() == [True, False]
    rows = torch.arange(3)[:, None]
    assert (marked.is_number[rows, marked.position] == marked.number_mask).all()


def test_the_number_embedding_tells_numbers_apart(backbone: str) -> None:
    model, text = build_deepquant(backbone)
    with torch.inference_mode():
        vectors = model.encode(
            text.read(["weight 50 kilograms", "weight 51 kilograms", "weight 50 kilograms"])
        ).given
    assert torch.equal(vectors[0], vectors[2]) and not torch.allclose(vectors[0], vectors[1])


def test_order_loss_by_hand(backbone: str) -> None:
    model, text = build_deepquant(backbone, DeepQuantSettings(order_scale=2.0))
    asked, given = text.read(["weight 5"]), text.read(["weight 7"])
    left = encoded([[[[1.0]] * 3]], [[[[1.0]] * 3]], [[[1.0]]], [[True]], [[1.0, 0.0, 0.0]])
    loss = model.order_loss(
        left.asked, left.given, (asked.value, asked.number_mask), (given.value, given.number_mask)
    )
    sigmoid = torch.sigmoid(torch.tensor(2.0))
    expected = (-2 * torch.log(1 - sigmoid) - torch.log(sigmoid)) / 3  # only ">" holds
    assert float(loss) == pytest.approx(float(expected), rel=1e-5)


def test_deepquant_learns_saves_and_ranks(recipe: Recipe, tmp_path: Path) -> None:
    model, text, fitted = train_deepquant(recipe, tmp_path / "deepquant")
    assert fitted.steps == 40
    retrieval = losses_of(tmp_path / "deepquant", "retrieval")
    assert sum(retrieval[-5:]) < sum(retrieval[:5]) * 0.8
    queries = [Query("q", "revenue above 40 dollars"), Query("words", "weight")]
    ranker = DeepQuantRanker(model, text, batch=2)
    ranker.index(CORPUS)
    run = ranker.search(queries, 4)
    assert set(run["q"]) == {d.id for d in CORPUS}
    again = DeepQuantRanker(*load_deepquant(tmp_path / "deepquant"))
    again.index(CORPUS)
    assert again.search(queries, 4)["q"] == pytest.approx(run["q"], abs=1e-4)


def test_groups_by_length_change_no_loss(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Passages are computed group by group; one group of all gives the same first step."""
    short = replace(recipe, run=replace(recipe.run, steps=1))
    grouped, whole = tmp_path / "grouped", tmp_path / "whole"
    for folder, groups in ((grouped, 4), (whole, 1)):
        monkeypatch.setattr(fitting, "group_by_length", lambda n, g=groups: group_by_length(n, g))
        torch.manual_seed(3)
        train_deepquant(short, folder / "deepquant")
        torch.manual_seed(3)
        train_splade(short, folder / "splade")
    for system, names in (("deepquant", ("retrieval", "number", "order")), ("splade", ("retrieval",))):
        for name in names:
            expected = losses_of(whole / system, name)
            assert losses_of(grouped / system, name) == pytest.approx(expected, rel=1e-4)


def test_a_folder_that_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is not a DeepQuant model"):
        load_deepquant(tmp_path)
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(ModelError, match="is not a SPLADE model"):
            load_splade(folder)


def test_batches_survive_the_way_through_workers(backbone: str, triples: list[Triple]) -> None:
    import pickle

    model, text = build_deepquant(backbone)
    made = triples[:3]
    batch = text(made)
    again = pickle.loads(pickle.dumps(text))(made)
    assert all(torch.equal(batch[name], again[name]) for name in batch)
    queries = Marked.of(batch, "query_")
    assert isinstance(model, DeepQuant) and len(queries.ids) == 3


def test_batches_come_from_other_processes(recipe: Recipe, tmp_path: Path) -> None:
    with_workers = replace(recipe, data=replace(recipe.data, workers=1), run=replace(recipe.run, steps=4))
    _, _, fitted = train_deepquant(with_workers, tmp_path / "deepquant")
    assert fitted.steps == 4 and all(loss < 20 for loss in losses_of(tmp_path / "deepquant", "retrieval"))


def test_a_backbone_kept_in_half_precision_is_trained_in_float32(backbone: str, tmp_path: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    AutoModel.from_pretrained(backbone).half().save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(backbone).save_pretrained(tmp_path)
    for model in (build_splade(str(tmp_path)), build_deepquant(str(tmp_path))[0]):
        assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
