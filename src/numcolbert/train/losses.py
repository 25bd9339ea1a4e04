"""The four losses of NumColBERT, three of our own, and their sum.

`L = L_ret + 0.05 (L_cont + L_det + L_prop)`, and `bound_loss`, `concept_loss` and `keep_loss` where they have
a weight.

Each is a function of plain tensors, so that it can be read, tested and replaced alone. `stock.py` wraps them
for `MultiVectorEncoderTrainer`. Shapes: B queries of at most Tq tokens, D documents of at most Td tokens,
C conditions (a query may have none), vectors of size `dim`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from numcolbert.data.triple import OPERATORS
from numcolbert.train.contrast import (
    MultiPositive,
    bound_loss,
    concept_loss,
    contrastive_loss,
    mention_scores,
    mention_vectors,
)
from numcolbert.train.labels import Conditions, DocumentQuantities, Strategy, condition_counts
from numcolbert.train.maxsim import maxsim

KEPT = ("keep", "keep_numbers")
"""The losses that listen to another model's scores."""
LOSSES = ("retrieval", "contrastive", "detection", "properties", "bound", "concept", *KEPT)
"""All losses, each by the name of its weight."""
KeptRows = Literal["queries", "tokens"]


@dataclass(slots=True)
class LossSettings:
    """Weights, temperatures and readings. A weight of 0 leaves the loss out."""

    retrieval: float = 1.0
    contrastive: float = 0.05
    detection: float = 0.05
    properties: float = 0.05
    bound: float = 0.0
    concept: float = 0.0
    keep: float = 0.0
    """Of the rankings that `model.teacher` gives general questions."""
    keep_numbers: float = 0.0
    """Of the rankings that the model training began with gives questions with a condition."""
    keep_of: KeptRows = "queries"
    """Whose rankings `keep` holds: those of whole questions, or those of each of their tokens."""
    keep_numbers_of: KeptRows = "queries"
    """The same of `keep_numbers`. Whole questions are held as they are ranked, gate and all; tokens without
    the gate, which weighs them and changes none of their rankings."""
    keep_temperature: float = 0.02
    """Of `keep`, and of all tokens. A teacher's mean MaxSim divided by 0.02 names its first document and
    little else; divided by more it says how all of them compare."""
    answers: float = 1.0
    """Of general questions within the retrieval loss; with 0 `model.teacher` alone ranks their answers."""
    positives: Strategy = "unit"
    unit_match: Literal["unit", "dimension"] = "unit"
    contrast: Literal["all", "comparable"] = "all"
    """Which documents of the batch a condition's positives are told from: all, or those alone that hold a
    quantity of its dimension, so that with joint positives nothing but the size of the number decides."""
    mention: Literal["mean", "tokens"] = "mean"
    """How the contrastive and the bound loss compare a quantity: by the mean of its vectors, as in the paper,
    or token by token, as a search does."""
    multi_positive: MultiPositive = "mean_log"
    """What several positives of a condition or a concept have in common: see `contrastive_loss`."""
    concept_multi_positive: Literal["", "mean_log", "log_sum", "each_log"] = ""
    """Those of a concept, where it is something else."""
    retrieval_temperature: float = 0.02
    contrastive_temperature: float = 0.02
    divisor: Literal["length", "gates", "one"] = "length"
    """What a query's scores are divided by before the temperature; its ranking is the same with each.
    "length" is |Q|. "gates" is the sum of the gates, so that a gate can only shift weight between tokens and
    not lower the temperature as well. "one" is the sum of MaxSim as the paper writes it."""
    detection_positive_weight: float = 1.0


def retrieval_loss(
    scores: Tensor,
    target: Tensor,
    divisor: Tensor | float,
    candidates: Tensor | None = None,
    *,
    weights: Tensor | None = None,
    temperature: float = 0.02,
) -> Tensor:
    """Cross-entropy over MaxSim scores:  `-log softmax(S / (divisor temperature))[target]`, mean of queries.

    | input | shape | |
    |---|---|---|
    | `scores` | [B, D] | MaxSim of gated queries, a sum over tokens |
    | `target` | [B] | column of each query's own positive |
    | `divisor` | [B] or one number | \\|Q\\|, the sum of the gates, or 1: see `LossSettings.divisor` |
    | `candidates` | [B, D] | false for documents left out: known answers of the query |
    | `weights` | [B] | of each query in the mean; all alike if left out |

    A divisor of 1 is a sum over some twenty tokens divided by 0.02, which saturates the softmax.
    """
    logits = _logits(scores, divisor, temperature)
    if candidates is not None:
        logits = logits.masked_fill(~candidates, float("-inf"))
    if weights is None:
        return F.cross_entropy(logits, target)
    return _mean(F.cross_entropy(logits, target, reduction="none"), weights)


