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

import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from numcolbert.baselines.fitting import Fitted, fit, result_of, retrieval_loss
from numcolbert.baselines.ranker import Query, Run, require_indexed
from numcolbert.errors import ModelError
from numcolbert.progress import Progress
from numcolbert.train.batches import Batch
from numcolbert.train.maxsim import best_tokens
from numcolbert.train.model_setup import choose_device, packing
from numcolbert.train.packed import (
    PackedBackbone,
    PackedSettings,
    PackedTokens,
    compute_dtype,
    dense,
    norm,
    packed_tokens,
)
from numcolbert.train.padded import Rows, all_rows, document_groups, in_order, query_rows
from numcolbert.train.ranking import parts_by_length, tokenise
from numcolbert.train.step import StepResult
from numcolbert.train.text_reader import TextReader, TextSettings
from numcolbert.types import Document

if TYPE_CHECKING:
    from sentence_transformers import SparseEncoder

    from numcolbert.train.recipe import Recipe

QUERY_LENGTH, DOCUMENT_LENGTH = 64, 128
"""Tokens kept of a text."""
FIRST_BIAS = -5.0
"""Logits of unrelated words lie around 0 with a spread of 1: so at first only close words are active."""


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
        encoder = SparseEncoder(str(folder))
        masked_lm: Any = encoder[0].auto_model
        if not (hasattr(masked_lm, "bert") and hasattr(masked_lm, "cls")):  # as another kind of model
            raise ValueError("it has no BERT with a head over the vocabulary")
        return encoder
    except (OSError, ValueError, SafetensorError) as error:
        raise ModelError(
            f"'{folder}' is not a SPLADE model: {error}.", hint="train one: python -m numcolbert.baselines"
        ) from error


class PackedSplade(nn.Module):
    """The vectors of sentence-transformers' model, on packed tokens.

    No row of the vocabulary's size is kept for a token: the head's best token of a text is MaxSim's, with the
    vocabulary's embeddings as tokens of one query.
    """

    def __init__(self, model: SparseEncoder, settings: PackedSettings | None = None) -> None:
        super().__init__()
        masked_lm: Any = model[0].auto_model
        self.backbone = PackedBackbone(masked_lm.bert, settings)
        self.head = masked_lm.cls.predictions

    def states(self, tokens: PackedTokens) -> Tensor:
        """What the decoder reads, [tokens, hidden] in compute precision."""
        dtype, transform = self.backbone.dtype, self.head.transform
        hidden = self.backbone.hidden(tokens).to(dtype)
        inner = transform.transform_act_fn(dense(hidden, transform.dense.weight, transform.dense.bias))
        last = transform.LayerNorm
        return norm(inner, last.weight, last.bias, self.backbone.eps).to(dtype)

    def vectors(self, states: Tensor, texts: Rows) -> Tensor:
        """log(1 + relu(max over tokens of the logits)), [texts, vocabulary] in float32."""
        decoder = self.head.decoder
        words = decoder.weight[None].to(states.dtype)  # [1, vocabulary, hidden]
        best = best_tokens(words, texts.of(states), texts.mask)[0]  # [vocabulary, texts]
        highest: Tensor = best.T + decoder.bias
        return highest.relu().log1p()


class SpladeStep(nn.Module):
    """From a batch to SPLADE's loss."""

    strength: Tensor

    def __init__(self, packed: PackedSplade, settings: SpladeSettings) -> None:
        super().__init__()
        self.packed, self.settings = packed, settings
        # On the device, since a recorded step cannot see a number of Python's change.
        self.register_buffer("strength", torch.zeros((), device=packed.head.decoder.bias.device))

    def at(self, used: float) -> None:
        """Set the strength of the penalties after a share of the training."""
        ramp = self.settings.penalty_ramp
        self.strength.fill_(min(1.0, used / ramp) ** 2 if ramp else 1.0)

    def forward(self, batch: Batch, *, measured: bool = False) -> StepResult:  # noqa: ARG002
        states = self.packed.states(batch.tokens)
        query = self.packed.vectors(states, query_rows(batch))
        document = in_order([self.packed.vectors(states, rows) for rows in document_groups(batch)], batch)
        terms = {
            "retrieval": retrieval_loss(query @ document.T, batch.rivals()),
            "query_flops": self.strength * self.settings.query_penalty * flops(query),
            "document_flops": self.strength * self.settings.document_penalty * flops(document),
        }
        return result_of(terms)


