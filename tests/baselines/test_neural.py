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
    DeepQuantRanker,
    DeepQuantStep,
    Encoded,
    build_deepquant,
    load_deepquant,
    train_deepquant,
)
from numcolbert.baselines.deepquant_model import (  # noqa: E402
    DeepQuantSettings,
    Numbers,
    NumberVectors,
    PackedDeepQuant,
)
from numcolbert.baselines.deepquant_text import (  # noqa: E402
    MOST_IN_DOCUMENT,
    MOST_IN_QUERY,
    NumberBatchMaker,
    NumberReader,
)
from numcolbert.baselines.ranker import Query  # noqa: E402
from numcolbert.baselines.splade import (  # noqa: E402
    PackedSplade,
    Splade,
    SpladeSettings,
    SpladeStep,
    build_splade,
    flops,
    load_splade,
    splade_text,
    train_splade,
)
from numcolbert.data.triple import Triple  # noqa: E402
from numcolbert.errors import ModelError, UsageError  # noqa: E402
from numcolbert.train import packing  # noqa: E402
from numcolbert.train.batches import Batch, to_device  # noqa: E402
from numcolbert.train.model_setup import ModelSettings  # noqa: E402
from numcolbert.train.optimiser import make_optimiser  # noqa: E402
from numcolbert.train.packed import PackedSettings, PackedTokens, packed_tokens  # noqa: E402
from numcolbert.train.packing import BatchMaker, PackSettings  # noqa: E402
from numcolbert.train.padded import all_rows  # noqa: E402
from numcolbert.train.recipe import OptimiserSettings, Recipe, RunSettings  # noqa: E402
from numcolbert.train.sources import DataSettings  # noqa: E402
from numcolbert.train.text_reader import TextReader, TextSettings  # noqa: E402
from numcolbert.train.transport import to_block  # noqa: E402
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


def batch_of(
    text: TextSettings, triples: list[Triple], kind: type[BatchMaker] = BatchMaker, multiple: int = 64
) -> Batch:
    made = kind(text, PackSettings(token_multiple=multiple, quantities=4)).make(triples)
    return to_device(to_block(made), torch.device("cpu"), longest=text.document_length)


def test_rivals_leave_out_other_right_answers(backbone: str, triples: list[Triple]) -> None:
    model = build_splade(backbone)
    _, number_text = build_deepquant(backbone)
    first, second = triples[:2]
    for text, kind in ((splade_text(model), BatchMaker), (number_text, NumberBatchMaker)):
        mask = batch_of(text, [first, replace(first)], kind).rivals()
        # Both positives satisfy both queries: each competes only where it is the target.
        assert mask.tolist() == [[True, False, True, True], [False, True, True, True]]
        assert batch_of(text, [first, second], kind).rivals().diagonal().all()


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
    tokens = read(model, ["revenue of dollars", "weight"])
    texts = all_rows(tokens)
    assert texts.mask.tolist() == [[True] * 5, [True, True, True, False, False]]
    packed = PackedSplade(model.eval())
    vectors = packed.vectors(packed.states(tokens), texts)
    assert vectors.shape == (2, inner.config.vocab_size) and (vectors >= 0).all()


def read(model: Any, texts: list[str]) -> PackedTokens:
    return packed_tokens(TextReader(splade_text(model)).documents(texts), torch.device("cpu"))


def test_splade_vectors_and_gradients_are_those_of_all_logits(backbone: str) -> None:
    model = build_splade(backbone)
    tokens = read(model, ["profit of 20 million", "a dose of 5 mg a day, for two weeks"])
    texts = all_rows(tokens)
    ids, mask = texts.of(tokens.ids).long(), texts.mask
    packed = PackedSplade(model)
    masked_lm: Any = model[0].auto_model
    masked_lm.cls.predictions.decoder.bias.data.zero_()  # words of all kinds are active

    def slow() -> Tensor:
        logits = masked_lm(input_ids=ids, attention_mask=mask.long()).logits  # [texts, tokens, vocabulary]
        highest: Tensor = logits.masked_fill(~mask[..., None], -torch.inf).amax(dim=1)
        return highest.relu().log1p()

    found = []
    for vectors in (packed.vectors(packed.states(tokens), texts), slow()):
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