def _mean(losses: Tensor, weights: Tensor) -> Tensor:
    """Of those that count, each by its weight; 0 where none does."""
    weights = weights.to(losses.dtype)
    return (losses * weights).sum() / weights.sum().clamp(min=1e-6)


def _logits(scores: Tensor, divisor: Tensor | float, temperature: float) -> Tensor:
    logits = scores.float() / temperature
    return logits / (divisor[:, None] if isinstance(divisor, Tensor) else divisor)


def keep_loss(
    scores: Tensor, teacher: Tensor, divisor: Tensor | float, counted: Tensor, *, temperature: float = 0.02
) -> Tensor:
    """How far the ranking of some queries is from a teacher's, such as the model training began with.

    `KL(softmax(teacher) || softmax(scores))` over the batch's documents, mean over the queries that count.
    Answers to general questions are few and soon known by heart; this goes on teaching. Of questions with a
    condition it says what was known before, where a short training's own triples say but a little of it.

    A row is a query, or one of a query's tokens with its best match in each document.

    | input | shape | |
    |---|---|---|
    | `scores`, `teacher` | [rows, D] | of the model and of the teacher |
    | `divisor` | [rows] or one number | as for `retrieval_loss`; 1 for tokens |
    | `counted` | [rows] bool | those of queries without a condition, or with one |
    """
    ours, wanted = (F.log_softmax(_logits(s, divisor, temperature), dim=1) for s in (scores, teacher))
    apart = F.kl_div(ours, wanted, log_target=True, reduction="none").sum(dim=1)
    return _mean(apart, counted)


def detection_loss(
    logits: Tensor, quantity_mask: Tensor, word_mask: Tensor, *, positive_weight: float = 1.0
) -> Tensor:
    """Binary cross-entropy of the detector, mean over the words of all queries.

    | input | shape | |
    |---|---|---|
    | `logits` | [B, Tq] | the detector's, before the sigmoid |
    | `quantity_mask` | [B, Tq] | true on tokens of a quantity mention |
    | `word_mask` | [B, Tq] | true on words: no padding, no special token |
    """
    # A tensor made here would have the device wait for the host, so the usual weight is left out.
    weight = None if positive_weight == 1.0 else torch.tensor(positive_weight, device=logits.device)
    loss = F.binary_cross_entropy_with_logits(
        logits, quantity_mask.to(logits.dtype), pos_weight=weight, reduction="none"
    )
    return _mean(loss, word_mask)


def scientific(values: Tensor) -> tuple[Tensor, Tensor]:
    """Signed mantissa in (-10, -1] or [1, 10), and exponent: 250 -> (2.5, 2). Zero is (0, 0)."""
    size = values.abs()
    exponent = torch.floor(torch.log10(torch.where(size > 0, size, torch.ones_like(size))))
    mantissa = values / 10.0**exponent
    # log10 may land a hair below a whole number: 999.9999 instead of 1000.
    over, under = mantissa.abs() >= 10, (mantissa.abs() < 1) & (size > 0)
    exponent = exponent + over.to(exponent.dtype) - under.to(exponent.dtype)
    return values / 10.0**exponent, exponent


