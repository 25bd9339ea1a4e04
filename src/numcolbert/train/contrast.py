"""The losses that tell documents apart by one side of a query: its number, or its words.

Shapes: B queries, D documents of at most Td tokens, C conditions (a query may have none), vectors of `dim`.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from numcolbert.train.labels import (
    Conditions,
    DocumentQuantities,
    Strategy,
    about_the_same,
    comparable,
    contrastive_positives,
    satisfying,
)
from numcolbert.train.maxsim import maxsim

MultiPositive = Literal["mean_log", "log_sum", "each_log"]


def mention_vectors(ungated: Tensor, conditions: Conditions) -> Tensor:
    """`q_num`: the mean of the ungated query vectors of each quantity mention, [C, dim].

    | input | shape | |
    |---|---|---|
    | `ungated` | [B, Tq, dim] | normalised query vectors before the gate |
    | `conditions` | C rows | `mention` marks the tokens |
    """
    weight = conditions.mention.to(ungated.dtype)  # [C, Tq]
    total = (ungated[conditions.query] * weight.unsqueeze(-1)).sum(dim=1)
    return total / weight.sum(dim=1, keepdim=True).clamp(min=1)


def mention_scores(mentions: Tensor, documents: Tensor, document_mask: Tensor) -> Tensor:
    """`S(c, D) = max_j q_num . d_j`, [C, D].

    | input | shape | |
    |---|---|---|
    | `mentions` | [C, dim] | from `mention_vectors` |
    | `documents` | [D, Td, dim] | unit vectors |
    | `document_mask` | [D, Td] | |
    """
    one_token = torch.ones(len(mentions), 1, dtype=torch.bool, device=mentions.device)
    return maxsim(mentions.unsqueeze(1), documents, one_token, document_mask)


def contrastive_loss(
    scores: Tensor,
    conditions: Conditions,
    quantities: DocumentQuantities,
    *,
    strategy: Strategy = "unit",
    unit_match: Literal["unit", "dimension"] = "unit",
    contrast: Literal["all", "comparable"] = "all",
    multi_positive: MultiPositive = "mean_log",
    temperature: float = 0.02,
) -> Tensor:
    """Multi-positive InfoNCE over `S(c, D)`, mean over conditions that have a positive.

    The softmax runs over all documents, or over the comparable ones: see `LossSettings.contrast`.

    `mean_log`:  -mean over positives of log softmax(S / temperature): positives come to score alike
    `log_sum`:   -log of the summed softmax of the positives: one that scores high is enough
    `each_log`:  the first with each positive alone among the rivals: all above them, alike or not

    | input | shape | |
    |---|---|---|
    | `scores` | [C, D] | from `mention_scores`, or of its tokens: see `LossSettings.mention` |
    | `conditions`, `quantities` | C rows, [D, M] | decide the positives, see `contrastive_positives` |

    "separate" averages the loss of the unit set and of the numeric set; "none" gives 0.
    """
    sets = contrastive_positives(conditions, quantities, strategy, unit_match)
    if not sets or not len(conditions):
        return scores.sum() * 0.0
    rivals = comparable(conditions, quantities) if contrast == "comparable" else None
    losses = [
        _multi_positive_loss(scores / temperature, positives, rivals, multi_positive) for positives in sets
    ]
    return torch.stack(losses).mean()


def _multi_positive_loss(
    logits: Tensor, positives: Tensor, rivals: Tensor | None, reading: MultiPositive
) -> Tensor:
    """`rivals` are the documents beside the positives that enter the softmax; None for all."""
    told = positives.any(dim=1)
    if rivals is not None:
        told = told & (rivals & ~positives).any(dim=1)  # with no rival there is nothing to learn
        # Rows that do not count keep finite numbers, so that their gradient is 0 and not NaN.
        logits = logits.masked_fill(~(positives | rivals) & told[:, None], float("-inf"))
    if reading == "each_log":
        gain = _each_among_rivals(logits, positives)
    elif reading == "mean_log":
        gain = _mean_over(positives, F.log_softmax(logits, dim=1))
    else:
        log_share = F.log_softmax(logits, dim=1)
        gain = torch.logsumexp(log_share.masked_fill(~positives & told[:, None], float("-inf")), dim=1)
    counted = told.to(gain.dtype)
    return -(gain * counted).sum() / counted.sum().clamp(min=1)


def _mean_over(positives: Tensor, values: Tensor) -> Tensor:
    return values.masked_fill(~positives, 0.0).sum(dim=1) / positives.sum(dim=1).clamp(min=1)


def _each_among_rivals(logits: Tensor, positives: Tensor) -> Tensor:
    """log(e^s / (e^s + the rivals' sum)), mean over positives; 0 without rivals. Left out: -inf."""
    has_rivals = (~positives & logits.isfinite()).any(dim=1)
    # A row of nothing but -inf would have no gradient but NaN.
    others = logits.masked_fill(positives & has_rivals[:, None], float("-inf")).logsumexp(dim=1, keepdim=True)
    above = -F.softplus(others - logits.masked_fill(~positives, 0.0))
    return _mean_over(positives, above) * has_rivals


def bound_loss(
    scores: Tensor,
    target: Tensor,
    conditions: Conditions,
    quantities: DocumentQuantities,
    *,
    multi_positive: MultiPositive = "mean_log",
    temperature: float = 0.02,
) -> Tensor:
    """A quantity finds what it is asked of: InfoNCE over the same scores as `contrastive_loss`, in which the
    right number of another concept is as wrong as a wrong number of this one.

    Positives are the documents that satisfy the condition on its own concept, and the query's own positive;
    all others of the batch are rivals. A gate that amplifies such a number amplifies its concept too.

    | input | shape | |
    |---|---|---|
    | `scores` | [C, D] | as for `contrastive_loss` |
    | `target` | [B] | column of each query's own positive |
    | `conditions`, `quantities` | C rows, [D, M] | decide which documents are right |
    """
    if not len(conditions):
        return scores.sum() * 0.0
    positives = satisfying(conditions, quantities)
    positives = positives.scatter(1, target[conditions.query][:, None], True) & conditions.real[:, None]
    return _multi_positive_loss(scores / temperature, positives, None, multi_positive)


def concept_loss(
    word_scores: Tensor,
    words: Tensor,
    target: Tensor,
    conditions: Conditions,
    quantities: DocumentQuantities,
    *,
    multi_positive: MultiPositive = "mean_log",
    temperature: float = 0.02,
) -> Tensor:
    """The words of a query find its concept, whatever the number: InfoNCE over the mean MaxSim of its words.

    Positives are the query's own positive and all documents about its concept and dimension (about both, if
    it has two conditions), also those whose number violates the condition. The other half of
    `contrastive_loss`, in which the number alone decides.

    | input | shape | |
    |---|---|---|
    | `word_scores` | [B, D] | sum of the best matches of the words outside of quantities, ungated |
    | `words` | [B] | how many they are |
    | `target` | [B] | column of each query's own positive |
    | `conditions`, `quantities` | C rows, [D, M] | decide which documents are about the same |
    """
    positives = about_the_same(conditions, quantities, len(word_scores))
    positives = positives.scatter(1, target[:, None], True)
    logits = word_scores.float() / words.clamp(min=1)[:, None] / temperature
    return _multi_positive_loss(logits, positives, None, multi_positive)
