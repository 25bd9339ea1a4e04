"""DeepQuant, re-implemented from its description: late interaction for words, another score for numbers.

Every value is one token that carries a number embedding (exponent and mantissa). A passage's score is
`alpha * text + (1 - alpha) * numeric`: mean MaxSim over words, and for pairs of query and passage numbers
three asymmetric products, one an operator, weighted by the operator distribution read from the query.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, mse_loss, normalize

from numcolbert.baselines.deepquant_text import DeepQuantText, Marked
from numcolbert.baselines.fitting import Batch, Fitted, Losses, fit, in_order, length_groups, retrieval_loss
from numcolbert.baselines.number_marks import EXPONENTS
from numcolbert.baselines.ranker import Query, Run, require_indexed
from numcolbert.errors import ModelError
from numcolbert.progress import Progress
from numcolbert.train.maxsim import maxsim
from numcolbert.types import Document

if TYPE_CHECKING:
    from numcolbert.train.recipe import Recipe

OPERATORS = ("=", ">", "<")
HEADS = "heads.safetensors"
QUERIES_AT_ONCE = 256
"""Queries a search scores together: each visits all passages."""


@dataclass(frozen=True)
class DeepQuantSettings:
    dim: int = 128
    number_dim: int = 64
    bumps: int = 32
    """Gaussians over the mantissa, evenly spaced from 1 to 10."""
    alignment_scale: float = 10.0
    """Sharpness of the softmax that pairs numbers by their units."""
    number_weight: float = 0.1
    order_weight: float = 0.1
    order_scale: float = 10.0
    query_length: int = 64
    document_length: int = 128


@dataclass(slots=True)
class Encoded:
    """A batch of texts, encoded; M numbers at most."""

    words: Tensor  # [B, T, dim], unit length
    word_mask: Tensor  # [B, T], true for words: no padding, no number
    asked: Tensor  # [B, M, 3, number_dim], numbers as a query's thresholds, one vector an operator
    given: Tensor  # [B, M, 3, number_dim], numbers as a passage's values
    units: Tensor  # [B, M, number_dim]
    number_mask: Tensor  # [B, M]
    operator: Tensor  # [B, 3], distribution
    alpha: Tensor  # [B]
    exponent: Tensor  # [B, M, EXPONENTS], predicted
    mantissa: Tensor  # [B, M], predicted, in 0..1


class NumberEmbedding(nn.Module):
    """Exponent embedding plus Gaussian bumps over the mantissa, begun small to spare the backbone."""

    centres: Tensor

    def __init__(self, hidden: int, bumps: int) -> None:
        super().__init__()
        self.exponent = nn.Embedding(EXPONENTS, hidden)
        self.sign = nn.Embedding(2, hidden)
        self.mantissa = nn.Linear(bumps, hidden)
        centres = torch.linspace(1.0, 10.0, bumps)
        self.register_buffer("centres", centres, persistent=False)
        self.width = float(centres[1] - centres[0])
        nn.init.normal_(self.exponent.weight, std=0.02)
        nn.init.zeros_(self.sign.weight)

    def forward(self, exponent: Tensor, mantissa: Tensor, negative: Tensor) -> Tensor:
        """All [B, M]; returns [B, M, hidden]."""
        distance = (mantissa[..., None] - self.centres) / self.width  # [B, M, bumps]
        bumps = torch.exp(-0.5 * distance.square())
        embedded: Tensor = self.exponent(exponent) + self.mantissa(bumps) + self.sign(negative.long())
        return embedded


class DeepQuant(nn.Module):
    def __init__(self, backbone: Any, settings: DeepQuantSettings) -> None:
        super().__init__()
        self.settings = settings
        self.backbone = backbone
        hidden = int(backbone.config.hidden_size)
        self.word = nn.Linear(hidden, settings.dim, bias=False)
        self.number = NumberEmbedding(hidden, settings.bumps)
        self.asked = _two_layers(hidden, len(OPERATORS) * settings.number_dim)
        self.given = _two_layers(hidden, len(OPERATORS) * settings.number_dim)
        self.unit = nn.Linear(hidden, settings.number_dim)
        self.operator = _two_layers(hidden, len(OPERATORS))
        self.alpha = _two_layers(hidden, 1)
        self.exponent = nn.Linear(hidden, EXPONENTS)
        self.mantissa = nn.Linear(hidden, 1)

    def heads(self) -> list[nn.Parameter]:
        return [p for name, p in self.named_parameters() if not name.startswith("backbone.")]

    def encode(self, texts: Marked) -> Encoded:
        word_embeddings = self.backbone.get_input_embeddings()(texts.ids)  # [B, T, hidden]
        numbers = self.number(texts.exponent, texts.mantissa, texts.negative)
        numbers = numbers * texts.number_mask[..., None]
        place = texts.position[..., None].expand(-1, -1, word_embeddings.shape[-1])
        embedded = word_embeddings.scatter_add(1, place, numbers.to(word_embeddings.dtype))
        hidden = self.backbone(inputs_embeds=embedded, attention_mask=texts.mask).last_hidden_state
        at_number = hidden.gather(1, place)  # [B, M, hidden]
        # The unit follows its number; behind the last word stands [SEP], which then means "no unit".
        after = (place + 1).clamp(max=hidden.shape[1] - 1)
        count = texts.number_mask.sum(dim=1, keepdim=True)
        mean_number = (at_number * texts.number_mask[..., None]).sum(dim=1) / count.clamp(min=1)
        shape = (*texts.position.shape, len(OPERATORS), self.settings.number_dim)
        return Encoded(
            words=normalize(self.word(hidden).float(), dim=-1),
            word_mask=texts.mask.bool() & ~texts.is_number,
            asked=normalize(self.asked(at_number).float().view(shape), dim=-1),
            given=normalize(self.given(at_number).float().view(shape), dim=-1),
            units=normalize(self.unit(hidden.gather(1, after)).float(), dim=-1),
            number_mask=texts.number_mask,
            operator=self.operator(mean_number).float().softmax(dim=-1),
            alpha=self.alpha(hidden[:, 0]).float().sigmoid().squeeze(-1),
            exponent=self.exponent(at_number).float(),
            mantissa=self.mantissa(at_number).float().sigmoid().squeeze(-1),
        )

    def score(self, queries: Encoded, passages: Encoded) -> Tensor:
        """[queries, passages]"""
        words = queries.word_mask.sum(dim=1).clamp(min=1)[:, None]
        text = maxsim(queries.words, passages.words, queries.word_mask, passages.word_mask) / words
        numeric = self.numeric(queries, passages)
        has_number = queries.number_mask.any(dim=1)
        alpha = torch.where(has_number, queries.alpha, 1.0)[:, None]
        return alpha * text + (1 - alpha) * numeric

    def numeric(self, queries: Encoded, passages: Encoded) -> Tensor:
        """Over pairs of numbers, aligned by unit; -1 for passages without numbers. [queries, passages]"""
        weighted = queries.asked * queries.operator[:, None, :, None]  # [Q, M, 3, dim]
        # In float32 whatever the words are computed in: neighbouring numbers differ in the third digit.
        with torch.autocast(weighted.device.type, enabled=False):
            agreement = torch.einsum("qiod,pjod->qpij", weighted, passages.given)
            similar = torch.einsum("qid,pjd->qpij", queries.units, passages.units)
        similar = similar * self.settings.alignment_scale
        similar = similar.masked_fill(~passages.number_mask[None, :, None, :], -1e4)
        aligned = (similar.softmax(dim=-1) * agreement).sum(dim=-1)  # [Q, P, M]
        present = passages.number_mask.any(dim=1)[None, :, None]
        aligned = torch.where(present, aligned, -1.0) * queries.number_mask[:, None, :]
        return aligned.sum(dim=-1) / queries.number_mask.sum(dim=1).clamp(min=1)[:, None]

    def number_loss(self, texts: Marked, predicted_exponent: Tensor, predicted_mantissa: Tensor) -> Tensor:
        """Read each number back from its vector: cross-entropy of the exponent, MSE of the mantissa."""
        real = texts.number_mask
        exponent = cross_entropy(predicted_exponent.flatten(0, 1), texts.exponent.flatten(), reduction="none")
        mantissa = mse_loss(predicted_mantissa, texts.mantissa / 10, reduction="none")
        return ((exponent.view_as(mantissa) + mantissa) * real).sum() / real.sum().clamp(min=1)

    def order_loss(
        self, asked: Tensor, given: Tensor, queries: tuple[Tensor, Tensor], passages: tuple[Tensor, Tensor]
    ) -> Tensor:
        """Each operator's product says whether the relation holds between a query's and a passage's number.

        Passage b belongs to query b. `asked` and `given`: [B, M, 3, dim]; the rest: values and masks, [B, M].
        """
        with torch.autocast(asked.device.type, enabled=False):
            agreement = torch.einsum("biod,bjod->bijo", asked, given)  # [B, M, M', 3]
        left, right = queries[0][:, :, None], passages[0][:, None, :]
        equal = (left - right).abs() <= 1e-6 * torch.maximum(left.abs(), right.abs())
        truth = torch.stack([equal, (right > left) & ~equal, (right < left) & ~equal], dim=-1)
        real = (queries[1][:, :, None] & passages[1][:, None, :])[..., None]
        loss = binary_cross_entropy_with_logits(
            agreement * self.settings.order_scale, truth.float(), reduction="none"
        )
        return (loss * real).sum() / (real.sum() * len(OPERATORS)).clamp(min=1)

    def save(self, folder: Path, text: DeepQuantText) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.backbone.save_pretrained(str(folder / "backbone"))
        (folder / "tokenizer.json").write_text(text.tokenizer, encoding="utf-8")
        rest = {k: v for k, v in self.state_dict().items() if not k.startswith("backbone.")}
        save_file({name: tensor.contiguous() for name, tensor in rest.items()}, folder / HEADS)
        (folder / "deepquant.json").write_text(json.dumps(asdict(self.settings)), encoding="utf-8")


def build_deepquant(
    backbone: str, settings: DeepQuantSettings | None = None, dropout: float = 0.0
) -> tuple[DeepQuant, DeepQuantText]:
    from transformers import AutoModel, AutoTokenizer

    chosen = settings or DeepQuantSettings()
    tokenizer = AutoTokenizer.from_pretrained(backbone)
    rates = {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    # Backbones may be kept in half precision; parameters are trained in float32.
    model = DeepQuant(AutoModel.from_pretrained(backbone, **rates).float(), chosen)
    text = DeepQuantText.of(tokenizer.backend_tokenizer.to_str(), chosen.query_length, chosen.document_length)
    return model, text


def load_deepquant(folder: Path) -> tuple[DeepQuant, DeepQuantText]:
    from transformers import AutoModel

    try:
        settings = DeepQuantSettings(**json.loads((folder / "deepquant.json").read_text(encoding="utf-8")))
        model = DeepQuant(AutoModel.from_pretrained(str(folder / "backbone")).float(), settings)
        heads = load_file(folder / HEADS)
        text = (folder / "tokenizer.json").read_text(encoding="utf-8")
    except (OSError, ValueError, TypeError, SafetensorError) as error:
        raise ModelError(
            f"'{folder}' is not a DeepQuant model: {error}.", hint="train one: python -m numcolbert.baselines"
        ) from error
    model.load_state_dict(heads, strict=False)
    return model.eval(), DeepQuantText.of(text, settings.query_length, settings.document_length)


def train_deepquant(
    recipe: Recipe, folder: Path, settings: DeepQuantSettings | None = None
) -> tuple[DeepQuant, DeepQuantText, Fitted]:
    """Train on the recipe's triples with its temperature, and save."""
    model, text = build_deepquant(recipe.model.backbone, settings, recipe.model.dropout)
    chosen, temperature = model.settings, recipe.loss.retrieval_temperature

    def losses(batch: Batch, used: float) -> Losses:  # noqa: ARG001
        asked, given = Marked.of(batch, "query_"), Marked.of(batch, "document_")
        queries = model.encode(asked)
        parts = [model.encode(given.rows(rows, width)) for rows, width in length_groups(batch)]
        scores = in_order([model.score(queries, part) for part in parts], batch, dim=1)
        number = model.number_loss(asked, queries.exponent, queries.mantissa) + model.number_loss(
            given, torch.cat([p.exponent for p in parts]), torch.cat([p.mantissa for p in parts])
        )
        size = len(asked.ids)
        numbers, values, masks = (
            in_order(tensors, batch)
            for tensors in ([p.given for p in parts], [given.value], [given.number_mask])
        )
        order = [
            model.order_loss(
                queries.asked, numbers[half], (asked.value, asked.number_mask), (values[half], masks[half])
            )
            for half in (slice(0, size), slice(size, None))  # the positives, the negatives
        ]
        return {
            "retrieval": retrieval_loss(scores / temperature, batch["rivals"]),
            "number": chosen.number_weight * number,
            "order": chosen.order_weight * torch.stack(order).mean(),
        }

    fitted = fit(model, model.heads(), text, losses, recipe, folder)
    model.save(folder, text)
    return model, text, fitted