class PropertyHeads(nn.Module):
    """Four two-layer networks that read unit, mantissa, exponent and operator off `q_num`.

    They shape the encoder in training and are dropped after it.
    """

    def __init__(self, dim: int, units: int, hidden_dim: int = 128) -> None:
        super().__init__()

        def head(outputs: int) -> nn.Sequential:
            return nn.Sequential(nn.Linear(dim, hidden_dim), nn.GELU(), nn.Linear(hidden_dim, outputs))

        self.unit, self.operator = head(max(units, 1)), head(len(OPERATORS))
        self.mantissa, self.exponent = head(1), head(1)

    def forward(self, mentions: Tensor, conditions: Conditions) -> dict[str, Tensor]:
        """The four losses: cross-entropy for unit and operator, squared error for m/10 and e/10.

        | input | shape | |
        |---|---|---|
        | `mentions` | [C, dim] | from `mention_vectors` |
        | `conditions` | C rows | `unit` (-1 is left out), `value`, `operator` |
        """
        if not len(conditions):
            nothing = mentions.sum() * 0.0 + sum(p.sum() * 0.0 for p in self.parameters())
            return dict.fromkeys(("unit", "mantissa", "exponent", "operator"), nothing)
        mantissa, exponent = scientific(conditions.value)
        real = conditions.real
        count = real.sum().clamp(min=1)

        def squared_error(head: nn.Module, wanted: Tensor) -> Tensor:
            error = head(mentions).squeeze(-1).float() - (wanted / 10).float()
            mean: Tensor = (error.square() * real).sum() / count
            return mean

        def cross_entropy(head: nn.Module, wanted: Tensor, counted: Tensor) -> Tensor:
            wanted = wanted.clamp(min=-1)
            total = F.cross_entropy(head(mentions).float(), wanted, ignore_index=-1, reduction="sum")
            return total / counted

        return {
            "unit": cross_entropy(self.unit, conditions.unit, (conditions.unit >= 0).sum().clamp(min=1)),
            "mantissa": squared_error(self.mantissa, mantissa),
            "exponent": squared_error(self.exponent, exponent),
            "operator": cross_entropy(self.operator, conditions.operator, count),
        }


@dataclass(slots=True)
class EncodedBatch:
    """What the encoder made of a batch: all the losses need."""

    queries: Tensor  # [B, Tq, dim], gated
    ungated: Tensor  # [B, Tq, dim], unit vectors
    query_mask: Tensor  # [B, Tq], vectors that enter MaxSim
    word_mask: Tensor  # [B, Tq], without special tokens
    documents: Tensor  # [D, Td, dim]
    document_mask: Tensor  # [D, Td]
    num_logit: Tensor | None = None  # [B, Tq], None for a plain ColBERT
    scores: Tensor | None = None  # [B, D], MaxSim where it was computed already
    word_scores: Tensor | None = None  # [B, D], of ungated words outside of quantities, likewise
    mention_scores: Tensor | None = None  # [C, D], of the ungated tokens of each quantity, likewise
    token_scores: Tensor | None = None  # [tokens, D], best matches of all ungated tokens, likewise
    token_query: Tensor | None = None  # [tokens], the query of each; B where it belongs to none
    teacher_scores: Tensor | None = None
    """Of the model whose general rankings are kept: MaxSim [B, D], or like `token_scores`."""
    start_scores: Tensor | None = None
    """Of the model training began with: gated MaxSim [B, D], or like `token_scores`."""


@dataclass(slots=True)
class BatchLabels:
    target: Tensor  # [B] long
    candidates: Tensor | None  # [B, D] bool
    quantity_mask: Tensor  # [B, Tq] bool, tokens of any quantity mention
    conditions: Conditions
    quantities: DocumentQuantities


def _kept_rows(
    of: KeptRows, batch: EncodedBatch, scores: Tensor, divisor: Tensor | float, counted: Tensor
) -> tuple[Tensor, Tensor | float, Tensor]:
    """Scores, divisor and which rows count, for `keep_loss`: of queries, or of each of their tokens."""
    if of == "queries":
        return scores, divisor, counted
    assert batch.token_scores is not None and batch.token_query is not None
    with_nobody = torch.cat([counted, counted.new_zeros(1)])
    return batch.token_scores, 1.0, with_nobody[batch.token_query]


@dataclass(slots=True)
class Losses:
    total: Tensor
    parts: dict[str, Tensor] = field(default_factory=dict)
    """Unweighted and detached, for the log."""


