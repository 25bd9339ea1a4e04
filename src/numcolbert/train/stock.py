"""The losses as sentence-transformers writes them, for `MultiVectorEncoderTrainer`.

A training row is `(query, positive, negative, label)`; the label is the list of numbers that `row_label`
packs from what is known about the row, as the trainer's collator knows no other kind. Example:

    label = row_label(model, query, condition, quantities_of_positive, quantities_of_negative)
    rows.append({"query": query, "positive": positive, "negative": negative, "label": label})
    ...
    loss = StockLoss(model, LossSettings(), units=200)
    arguments = MultiVectorEncoderTrainingArguments(prompts=column_prompts(model), ...)
    MultiVectorEncoderTrainer(model, arguments, Dataset.from_list(rows), loss=loss).train()

One loss alone: `StockLoss(model, units=200, only={"properties"})`, or any other subset of `PARTS`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from numcolbert.data.triple import OPERATORS, PassageQuantity, QueryCondition
from numcolbert.errors import UsageError
from numcolbert.train.labels import Conditions, DocumentQuantities, candidates, known_answers
from numcolbert.train.losses import KEPT, LOSSES, BatchLabels, EncodedBatch, LossSettings, NumColBERTLoss

if TYPE_CHECKING:
    from sentence_transformers import MultiVectorEncoder

PARTS = frozenset(LOSSES) - frozenset(KEPT)
"""Those that need no other model, which sentence-transformers' trainer does not run."""
QUANTITIES = 4
"""Quantities of a passage that a label has room for; more are left out."""
_CONDITION, _QUANTITY = 9, 4
LABEL_SIZE = _CONDITION + 2 * QUANTITIES * _QUANTITY


def row_label(
    model: MultiVectorEncoder,
    query: str,
    condition: QueryCondition | None,
    positive: Sequence[PassageQuantity] = (),
    negative: Sequence[PassageQuantity] = (),
) -> list[float]:
    """What is known about one row, as `LABEL_SIZE` numbers; -1 stands for nothing."""
    label: list[float] = [-1.0] * _CONDITION
    if condition is not None:
        c = condition
        operator = OPERATORS.index(c.operator)
        place = _mention(model, query, c.span)
        label = [operator, c.unit, c.dimension, c.pair, c.value, c.base_value, c.base_high, *place]
    for quantities in (positive, negative):
        kept = quantities[:QUANTITIES]
        for q in kept:
            label += [q.unit, q.dimension, q.pair, q.base_value]
        label += [-1.0] * (_QUANTITY * (QUANTITIES - len(kept)))
    return [float(number) for number in label]


def _mention(model: MultiVectorEncoder, query: str, span: tuple[int, int]) -> tuple[int, int]:
    """First and one past the last token of the characters `span`, in the query as the model sees it."""
    prompt = model.prompts.get("query") or ""
    offsets = model.tokenizer(prompt + query, return_offsets_mapping=True)["offset_mapping"]
    start, end = span[0] + len(prompt), span[1] + len(prompt)
    inside = [i for i, (a, b) in enumerate(offsets) if a < end and b > start]
    return (inside[0], inside[-1] + 1) if inside else (0, 0)


def column_prompts(model: MultiVectorEncoder) -> dict[str, str]:
    """The markers of each column, for the trainer's arguments: it does not apply the model's own."""
    query, document = (model.prompts.get(task) or "" for task in ("query", "document"))
    return {"query": query, "positive": document, "negative": document}