def vectors(asked, given, units, present, operator, alpha=0.5) -> NumberVectors:
    return NumberVectors(
        torch.tensor(present), torch.tensor(asked), torch.tensor(given), torch.tensor(units),
        torch.tensor(operator), torch.full((len(present),), alpha), torch.zeros(0), torch.zeros(0),
    )  # fmt: skip


def test_deepquant_numeric_score_by_hand(backbone: str) -> None:
    model, _ = build_deepquant(backbone, DeepQuantSettings(alignment_scale=1.0))
    # One query number; operators (=, >, <) with probabilities .2 .5 .3; vectors of one dimension.
    query = vectors([[[[1.0], [0.5], [-1.0]]]], [[[[0.0]] * 3]], [[[1.0]]], [[True]], [[0.2, 0.5, 0.3]])
    passages = vectors(
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
    model, text = build_deepquant(backbone)
    ranker = DeepQuantRanker(model, text)
    words = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    asked = vectors([[[[1.0]] * 3]], [[[[1.0]] * 3]], [[[1.0]]], [[True]], [[0.0, 1.0, 0.0]], 0.25)
    given = vectors([[[[1.0]] * 3]], [[[[0.6]] * 3]], [[[1.0]]], [[True]], [[0.0, 1.0, 0.0]], 0.9)
    query = Encoded(words, torch.tensor([[True, True]]), asked)
    passage = Encoded(words[:, :1], torch.tensor([[True]]), given)
    # text: mean of (1, 0); numeric: 0.6
    assert float(ranker._score(query, passage)) == pytest.approx(0.25 * 0.5 + 0.75 * 0.6, abs=1e-6)
    asked.present[:] = False
    assert float(ranker._score(query, passage)) == pytest.approx(0.5), "without a number only words count"


def test_deepquant_reads_numbers(backbone: str) -> None:
    _, text = build_deepquant(backbone)
    reader = NumberReader(text)
    ids, arrays = reader.documents(["revenue of $2.5 billion", "no number", "-3 kilograms and 40"])
    assert arrays["number_present"].tolist() == [[True, False], [False, False], [True, True]]
    assert arrays["number_value"].tolist() == [[2.5e9, 0], [0, 0], [-3, 40]]
    assert arrays["number_exponent"][0, 0] == 9 + 9 and arrays["number_mantissa"][0, 0] == pytest.approx(2.5)
    for row, column in ((0, 0), (2, 0), (2, 1)):
        assert ids[row][arrays["number_place"][row, column]] == ids[0][3], "all numbers are one token"
    many = reader.queries([" ".join(map(str, range(20)))])[1]
    assert many["number_value"].tolist() == [list(range(MOST_IN_QUERY))]


def test_numbers_behind_the_end_of_a_text_are_left_out(backbone: str) -> None:
    _, text = build_deepquant(backbone, DeepQuantSettings(query_length=5))
    _, arrays = NumberReader(text).queries(["revenue 5 weight 6 height 7"])
    assert arrays["number_present"].tolist() == [[True, False, False]]


def test_deepquants_batches_are_numcolberts_with_numbers(backbone: str, triples: list[Triple]) -> None:
    _, text = build_deepquant(backbone)
    number = replace(triples[0], positive=replace(triples[0].positive, text="weight of 50 kilograms"))
    other = replace(number, negative=replace(number.negative, text="weight of 60 kilograms"))
    batch = batch_of(text, [number, other], NumberBatchMaker)
    starts = batch.tokens.layout.starts
    documents = Numbers.of(batch.arrays, starts[2:6], "document_")
    assert documents.value.shape == (4, MOST_IN_DOCUMENT) and documents.value[[0, 3], 0].tolist() == [50, 60]
    assert batch.document_key[0] != batch.document_key[3], "they differ in numbers, which are marked alike"
    number = build_deepquant(backbone)[0].number_id
    assert batch.tokens.ids[documents.tokens[[0, 3], 0]].tolist() == [number] * 2


def test_packed_deepquant_is_the_backbone_with_numbers_added(backbone: str) -> None:
    """Against transformers' own forward pass, from embeddings."""
    model, text = build_deepquant(backbone)
    model.eval()
    ids, arrays = NumberReader(text).documents(["weight 50 kilograms and 7", "revenue of 20", "the company"])
    tokens = packed_tokens(ids, torch.device("cpu"))
    begin = tokens.layout.starts[:-1].long()
    numbers = Numbers.of({name: torch.from_numpy(array) for name, array in arrays.items()}, begin)
    texts = all_rows(tokens)
    made = texts.of(PackedDeepQuant(model).hidden(tokens, numbers))
    embedded = model.backbone.get_input_embeddings()(texts.of(tokens.ids)).detach()
    for row, column in numbers.present.nonzero().tolist():
        of_one = (t[row, column] for t in (numbers.exponent, numbers.mantissa, numbers.value < 0))
        embedded[row, numbers.place[row, column]] += model.number(*of_one)
    expected = model.backbone(inputs_embeds=embedded, attention_mask=texts.mask.long()).last_hidden_state
    torch.testing.assert_close(made[texts.mask], expected[texts.mask], atol=1e-5, rtol=1e-4)


def test_the_number_embedding_tells_numbers_apart(backbone: str) -> None:
    model, text = build_deepquant(backbone)
    ranker = DeepQuantRanker(model, text)
    read = NumberReader(text).documents(["weight 50 kilograms", "weight 51 kilograms", "weight 50 kilograms"])
    given = ranker._encode(*read).numbers.given
    torch.testing.assert_close(given[0], given[2])
    assert not torch.allclose(given[0], given[1])


def test_order_loss_by_hand(backbone: str) -> None:
    model, _ = build_deepquant(backbone, DeepQuantSettings(order_scale=2.0))
    five, seven = ((torch.tensor([[value]]), torch.tensor([[True]])) for value in (5.0, 7.0))
    ones = torch.ones(1, 1, 3, 1)
    loss = model.order_loss(ones, ones, five, seven)
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


@pytest.mark.parametrize("system", ["splade", "deepquant"])
def test_groups_and_filling_change_no_loss(
    system: str, backbone: str, triples: list[Triple], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Passages are computed group by group, of a stream that is filled up; without, losses are the same."""
    monkeypatch.setattr(splade, "FIRST_BIAS", 0.0)
    if system == "splade":
        model = build_splade(backbone)
        step: Any = SpladeStep(PackedSplade(model), SpladeSettings())
        step.at(0.2)
        text, kind = splade_text(model), BatchMaker
    else:
        deepquant, text = build_deepquant(backbone)
        step, kind = DeepQuantStep(PackedDeepQuant(deepquant), 0.05), NumberBatchMaker
    chosen = triples[:12]
    expected = step(batch_of(text, chosen, kind, multiple=1))
    monkeypatch.setattr(
        packing,
        "group_by_length",
        lambda lengths, longest, groups=1, all_of=packing.group_by_length: all_of(
            lengths, groups, longest=longest
        ),
    )
    whole = batch_of(text, chosen, kind, multiple=512)
    assert len(whole.form.document_groups) == 1
    made = step(whole)
    assert made.parts.keys() == expected.parts.keys() and len(made.parts) == 3
    for name, value in expected.parts.items():
        assert float(value) > 0
        assert float(made.parts[name]) == pytest.approx(float(value), rel=1e-4), name


def test_deepquant_trains_on_the_scores_it_ranks_with(backbone: str, triples: list[Triple]) -> None:
    model, text = build_deepquant(backbone)
    step = DeepQuantStep(PackedDeepQuant(model), 0.05)
    chosen = triples[:6]
    batch = batch_of(text, chosen, NumberBatchMaker)
    ranker = DeepQuantRanker(model, text)
    passages = [t.positive.text for t in chosen] + [t.negative.text for t in chosen]
    ranker.index([Document(str(i), passage) for i, passage in enumerate(passages)])
    run = ranker.search([Query(str(i), t.query) for i, t in enumerate(chosen)], 12)
    scores = torch.tensor([[run[str(q)][str(d)] for d in range(12)] for q in range(6)])
    expected = fitting.retrieval_loss(scores / 0.05, batch.rivals())
    assert float(step(batch).parts["retrieval"]) == pytest.approx(float(expected), rel=1e-3)


def test_splades_penalties_grow(backbone: str, triples: list[Triple]) -> None:
    model = build_splade(backbone)
    torch.nn.init.zeros_(model[0].auto_model.cls.predictions.decoder.bias)
    step = SpladeStep(PackedSplade(model), SpladeSettings(penalty_ramp=0.5))
    batch = batch_of(splade_text(model), triples[:4])
    found = []
    for used in (0.0, 0.25, 0.5, 0.9):
        step.at(used)
        found.append(float(step(batch).parts["document_flops"]))
    assert found == pytest.approx([0.0, found[-1] / 4, found[-1], found[-1]]) and found[-1] > 0


def test_a_folder_that_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is not a DeepQuant model"):
        load_deepquant(tmp_path)
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(ModelError, match="is not a SPLADE model"):
            load_splade(folder)


def test_a_model_of_another_kind_is_no_splade_model(backbone: str, tmp_path: Path) -> None:
    from numcolbert.model.checkpoint import ColBERTSettings, build_colbert

    settings = ColBERTSettings(query_length=16, document_length=16)
    build_colbert(backbone, settings).save_pretrained(str(tmp_path / "colbert"))
    with pytest.raises(ModelError, match="is not a SPLADE model: it has no BERT with a head"):
        load_splade(tmp_path / "colbert")


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


@pytest.mark.parametrize("system", ["splade", "deepquant"])
def test_a_step_in_half_precision_is_nearly_the_same(
    system: str, backbone: str, triples: list[Triple], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a GPU: the loss and the gradients of all that is trained."""
    monkeypatch.setattr(splade, "FIRST_BIAS", 0.0)
    found = []
    for dtype in (torch.float32, torch.bfloat16):
        torch.manual_seed(5)
        settings = PackedSettings(dtype)
        if system == "splade":
            model = build_splade(backbone)
            step: Any = SpladeStep(PackedSplade(model, settings), SpladeSettings())
            batch = batch_of(splade_text(model), triples[:8])
        else:
            deepquant, text = build_deepquant(backbone)
            step = DeepQuantStep(PackedDeepQuant(deepquant, settings), 0.05)
            batch = batch_of(text, triples[:8], NumberBatchMaker)
        result = step(batch)
        result.loss.backward()
        gradients = {name: p.grad for name, p in step.named_parameters() if p.grad is not None}
        assert {gradient.dtype for gradient in gradients.values()} == {torch.float32}
        found.append((float(result.loss.detach()), gradients))
    (full, gradients), (half, in_half) = found
    assert half == pytest.approx(full, rel=0.05)
    assert gradients.keys() == in_half.keys() and len(gradients) > 20
    for part in (gradients, in_half):
        assert all(torch.isfinite(gradient).all() for gradient in part.values())
    whole, of_half = (torch.cat([g.flatten() for g in part.values()]) for part in (gradients, in_half))
    assert float((whole - of_half).norm() / whole.norm()) < 0.2


def test_heads_learn_faster_than_the_backbone(backbone: str) -> None:
    settings = OptimiserSettings(lr=0.01, head_factor=3.0)
    deepquant, _ = build_deepquant(backbone)
    masked_lm: Any = (model := build_splade(backbone))[0].auto_model
    steps: list[tuple[Any, Any, Any]] = [
        (SpladeStep(PackedSplade(model), SpladeSettings()), masked_lm.bert, masked_lm.cls.predictions.bias),
        (DeepQuantStep(PackedDeepQuant(deepquant), 0.05), deepquant.backbone, deepquant.word.weight),
    ]
    for step, pretrained, head in steps:
        optimiser = make_optimiser(step, settings, torch.device("cpu"))
        rates = {id(p): group["lr"] for group in optimiser.param_groups for p in group["params"]}
        of_backbone = [(n, p) for n, p in pretrained.named_parameters() if "pooler" not in n]
        assert {rates[id(p)] for _, p in of_backbone} == {0.01}
        assert rates[id(head)] == pytest.approx(0.03)
        assert all(id(p) not in rates for n, p in pretrained.named_parameters() if "pooler" in n)


@pytest.mark.parametrize("factor", [0.0, 0.1])
def test_the_vectors_of_words_may_learn_slowly_or_not_at_all(backbone: str, factor: float) -> None:
    deepquant, _ = build_deepquant(backbone)
    step = DeepQuantStep(PackedDeepQuant(deepquant), 0.05)
    settings = OptimiserSettings(lr=0.01, embedding_factor=factor)
    optimiser = make_optimiser(step, settings, torch.device("cpu"))
    rates = {id(p): group["lr"] for group in optimiser.param_groups for p in group["params"]}
    words = deepquant.backbone.embeddings.word_embeddings.weight
    assert rates.get(id(words), 0.0) == pytest.approx(0.01 * factor) and words.requires_grad == (factor > 0)
    assert rates[id(deepquant.backbone.embeddings.position_embeddings.weight)] == 0.01