def splade_text(model: SparseEncoder) -> TextSettings:
    tokenizer: Any = model.tokenizer
    most = int(model[0].auto_model.config.max_position_embeddings)  # type: ignore[union-attr, arg-type]
    return TextSettings(
        tokenizer=tokenizer.backend_tokenizer.to_str(),
        query_prompt="",
        document_prompt="",
        query_length=min(QUERY_LENGTH, most),
        document_length=min(DOCUMENT_LENGTH, most),
        special_ids=tuple(sorted(set(tokenizer.all_special_ids) - {tokenizer.unk_token_id})),
    )


def train_splade(
    recipe: Recipe, folder: Path, settings: SpladeSettings | None = None
) -> tuple[SparseEncoder, Fitted]:
    """Fine-tune on the recipe's triples and save a checkpoint that `SparseEncoder(folder)` opens."""
    torch.manual_seed(recipe.run.seed)
    device = choose_device(recipe.run.device)
    model = build_splade(recipe.model.backbone, recipe.model.dropout).to(device)
    step = SpladeStep(PackedSplade(model, packing(recipe, device)), settings or SpladeSettings())
    fitted = fit(step, splade_text(model), recipe, folder, before_step=step.at)
    model.save_pretrained(str(folder), create_model_card=False)
    return model, fitted


def flops(vectors: Tensor) -> Tensor:
    """SPLADE's penalty: the expected number of multiplications between two such vectors."""
    return vectors.mean(dim=0).square().sum()


class Splade:
    """Ranks a collection by the dot product of sparse vectors, exactly."""

    def __init__(self, model: SparseEncoder) -> None:
        self.model, self._device = model.eval(), model.device
        self._packed = PackedSplade(model, PackedSettings(compute_dtype(model.device)))
        self._reader = TextReader(splade_text(model))
        self._ids: list[str] = []
        self._documents: Tensor | None = None  # [documents, vocabulary], sparse CSR

    @property
    def active(self) -> float:
        """Mean number of non-zero entries a document."""
        return len(self._documents.values()) / len(self._ids) if self._documents is not None else 0.0

    def index(self, corpus: Iterable[Document]) -> None:
        documents = list(corpus)
        sequences = tokenise(self._reader, [document.text for document in documents])
        parts = parts_by_length(sequences)
        self._ids = [documents[row].id for part in parts for row in part]
        counts, columns, values = [], [], []
        with Progress("encode", len(documents), "documents") as progress:
            for part in parts:
                vectors = self._encode([sequences[row] for row in part])
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
            read = self._reader.queries([query.text for query in part])
            vectors = self._encode([tokens.ids for tokens in read])  # [queries, vocabulary]
            scores = (documents @ vectors.T).T  # type: ignore[operator]  # [queries, documents]
            best, rows = scores.topk(min(k, scores.shape[1]), dim=1)
            for query, values, found in zip(part, best.tolist(), rows.tolist(), strict=True):
                run[query.id] = {self._ids[row]: v for row, v in zip(found, values, strict=True) if v > 0}
        return run

    def _vocabulary(self) -> int:
        return int(self.model[0].auto_model.config.vocab_size)  # type: ignore[union-attr, arg-type]

    def _encode(self, sequences: Sequence[Sequence[int]]) -> Tensor:
        with torch.inference_mode():
            tokens = packed_tokens(sequences, self._device)
            return self._packed.vectors(self._packed.states(tokens), all_rows(tokens))