class NumColBERTLoss(nn.Module):
    """The sum of all four, with the settings' weights; also ColBERT's loss alone when all weights are 0."""

    def __init__(self, settings: LossSettings, dim: int, units: int) -> None:
        super().__init__()
        self.settings = settings
        self.heads = PropertyHeads(dim, units) if settings.properties else None

    def forward(self, batch: EncodedBatch, labels: BatchLabels) -> Losses:
        s = self.settings
        scores = batch.scores
        if scores is None:
            scores = maxsim(batch.queries, batch.documents, batch.query_mask, batch.document_mask)
        divisor = self._divisor(batch)
        conditional = condition_counts(labels.conditions, len(scores)) > 0
        retrieval = retrieval_loss(
            scores,
            labels.target,
            divisor,
            labels.candidates,
            weights=None if s.answers == 1 else s.answers + (1 - s.answers) * conditional.float(),
            temperature=s.retrieval_temperature,
        )
        total = s.retrieval * retrieval
        parts = {"retrieval": retrieval.detach()}
        mentions = mention_vectors(batch.ungated, labels.conditions)
        contrasted = bool(s.contrastive) and s.positives != "none"
        if contrasted or s.bound:
            number_scores = self._mention_scores(batch, labels.conditions, mentions)
        if contrasted:
            contrastive = contrastive_loss(
                number_scores,
                labels.conditions,
                labels.quantities,
                strategy=s.positives,
                unit_match=s.unit_match,
                contrast=s.contrast,
                multi_positive=s.multi_positive,
                temperature=s.contrastive_temperature,
            )
            total = total + s.contrastive * contrastive
            parts["contrastive"] = contrastive.detach()
        if s.bound:
            bound = bound_loss(
                number_scores,
                labels.target,
                labels.conditions,
                labels.quantities,
                multi_positive=s.multi_positive,
                temperature=s.contrastive_temperature,
            )
            total = total + s.bound * bound
            parts["bound"] = bound.detach()
        if s.concept:
            words = batch.word_mask & ~labels.quantity_mask
            word_scores = batch.word_scores
            if word_scores is None:
                word_scores = maxsim(batch.ungated, batch.documents, words, batch.document_mask)
            concept = concept_loss(
                word_scores,
                words.sum(dim=1),
                labels.target,
                labels.conditions,
                labels.quantities,
                multi_positive=s.concept_multi_positive or s.multi_positive,
                temperature=s.contrastive_temperature,
            )
            total = total + s.concept * concept
            parts["concept"] = concept.detach()
        numbers_at = s.keep_temperature if s.keep_numbers_of == "tokens" else s.retrieval_temperature
        for name, weight, of, wanted, asking, temperature in (
            ("keep", s.keep, s.keep_of, batch.teacher_scores, ~conditional, s.keep_temperature),
            ("keep_numbers", s.keep_numbers, s.keep_numbers_of, batch.start_scores, conditional, numbers_at),
        ):
            if weight and wanted is not None:
                rows, divided, counted = _kept_rows(of, batch, scores, divisor, asking)
                keep = keep_loss(rows, wanted, divided, counted, temperature=temperature)
                total = total + weight * keep
                parts[name] = keep.detach()
        if s.detection and batch.num_logit is not None:
            detection = detection_loss(
                batch.num_logit,
                labels.quantity_mask,
                batch.word_mask,
                positive_weight=s.detection_positive_weight,
            )
            total = total + s.detection * detection
            parts["detection"] = detection.detach()
        if self.heads is not None:
            properties = self.heads(mentions, labels.conditions)
            total = total + s.properties * torch.stack(list(properties.values())).sum()
            parts |= {name: loss.detach() for name, loss in properties.items()}
        return Losses(total, parts)

    def _mention_scores(self, batch: EncodedBatch, conditions: Conditions, mentions: Tensor) -> Tensor:
        """The best match of each quantity's mean vector, or the mean of its tokens' best matches, [C, D]."""
        if self.settings.mention == "mean":
            return mention_scores(mentions, batch.documents, batch.document_mask)
        scores = batch.mention_scores
        if scores is None:
            own = batch.ungated[conditions.query]
            scores = maxsim(own, batch.documents, conditions.mention, batch.document_mask)
        return scores / conditions.mention.sum(dim=1, keepdim=True).clamp(min=1)

    def _divisor(self, batch: EncodedBatch) -> Tensor | float:
        if self.settings.divisor == "one":
            return 1.0
        if self.settings.divisor == "length":
            return batch.query_mask.sum(dim=1)
        # A gated vector is as long as its gate.
        gates: Tensor = batch.queries.float().norm(dim=-1)
        return (gates * batch.query_mask).sum(dim=1)