class StockLoss(nn.Module):
    """The losses, or some of them, on the columns (query, positive, negative) and a label.

    | input | | |
    |---|---|---|
    | `sentence_features` | query, positive, negative | tokenised columns |
    | `labels` | [B, LABEL_SIZE] | from `row_label` |

    In-batch documents known to answer another query are no candidates for it.

    Args:
        settings: A recipe's, for instance; weights, temperatures and readings.
        units: How many units the labels name, the largest number of one plus 1; the property heads' loss
            needs it.
        only: The losses that count, with their weights in `settings`; all others are left out.
    """

    def __init__(
        self,
        model: MultiVectorEncoder,
        settings: LossSettings | None = None,
        units: int = 1,
        only: Collection[str] | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.settings = _chosen(settings or LossSettings(), only)
        self.units = units
        self.loss = NumColBERTLoss(self.settings, int(model.get_embedding_dimension() or 0), units)
        self.loss.to(model.device)

    def get_config_dict(self) -> dict[str, Any]:
        return asdict(self.settings)

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        query, *passages = [dict(features) for features in sentence_features]
        self._check_units(labels)
        labels = labels.to(query["input_ids"].device, torch.float64)
        places = torch.arange(query["input_ids"].shape[1], device=labels.device)
        mention = (places >= labels[:, 7:8]) & (places < labels[:, 8:9])  # [B, Tq]
        query = self.model({**query, "quantity_mask": mention}, task="query")
        documents, document_mask = _joined([self.model(p, task="document") for p in passages])
        vectors, mask = query["token_embeddings"], query["attention_mask"].bool()
        batch = EncodedBatch(
            queries=vectors,
            ungated=query.get("ungated_embeddings", vectors),
            query_mask=mask,
            word_mask=query.get("gateable", mask),
            documents=documents,
            document_mask=document_mask,
            num_logit=query.get("num_logit"),
        )
        total: Tensor = self.loss(batch, _labels(labels, mention)).total
        return total

    def _check_units(self, labels: Tensor) -> None:
        if self.loss.heads is None:
            return
        largest = int(labels[:, 1].max())
        if largest >= self.units:
            raise UsageError(
                f"A label names unit {largest}, and the loss was made for {self.units}.",
                hint=f"pass units={largest + 1} or more, or choose other losses than 'properties'",
            )


def _chosen(settings: LossSettings, only: Collection[str] | None) -> LossSettings:
    """`settings` with no weight on the losses that are not asked for."""
    if only is None:
        listening = [name for name in KEPT if getattr(settings, name)]
        if listening:
            raise UsageError(
                f"The loss {listening[0]!r} needs the scores of another model, which are not at hand here.",
                hint=f"set its weight to 0, as in dataclasses.replace(settings, {listening[0]}=0.0)",
            )
        only = PARTS
    unknown = sorted(set(only) - PARTS)
    if unknown or not only:
        raise UsageError(
            f"There is no loss {unknown[0]!r} here." if unknown else "No loss is named.",
            hint="choose among " + ", ".join(sorted(PARTS)),
        )
    if not any(getattr(settings, name) for name in only):
        raise UsageError(
            f"The losses that are asked for have no weight: {', '.join(sorted(only))}.",
            hint=f"give one, as in LossSettings({min(only)}=1.0)",
        )
    without: dict[str, Any] = dict.fromkeys(set(LOSSES) - set(only), 0.0)
    return replace(settings, **without)


def _joined(columns: list[dict[str, Tensor]]) -> tuple[Tensor, Tensor]:
    """All documents in one tensor: the positives, then the negatives; and which tokens count."""
    longest = max(column["token_embeddings"].shape[1] for column in columns)
    vectors, masks = [], []
    for column in columns:
        missing = longest - column["token_embeddings"].shape[1]
        vectors.append(F.pad(column["token_embeddings"], (0, 0, 0, missing)))
        masks.append(F.pad(column["attention_mask"].bool(), (0, missing)))
    return torch.cat(vectors), torch.cat(masks)


def _labels(labels: Tensor, mention: Tensor) -> BatchLabels:
    rows = torch.nonzero(labels[:, 0] >= 0).flatten()
    operator, unit, dimension, pair, value, base_value, base_high = labels[rows, :7].unbind(dim=1)
    conditions = Conditions(
        rows, operator.long(), unit.long(), dimension.long(), pair.long(), value, base_value, base_high,
        mention[rows],
    )  # fmt: skip
    tables = labels[:, _CONDITION:].view(len(labels), 2, QUANTITIES, _QUANTITY)
    unit, dimension, pair, base_value = torch.cat([tables[:, 0], tables[:, 1]]).unbind(dim=-1)  # [2B, M]
    quantities = DocumentQuantities(unit.long(), dimension.long(), pair.long(), base_value)
    target = torch.arange(len(labels), device=labels.device)
    answers = known_answers(conditions, quantities, len(labels))
    return BatchLabels(target, candidates(answers, target), mention, conditions, quantities)
