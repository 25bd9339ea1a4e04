"""SPLADE_ft: learned sparse vectors over the vocabulary, from the same backbone and triples as NumColBERT.

The backbone has no masked-LM head, so one is built: tied to its word embeddings and begun at the identity.
The vector of a text then starts as its own words and their neighbours; training has only to improve on it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import SafetensorError
from tokenizers import Tokenizer
from torch import Tensor

from numcolbert.baselines.fitting import (
    Batch,
    Fitted,
    Losses,
    by_length,
    fit,
    in_order,
    length_groups,
    retrieval_loss,
)
from numcolbert.baselines.ranker import Query, Run, require_indexed
from numcolbert.data.triple import Triple
from numcolbert.errors import ModelError
from numcolbert.progress import Progress
from numcolbert.train.maxsim import best_tokens
from numcolbert.types import Document

if TYPE_CHECKING:
    from sentence_transformers import SparseEncoder

    from numcolbert.train.recipe import Recipe

FIRST_BIAS = -5.0
"""Logits of unrelated words lie around 0 with a spread of 1: so at first only close words are active."""
TOKENS_AT_ONCE = 1 << 15
"""Tokens of a collection encoded together."""


@dataclass(frozen=True)
class SpladeSettings:
    query_penalty: float = 5e-5
    document_penalty: float = 3e-5
    penalty_ramp: float = 0.33
    """Share of the training after which the penalties reach full strength, quadratically."""


def build_splade(backbone: str, dropout: float = 0.0) -> SparseEncoder:
    """A `SparseEncoder` on a BERT-like backbone without a masked-LM head."""
    from sentence_transformers import SparseEncoder
    from sentence_transformers.sparse_encoder.modules import SpladePooling, Transformer

    rates = {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    transformer = Transformer(backbone, transformer_task="fill-mask", config_kwargs=rates)
    head = getattr(getattr(transformer.auto_model, "cls", None), "predictions", None)
    if head is None:
        raise ModelError(
            f"'{backbone}' is not a BERT model.", hint="choose a backbone whose config says model_type bert"
        )
    with torch.no_grad():
        torch.nn.init.eye_(head.transform.dense.weight)
        head.transform.dense.bias.zero_()
        head.transform.LayerNorm.weight.fill_(1.0)
        head.transform.LayerNorm.bias.zero_()
        head.decoder.bias.fill_(FIRST_BIAS)
    # Backbones may be kept in half precision; parameters are trained in float32.
    return SparseEncoder(modules=[transformer.float(), SpladePooling("max")])


def load_splade(folder: Path) -> SparseEncoder:
    from sentence_transformers import SparseEncoder

    try:
        if not folder.is_dir():  # else its name would be looked up on the Hugging Face Hub
            raise FileNotFoundError("there is no such folder")
        return SparseEncoder(str(folder))
    except (OSError, ValueError, SafetensorError) as error:
        raise ModelError(
            f"'{folder}' is not a SPLADE model: {error}.", hint="train one: python -m numcolbert.baselines"
        ) from error


def sparse_vectors(model: Any, ids: Tensor, mask: Tensor) -> Tensor:
    """log(1 + relu(max over tokens of the logits)), [texts, vocabulary]; ids and mask are [texts, tokens].

    The same numbers as sentence-transformers', without keeping a row of the vocabulary's size for each token:
    the head's best token of a text is MaxSim's, with the vocabulary's embeddings as tokens of one query.
    """
    masked_lm = model[0].auto_model
    head = masked_lm.cls.predictions
    hidden = head.transform(masked_lm.bert(input_ids=ids, attention_mask=mask).last_hidden_state)
    best = best_tokens(head.decoder.weight[None], hidden, mask)[0]  # [vocabulary, texts]
    highest: Tensor = best.T + head.decoder.bias
    return highest.relu().log1p()


class SpladeText:
    """Triples to padded token ids."""

    def __init__(self, model: Any, query_length: int = 64, document_length: int = 128) -> None:
        self._tokenizer = model.tokenizer.backend_tokenizer.to_str()
        self._lengths = (query_length, document_length)
        self._ready: tuple[Tokenizer, Tokenizer] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ready": None}

    def __call__(self, triples: Sequence[Triple]) -> Batch:
        passages = [t.positive.text for t in triples] + [t.negative.text for t in triples]
        query, query_mask = self.padded([t.query for t in triples], query=True)
        document, document_mask = self.padded(passages)
        order, groups = by_length(document_mask)
        return {
            "query": query,
            "query_mask": query_mask,
            "document": document[order],
            "document_mask": document_mask[order],
            **groups,
        }

    def padded(self, texts: Sequence[str], *, query: bool = False) -> tuple[Tensor, Tensor]:
        if self._ready is None:
            first, second = (Tokenizer.from_str(self._tokenizer) for _ in self._lengths)
            for tokenizer, length in zip((first, second), self._lengths, strict=True):
                tokenizer.enable_truncation(length)
                tokenizer.enable_padding()
            self._ready = (first, second)
        encodings = self._ready[0 if query else 1].encode_batch(list(texts))
        ids = torch.tensor(np.array([e.ids for e in encodings]))
        return ids, torch.tensor(np.array([e.attention_mask for e in encodings]))


def train_splade(
    recipe: Recipe, folder: Path, settings: SpladeSettings | None = None
) -> tuple[SparseEncoder, Fitted]:
    """Fine-tune on the recipe's triples and save a checkpoint that `SparseEncoder(folder)` opens."""
    chosen = settings or SpladeSettings()
    model = build_splade(recipe.model.backbone, recipe.model.dropout)
    head: Any = model[0].auto_model.cls.predictions  # type: ignore[union-attr]

    def losses(batch: Batch, used: float) -> Losses:
        query = sparse_vectors(model, batch["query"], batch["query_mask"])
        ids, mask = batch["document"], batch["document_mask"]
        parts = [sparse_vectors(model, ids[r, :width], mask[r, :width]) for r, width in length_groups(batch)]
        document = in_order(parts, batch)
        strength = min(1.0, used / chosen.penalty_ramp) ** 2 if chosen.penalty_ramp else 1.0
        return {
            "retrieval": retrieval_loss(query @ document.T, batch["rivals"]),
            "query_flops": strength * chosen.query_penalty * flops(query),
            "document_flops": strength * chosen.document_penalty * flops(document),
        }

    # The decoder's weight is the word embedding, which belongs to the backbone.
    heads = [*head.transform.parameters(), head.decoder.bias]
    fitted = fit(model, heads, SpladeText(model), losses, recipe, folder)
    model.save_pretrained(str(folder), create_model_card=False)
    return model, fitted


