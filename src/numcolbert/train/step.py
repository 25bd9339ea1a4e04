"""From a batch to its loss: encode, gate, compare, add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from numcolbert.train.batches import Batch
from numcolbert.train.labels import Conditions
from numcolbert.train.losses import BatchLabels, EncodedBatch, NumColBERTLoss
from numcolbert.train.maxsim import best_tokens
from numcolbert.train.packed import PackedEncoder
from numcolbert.train.padded import Rows, document_groups, document_rows, query_rows


@dataclass
class StepResult:
    loss: Tensor
    parts: dict[str, Tensor]
    """Detached scalars for the log; nothing here waits for the device."""


@dataclass(frozen=True)
class Teacher:
    """A model that is never trained, whose rankings a loss holds."""

    encoder: PackedEncoder
    gate: nn.Module | None = None

    def scores(self, batch: Batch, skipped: object = None, *, of_tokens: bool = False) -> Tensor:
        """Its MaxSim, [B, 2B], or the best match of every query token, [tokens, 2B]."""
        with torch.no_grad():
            hidden = self.encoder.hidden(batch.tokens)
            vectors = self.encoder.project(hidden)
            maxima = token_maxima(vectors.to(self.encoder.dtype), batch, skipped)
            if of_tokens:
                return maxima.maxima
            gates = None
            if self.gate is not None:
                _, gates = weigh_queries(self.gate, batch, hidden, vectors)
            return maxima.sums(gates)


class TrainingStep(nn.Module):
    """Encoder, gate and losses as one module, so that accelerate can wrap it."""

    def __init__(
        self,
        encoder: PackedEncoder,
        gate: nn.Module | None,
        loss: NumColBERTLoss,
        *,
        mask_known: bool = True,
        skipped_ids: Tensor | None = None,
        teacher: Teacher | None = None,
        start: Teacher | None = None,
    ) -> None:
        """Args:
        teacher: Whose rankings of general questions are kept.
        start: Whose rankings of questions with a condition are kept.
        """
        super().__init__()
        self.encoder, self.gate, self.loss = encoder, gate, loss
        self.mask_known = mask_known
        self.teacher, self.start = teacher, start  # no modules: neither trained nor saved
        self.register_buffer("skipped_ids", skipped_ids, persistent=False)

    def forward(self, batch: Batch, *, measured: bool = False) -> StepResult:
        encoded, labels, gates = self.encode(batch)
        losses = self.loss(encoded, labels)
        parts = dict(losses.parts)
        parts["loss"] = losses.total.detach()
        if measured and gates is not None and encoded.num_logit is not None:
            parts |= gate_measures(encoded, labels.quantity_mask, gates)
        return StepResult(losses.total, parts)

    def encode(self, batch: Batch) -> tuple[EncodedBatch, BatchLabels, Tensor | None]:
        hidden = self.encoder.hidden(batch.tokens)
        return self.compare(batch, hidden, self.encoder.project(hidden))

    def compare(
        self,
        batch: Batch,
        hidden: Tensor,  # [tokens, hidden]
        vectors: Tensor,  # [tokens, dim] float32
    ) -> tuple[EncodedBatch, BatchLabels, Tensor | None]:
        """From the encoder's output to what the losses need; the last is the gate of each query token."""
        query, document = query_rows(batch), document_rows(batch)
        ungated = query.of(vectors)  # [B, Tq, dim]
        documents = document.of(vectors)  # [2B, Td, dim]
        skipped = self.skipped_ids

        quantity_mask = quantity_tokens(batch)
        queries, logit, gates = ungated, None, None
        if self.gate is not None:
            logit, gates = weigh_queries(self.gate, batch, hidden, vectors)
            queries = ungated * gates.unsqueeze(-1)

        target = torch.arange(batch.queries, device=vectors.device)
        dtype = self.encoder.dtype
        maxima = token_maxima(vectors.to(dtype), batch, skipped)
        words = batch.word_mask & ~quantity_mask
        settings = self.loss.settings
        taught = self.teacher is not None and settings.keep_of == "tokens"
        held = self.start is not None and settings.keep_numbers_of == "tokens"
        encoded = EncodedBatch(
            queries=queries,
            ungated=ungated,
            query_mask=query.mask,
            word_mask=batch.word_mask,
            documents=documents.to(dtype),
            document_mask=_counted(document, batch, skipped),
            num_logit=logit,
            scores=maxima.sums(gates),
            token_scores=maxima.maxima if taught or held else None,
            token_query=maxima.query if taught or held else None,
            teacher_scores=self.teacher.scores(batch, skipped, of_tokens=taught) if self.teacher else None,
            start_scores=self.start.scores(batch, skipped, of_tokens=held) if self.start else None,
            word_scores=maxima.sums(words.float()) if settings.concept else None,
            mention_scores=maxima.of_mentions(batch.conditions) if settings.mention == "tokens" else None,
        )
        rivals = batch.rivals() if self.mask_known else None
        labels = BatchLabels(target, rivals, quantity_mask, batch.conditions, batch.quantities)
        return encoded, labels, gates


