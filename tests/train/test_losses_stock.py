"""The losses inside sentence-transformers' own training machinery."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.multi_vector_encoder.data_collator import MultiVectorEncoderDataCollator
from transformers import BertConfig, BertModel, BertTokenizer

from numcolbert.data.triple import PassageQuantity, QueryCondition
from numcolbert.errors import UsageError
from numcolbert.model.checkpoint import ColBERTSettings, add_gate, build_colbert
from numcolbert.train.losses import LOSSES, LossSettings
from numcolbert.train.recipe import load_recipe
from numcolbert.train.stock import LABEL_SIZE, PARTS, StockLoss, column_prompts, row_label

WORDS = (
    "[PAD] [unused0] [unused1] [UNK] [CLS] [SEP] [MASK] sales over under 20 30 40 kg dollars of the , weight"
)


@pytest.fixture(scope="module")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stock")
    (folder / "vocab.txt").write_text("\n".join(WORDS.split()) + "\n")
    BertTokenizer(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(WORDS.split()),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture
def model(backbone: Path) -> MultiVectorEncoder:
    settings = ColBERTSettings(dim=8, query_length=16, document_length=16)
    return add_gate(build_colbert(backbone, settings)).train()


def rows(model: MultiVectorEncoder) -> list[dict[str, object]]:
    kg, dollars = PassageQuantity(0, 0, 0, 30.0), PassageQuantity(1, 1, 1, 20.0)
    over = QueryCondition(">", 0, 0, 0, 20.0, 20.0, 20.0, (12, 17))
    under = QueryCondition("<", 1, 1, 1, 40.0, 40.0, 40.0, (12, 22))
    made = [
        (
            "weight over 20 kg",
            over,
            "the weight of 30 kg",
            "weight of 20 kg",
            [kg],
            [PassageQuantity(0, 0, 0, 20.0)],
        ),
        ("sales under 40 dollars", under, "sales of 20 dollars", "the sales", [dollars], []),
        ("sales of the", None, "sales", "weight", [], []),
    ]
    return [
        {"query": q, "positive": p, "negative": n, "label": row_label(model, q, c, qp, qn)}
        for q, c, p, n, qp, qn in made
    ]


def batch(model: MultiVectorEncoder) -> tuple[list[dict[str, torch.Tensor]], torch.Tensor]:
    """What the trainer hands to a loss: the collator's columns and labels."""
    collator = MultiVectorEncoderDataCollator(preprocess_fn=model.preprocess, prompts=column_prompts(model))
    collated = collator(rows(model))
    columns = [
        {
            key.removeprefix(f"{name}_"): value
            for key, value in collated.items()
            if key.startswith(f"{name}_") and isinstance(value, torch.Tensor)
        }
        for name in ("query", "positive", "negative")
    ]
    return columns, collated["label"]


def test_labels_mark_the_tokens_of_the_mention(model: MultiVectorEncoder) -> None:
    label = row_label(model, "weight over 20 kg", QueryCondition(">", 0, 0, 0, 20, 20, 20, (12, 17)))
    assert len(label) == LABEL_SIZE
    ids = model.tokenizer(model.prompts["query"] + "weight over 20 kg")["input_ids"]
    assert model.tokenizer.convert_ids_to_tokens(ids)[int(label[7]) : int(label[8])] == ["20", "kg"]


def test_all_losses_train_every_part_of_the_model(model: MultiVectorEncoder) -> None:
    loss = StockLoss(model, LossSettings(), units=3)
    columns, labels = batch(model)
    value = loss(columns, labels)
    assert value.isfinite() and value > 0
    value.backward()
    untouched = [
        name for name, parameter in loss.named_parameters() if parameter.grad is None and "pooler" not in name
    ]
    assert untouched == []


@pytest.mark.parametrize("part", sorted(PARTS))
def test_each_loss_works_alone(model: MultiVectorEncoder, part: str) -> None:
    columns, labels = batch(model)
    alone = StockLoss(model, LossSettings(bound=1.0, concept=1.0), units=3, only={part})
    weights = {name: weight for name, weight in asdict(alone.settings).items() if name in LOSSES and weight}
    assert weights.keys() == {part}
    value = alone(columns, labels)
    value.backward()
    gate = model[-1]
    learned = {
        name: any(p.grad is not None and bool(p.grad.abs().sum() > 0) for p in network.parameters())
        for name, network in (("gate", gate.gate), ("detector", gate.detector))
    }
    assert learned == {"gate": part == "retrieval", "detector": part == "detection"}


def test_a_loss_that_does_not_exist_is_refused(model: MultiVectorEncoder) -> None:
    with pytest.raises(UsageError, match="no loss 'ranking'"):
        StockLoss(model, only={"ranking"})
    with pytest.raises(UsageError, match="No loss"):
        StockLoss(model, only=())
    with pytest.raises(UsageError, match="no weight: bound") as caught:
        StockLoss(model, only={"bound"})
    assert "bound=1.0" in caught.value.hint


@pytest.mark.parametrize("name", ["default", "further", "bound", "all-round"])
def test_the_losses_of_a_recipe_can_be_taken_one_by_one(model: MultiVectorEncoder, name: str) -> None:
    settings = StockLoss(model, load_recipe(name).loss, only={"detection"}).settings
    assert [loss for loss in LOSSES if getattr(settings, loss)] == ["detection"]


@pytest.mark.parametrize("loss", ["keep", "keep_numbers"])
def test_a_loss_that_listens_to_another_model_is_refused(model: MultiVectorEncoder, loss: str) -> None:
    with pytest.raises(UsageError, match=f"'{loss}' needs the scores of another model"):
        StockLoss(model, LossSettings(**{loss: 1.0}))
    with pytest.raises(UsageError, match=f"no loss '{loss}'"):
        StockLoss(model, LossSettings(**{loss: 1.0}), only={loss})


def test_a_label_with_a_unit_that_the_loss_does_not_know_is_refused(model: MultiVectorEncoder) -> None:
    columns, labels = batch(model)
    with pytest.raises(UsageError, match="names unit 1, and the loss was made for 1") as caught:
        StockLoss(model)(columns, labels)
    assert "units=2" in caught.value.hint
    assert StockLoss(model, only={"retrieval"})(columns, labels).isfinite()


def test_training_lowers_the_loss(model: MultiVectorEncoder) -> None:
    torch.manual_seed(0)
    loss = StockLoss(model, LossSettings(), units=3)
    optimiser = torch.optim.AdamW(loss.parameters(), lr=1e-2)
    values = []
    for _ in range(15):
        columns, labels = batch(model)
        value = loss(columns, labels)
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        values.append(value.item())
    assert values[-1] < 0.5 * values[0]