def flops(vectors: Tensor) -> Tensor:
    """SPLADE's penalty: the expected number of multiplications between two such vectors."""
    return vectors.mean(dim=0).square().sum()


class Splade:
    """Ranks a collection by the dot product of sparse vectors, exactly."""

    def __init__(self, model: SparseEncoder) -> None:
        self.model = model.eval()
        self._text = SpladeText(model)
        self._ids: list[str] = []
        self._documents: Tensor | None = None  # [documents, vocabulary], sparse CSR

    @property
    def active(self) -> float:
        """Mean number of non-zero entries a document."""
        return len(self._documents.values()) / len(self._ids) if self._documents is not None else 0.0

    def index(self, corpus: Iterable[Document]) -> None:
        documents = sorted(corpus, key=lambda document: len(document.text))
        self._ids = [document.id for document in documents]
        counts, columns, values = [], [], []
        with Progress("encode", len(documents), "documents") as progress:
            for part in _parts(documents):
                vectors = self._encode([document.text for document in part])
                rows, active = vectors.nonzero(as_tuple=True)
                counts.append(torch.bincount(rows, minlength=len(part)))
                columns.append(active.int())
                values.append(vectors[rows, active])
                progress.advance(len(part))
        starts = torch.nn.functional.pad(torch.cat(counts).cumsum(0), (1, 0))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
            self._documents = torch.sparse_csr_tensor(
                starts,
                torch.cat(columns).long(),
                torch.cat(values),
                size=(len(documents), self._vocabulary()),
                check_invariants=False,
            )

    def search(self, queries: Sequence[Query], k: int) -> Run:
        require_indexed(self._documents is not None, "SPLADE")
        documents = self._documents
        run: Run = {}
        for start in range(0, len(queries), 32):
            part = queries[start : start + 32]
            vectors = self._encode([query.text for query in part], query=True)  # [queries, vocabulary]
            scores = (documents @ vectors.T).T  # type: ignore[operator]  # [queries, documents]
            best, rows = scores.topk(min(k, scores.shape[1]), dim=1)
            for query, values, found in zip(part, best.tolist(), rows.tolist(), strict=True):
                run[query.id] = {self._ids[row]: v for row, v in zip(found, values, strict=True) if v > 0}
        return run

    def _vocabulary(self) -> int:
        return int(self.model[0].auto_model.config.vocab_size)  # type: ignore[union-attr, arg-type]

    def _encode(self, texts: Sequence[str], *, query: bool = False) -> Tensor:
        ids, mask = self._text.padded(texts, query=query)
        device = self.model.device
        with (
            torch.inference_mode(),
            torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"),
        ):
            return sparse_vectors(self.model, ids.to(device), mask.to(device))


def _parts(documents: Sequence[Document]) -> list[Sequence[Document]]:
    """Cut documents, shortest first, where a padded batch would exceed the limit (3 characters a token)."""
    parts, start = [], 0
    for position, document in enumerate(documents):
        tokens = min(len(document.text) // 3 + 8, 128)
        if position > start and (position + 1 - start) * tokens > TOKENS_AT_ONCE:
            parts.append(documents[start:position])
            start = position
    return [*parts, documents[start:]]