class DeepQuantRanker:
    """Scores every passage, exactly."""

    def __init__(self, model: DeepQuant, text: DeepQuantText, batch: int = 256) -> None:
        self.model, self.text, self.batch = model.eval(), text, batch
        self._ids: list[str] = []
        self._groups: list[tuple[Tensor, Encoded]] = []

    def index(self, corpus: Iterable[Document]) -> None:
        documents = list(corpus)
        self._ids, self._groups = [document.id for document in documents], []
        order = sorted(range(len(documents)), key=lambda i: len(documents[i].text))
        with Progress("encode", len(documents), "documents") as progress:
            for start in range(0, len(order), self.batch):
                part = order[start : start + self.batch]
                encoded = self._encode([documents[i].text for i in part])
                rows = torch.tensor(part, device=encoded.words.device)
                self._groups.append((rows, encoded))
                progress.advance(len(part))

    def search(self, queries: Sequence[Query], k: int) -> Run:
        require_indexed(bool(self._groups), "DeepQuant")
        run: Run = {}
        with Progress("DeepQuant", len(queries), "queries") as progress:
            for start in range(0, len(queries), QUERIES_AT_ONCE):
                part = queries[start : start + QUERIES_AT_ONCE]
                encoded = self._encode([query.text for query in part], query=True)
                scores = torch.empty(len(part), len(self._ids), device=encoded.words.device)
                with torch.inference_mode():
                    for rows, passages in self._groups:
                        scores[:, rows] = self.model.score(encoded, passages)
                best, found = scores.topk(min(k, len(self._ids)), dim=1)
                for query, values, rows_ in zip(part, best.tolist(), found.tolist(), strict=True):
                    run[query.id] = {self._ids[row]: v for row, v in zip(rows_, values, strict=True)}
                progress.advance(len(part))
        return run

    def _encode(self, texts: Sequence[str], *, query: bool = False) -> Encoded:
        device = next(self.model.parameters()).device
        marked = self.text.read(texts, query=query).to(device)
        with (
            torch.inference_mode(),
            torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"),
        ):
            return self.model.encode(marked)


def _two_layers(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, inputs), nn.GELU(), nn.Linear(inputs, outputs))
