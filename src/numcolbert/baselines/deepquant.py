"""Training DeepQuant and ranking with it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from numcolbert.baselines.deepquant_model import (
    BACKBONE,
    HEADS,
    SETTINGS,
    TOKENIZER,
    DeepQuant,
    DeepQuantSettings,
    Numbers,
    NumberVectors,
    PackedDeepQuant,
)
from numcolbert.baselines.deepquant_text import NumberBatchMaker, NumberReader, deepquant_text, number_id
from numcolbert.baselines.fitting import Fitted, fit, result_of, retrieval_loss
from numcolbert.baselines.ranker import Query, Run, require_indexed
from numcolbert.errors import ModelError
from numcolbert.progress import Progress
from numcolbert.train.batches import Batch
from numcolbert.train.maxsim import maxsim
from numcolbert.train.model_setup import choose_device, packing
from numcolbert.train.packed import PackedSettings, compute_dtype, packed_tokens
from numcolbert.train.packing import Arrays
from numcolbert.train.padded import all_rows, query_rows
from numcolbert.train.step import StepResult, token_maxima
from numcolbert.train.text_reader import TextSettings
from numcolbert.types import Document

if TYPE_CHECKING:
    from numcolbert.train.recipe import Recipe

QUERIES_AT_ONCE = 256
"""Queries a search scores together: each visits all passages."""


class DeepQuantStep(nn.Module):
    """From a batch to DeepQuant's loss."""

    numbers: Tensor

    def __init__(self, packed: PackedDeepQuant, temperature: float) -> None:
        super().__init__()
        self.packed, self.temperature = packed, temperature
        device = next(packed.parameters()).device
        self.register_buffer("numbers", torch.tensor([packed.model.number_id], device=device))

    def forward(self, batch: Batch, *, measured: bool = False) -> StepResult:  # noqa: ARG002
        model, settings, size = self.packed.model, self.packed.model.settings, batch.queries
        starts = batch.tokens.layout.starts.long()
        asked = Numbers.of(batch.arrays, starts[:size], "query_")
        given = Numbers.of(batch.arrays, starts[size : 3 * size], "document_")
        hidden = self.packed.hidden(batch.tokens, asked, given)
        queries, documents = model.read(hidden, asked), model.read(hidden, given)
        words = self.packed.is_word(batch.tokens, query_rows(batch))
        vectors = model.words(hidden).to(self.packed.backbone.dtype)
        text = token_maxima(vectors, batch, skipped=self.numbers).sums(words.float())
        scores = model.score(text / words.sum(dim=1, keepdim=True).clamp(min=1), queries, documents)
        order = [
            model.order_loss(
                queries.asked,
                documents.given[side],
                (asked.value, asked.present),
                (given.value[side], given.present[side]),
            )
            for side in (slice(0, size), slice(size, None))  # the positives, the negatives
        ]
        number = model.number_loss(asked, queries) + model.number_loss(given, documents)
        return result_of(
            {
                "retrieval": retrieval_loss(scores / self.temperature, batch.rivals()),
                "number": settings.number_weight * number,
                "order": settings.order_weight * torch.stack(order).mean(),
            }
        )


@dataclass(frozen=True)
class Encoded:
    """Texts that are ranked."""

    words: Tensor  # [B, T, dim], unit length
    is_word: Tensor  # [B, T], no padding, no number
    numbers: NumberVectors