def weigh_queries(gate: Any, batch: Batch, hidden: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """The detector's logit and the gate of each query token, [B, Tq] both; 1 outside of quantities.

    Takes the stream of hidden states and that of vectors; which one the gate reads is its own affair.
    """
    query = query_rows(batch)
    inputs = query.of(hidden if gate.reads == "hidden" else vectors)
    logit, strength = gate.weigh(inputs, query.mask.sum(dim=1, keepdim=True))
    if gate.gate_on == "gold":
        gated = quantity_tokens(batch)
    else:
        gated = (torch.sigmoid(logit) > gate.threshold) & batch.word_mask
    return logit, torch.where(gated, strength, torch.ones_like(strength))


@dataclass(frozen=True)
class TokenMaxima:
    """The best match of every query token in every document, ready to be added up with any weights."""

    maxima: Tensor  # [tokens, 2B] float32, documents by length
    query: Tensor  # [tokens], the query of each token; `queries` where it belongs to none
    place: Tensor  # [tokens], its place there
    queries: int
    document_order: Tensor  # [2B]

    def sums(self, weights: Tensor | None = None) -> Tensor:
        """MaxSim of all queries with all documents, [B, 2B]; `weights` are [B, Tq], none for 1.

        They are positive factors, so they are applied after the maximum, in float32.
        """
        maxima = self.maxima
        if weights is not None:
            flat = (self.query * weights.shape[1] + self.place).clamp(max=weights.numel() - 1)
            maxima = maxima * weights.reshape(-1).index_select(0, flat).unsqueeze(1)
        return self._added(maxima, self.query, self.queries)

    def of_mentions(self, conditions: Conditions) -> Tensor:
        """MaxSim of the tokens of each quantity alone, [C, 2B]."""
        count, width = conditions.mention.shape
        own = torch.arange(count, device=self.query.device)[:, None]
        marked = torch.where(conditions.mention, own, count)  # [C, Tq], `count` for no condition
        owner = torch.full((self.queries + 1, width), count, device=self.query.device)
        rows = conditions.query[:, None].expand(-1, width)
        owner = owner.scatter_reduce(0, rows, marked, "amin")  # tokens after the last query have none
        token = self.query * width + self.place.clamp(max=width - 1)
        return self._added(self.maxima, owner.reshape(-1).index_select(0, token), count)

    def _added(self, maxima: Tensor, owner: Tensor, count: int) -> Tensor:
        """Rows of one owner added up, [count, 2B]; those of owner `count` are left out."""
        sums = torch.zeros(count + 1, maxima.shape[1], device=maxima.device)
        sums = sums.index_add(0, owner, maxima)[:-1]
        return sums.index_select(1, torch.argsort(self.document_order))


def token_maxima(vectors: Tensor, batch: Batch, skipped: object = None) -> TokenMaxima:
    """With little padding: query tokens as they lie in the stream, documents in groups of similar length."""
    starts, count, tokens = batch.tokens.layout.starts.long(), batch.queries, batch.form.query_tokens
    queries = vectors[:tokens].unsqueeze(0)  # [1, tokens, dim]
    best = [
        best_tokens(queries, group.of(vectors), _counted(group, batch, skipped)).squeeze(0)
        for group in document_groups(batch)
    ]
    maxima = torch.cat(best, dim=1)  # [tokens, 2B] in the order of length
    place = torch.arange(tokens, device=starts.device)
    # Tokens after the last query get the number of queries, and `sums` leaves them out.
    query = torch.bucketize(place, starts[1 : count + 1], right=True)
    return TokenMaxima(maxima, query, place - starts[query], count, batch.document_order)


def _counted(documents: Rows, batch: Batch, skipped: object) -> Tensor:
    """Which tokens of documents count: those of their own, without the skipped ones."""
    if not isinstance(skipped, Tensor):
        return documents.mask
    # Not torch.isin: what it does with short lists may ask the device for a value, and steps are recorded.
    left_out = (documents.of(batch.tokens.ids)[..., None] == skipped).any(dim=-1)
    return documents.mask & ~left_out


def quantity_tokens(batch: Batch) -> Tensor:
    """Words of any quantity mention, [B, Tq]."""
    marked = torch.zeros_like(batch.word_mask, dtype=torch.int32)
    marked.index_add_(0, batch.conditions.query, batch.conditions.mention.int())
    return (marked > 0) & batch.word_mask


def gate_measures(encoded: EncodedBatch, quantity_mask: Tensor, gates: Tensor) -> dict[str, Tensor]:
    """Mean gate on the tokens of quantities, and the detector's F1 over the words of the batch."""
    with torch.no_grad():
        logit = encoded.num_logit
        found = (logit > 0) & encoded.word_mask if logit is not None else quantity_mask
        hits = (found & quantity_mask).sum()
        return {
            "gate_mean": (gates * quantity_mask).sum() / quantity_mask.sum().clamp(min=1),
            "detector_f1": 2 * hits / (found.sum() + quantity_mask.sum()).clamp(min=1),
        }