def build_deepquant(
    backbone: str, settings: DeepQuantSettings | None = None, dropout: float = 0.0
) -> tuple[DeepQuant, TextSettings]:
    from transformers import AutoModel, AutoTokenizer

    chosen = settings or DeepQuantSettings()
    tokenizer = AutoTokenizer.from_pretrained(backbone).backend_tokenizer.to_str()
    rates = {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    return _assembled(AutoModel.from_pretrained(backbone, **rates), tokenizer, chosen)


def _assembled(backbone: Any, tokenizer: str, settings: DeepQuantSettings) -> tuple[DeepQuant, TextSettings]:
    most = int(backbone.config.max_position_embeddings)
    text = deepquant_text(tokenizer, min(settings.query_length, most), min(settings.document_length, most))
    # Backbones may be kept in half precision; parameters are trained in float32.
    return DeepQuant(backbone.float(), settings, number_id(text)), text


def load_deepquant(folder: Path) -> tuple[DeepQuant, TextSettings]:
    from transformers import AutoModel

    try:
        settings = DeepQuantSettings(**json.loads((folder / SETTINGS).read_text(encoding="utf-8")))
        tokenizer = (folder / TOKENIZER).read_text(encoding="utf-8")
        backbone = AutoModel.from_pretrained(str(folder / BACKBONE))
        heads = load_file(folder / HEADS)
    except (OSError, ValueError, TypeError, SafetensorError) as error:
        raise ModelError(
            f"'{folder}' is not a DeepQuant model: {error}.", hint="train one: python -m numcolbert.baselines"
        ) from error
    model, text = _assembled(backbone, tokenizer, settings)
    model.load_state_dict(heads, strict=False)
    return model.eval(), text


def train_deepquant(
    recipe: Recipe, folder: Path, settings: DeepQuantSettings | None = None
) -> tuple[DeepQuant, TextSettings, Fitted]:
    """Train on the recipe's triples with its temperature, and save."""
    torch.manual_seed(recipe.run.seed)
    device = choose_device(recipe.run.device)
    model, text = build_deepquant(recipe.model.backbone, settings, recipe.model.dropout)
    model.to(device)
    packed = PackedDeepQuant(model, packing(recipe, device))
    step = DeepQuantStep(packed, recipe.loss.retrieval_temperature)
    fitted = fit(step, text, recipe, folder, kind=NumberBatchMaker)
    model.save(folder, text)
    return model, text, fitted


class DeepQuantRanker:
    """Scores every passage, exactly."""

    def __init__(self, model: DeepQuant, text: TextSettings, batch: int = 256) -> None:
        self.model, self.batch = model.eval(), batch
        self._device = next(model.parameters()).device
        self._packed = PackedDeepQuant(model, PackedSettings(compute_dtype(self._device)))
        self._reader = NumberReader(text)
        self._ids: list[str] = []
        self._groups: list[tuple[Tensor, Encoded]] = []

    def index(self, corpus: Iterable[Document]) -> None:
        documents = list(corpus)
        self._ids, self._groups = [document.id for document in documents], []
        order = sorted(range(len(documents)), key=lambda i: len(documents[i].text))
        with Progress("encode", len(documents), "documents") as progress:
            for start in range(0, len(order), self.batch):
                part = order[start : start + self.batch]
                encoded = self._encode(*self._reader.documents([documents[i].text for i in part]))
                rows = torch.tensor(part, device=self._device)
                self._groups.append((rows, encoded))
                progress.advance(len(part))

    def search(self, queries: Sequence[Query], k: int) -> Run:
        require_indexed(bool(self._groups), "DeepQuant")
        run: Run = {}
        with Progress("DeepQuant", len(queries), "queries") as progress:
            for start in range(0, len(queries), QUERIES_AT_ONCE):
                part = queries[start : start + QUERIES_AT_ONCE]
                encoded = self._encode(*self._reader.queries([query.text for query in part]))
                scores = torch.empty(len(part), len(self._ids), device=self._device)
                with torch.inference_mode():
                    for rows, passages in self._groups:
                        scores[:, rows] = self._score(encoded, passages)
                best, found = scores.topk(min(k, len(self._ids)), dim=1)
                for query, values, rows_ in zip(part, best.tolist(), found.tolist(), strict=True):
                    run[query.id] = {self._ids[row]: v for row, v in zip(rows_, values, strict=True)}
                progress.advance(len(part))
        return run

    def _encode(self, sequences: Sequence[Sequence[int]], arrays: Arrays) -> Encoded:
        with torch.inference_mode():
            tokens = packed_tokens(sequences, self._device)
            found = {name: torch.from_numpy(array).to(self._device) for name, array in arrays.items()}
            numbers = Numbers.of(found, tokens.layout.starts[:-1].long())
            texts, hidden = all_rows(tokens), self._packed.hidden(tokens, numbers)
            words = texts.of(self.model.words(hidden))
            return Encoded(words, self._packed.is_word(tokens, texts), self.model.read(hidden, numbers))

    def _score(self, queries: Encoded, passages: Encoded) -> Tensor:
        text = maxsim(queries.words, passages.words, queries.is_word, passages.is_word)
        count = queries.is_word.sum(dim=1, keepdim=True).clamp(min=1)
        return self.model.score(text / count, queries.numbers, passages.numbers)
