"""DeepQuant, re-implemented from its description: late interaction for words, another score for numbers.

Every value is one token that carries a number embedding (exponent and mantissa). A passage's score is
`alpha * text + (1 - alpha) * numeric`: mean MaxSim over words, and for pairs of query and passage numbers
three asymmetric products, one an operator, weighted by the operator distribution read from the query.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, mse_loss, normalize

from numcolbert.baselines.number_marks import EXPONENTS
from numcolbert.train.packed import PackedBackbone, PackedSettings, PackedTokens
from numcolbert.train.padded import Rows
from numcolbert.train.text_reader import TextSettings

OPERATORS = ("=", ">", "<")
HEADS, SETTINGS, TOKENIZER, BACKBONE = "heads.safetensors", "deepquant.json", "tokenizer.json", "backbone"
"""What a saved model consists of."""


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
class Numbers:
    """The numbers of some texts, M of each at most."""

    begin: Tensor  # [B] long, where each text begins in the stream of tokens
    place: Tensor  # [B, M] long, where its token stands in the text; 0 where there is none
    present: Tensor  # [B, M] bool
    value: Tensor  # [B, M] float64
    exponent: Tensor  # [B, M] long, class
    mantissa: Tensor  # [B, M] float32, 1..10

    @classmethod
    def of(cls, arrays: Mapping[str, Tensor], begin: Tensor, prefix: str = "") -> Numbers:
        """From what `number_arrays` made."""
        return cls(begin, *(arrays[f"{prefix}number_{f.name}"] for f in fields(cls)[1:]))

    @property
    def tokens(self) -> Tensor:
        """[B, M], where each lies in the stream."""
        return self.begin[:, None] + self.place


@dataclass(slots=True)
class NumberVectors:
    """What the model makes of the numbers of some texts."""

    present: Tensor  # [B, M]
    asked: Tensor  # [B, M, 3, number_dim], as a query's thresholds, one vector an operator
    given: Tensor  # [B, M, 3, number_dim], as a passage's values
    units: Tensor  # [B, M, number_dim]
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
    def __init__(self, backbone: Any, settings: DeepQuantSettings, number: int) -> None:
        """Args:
        number: The id of the token that stands for every number.
        """
        super().__init__()
        self.settings, self.number_id = settings, number
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

    def in_place(self, numbers: Numbers, tokens: int) -> Tensor:
        """The embeddings of numbers where their tokens lie in a stream, [tokens, hidden], zero elsewhere."""
        embedded: Tensor = self.number(numbers.exponent, numbers.mantissa, numbers.value < 0)
        embedded = (embedded * numbers.present[..., None]).flatten(0, 1)
        return embedded.new_zeros(tokens, embedded.shape[-1]).index_add(
            0, numbers.tokens.reshape(-1), embedded
        )

    def words(self, hidden: Tensor) -> Tensor:
        """Vectors of unit length, [..., dim]."""
        return normalize(self.word(hidden), dim=-1)

    def read(self, hidden: Tensor, numbers: Numbers) -> NumberVectors:
        """What the hidden states of a stream, [tokens, hidden], say of the numbers in it."""
        present, place = numbers.present, numbers.tokens.reshape(-1)
        at_number = hidden.index_select(0, place).view(*present.shape, -1)  # [B, M, hidden]
        # The unit follows its number; behind the last word stands [SEP], which then means "no unit".
        after = hidden.index_select(0, place + 1).view(*present.shape, -1)
        count = present.sum(dim=1, keepdim=True)
        mean_number = (at_number * present[..., None]).sum(dim=1) / count.clamp(min=1)
        shape = (*present.shape, len(OPERATORS), self.settings.number_dim)
        return NumberVectors(
            present=present,
            asked=normalize(self.asked(at_number).view(shape), dim=-1),
            given=normalize(self.given(at_number).view(shape), dim=-1),
            units=normalize(self.unit(after), dim=-1),
            operator=self.operator(mean_number).softmax(dim=-1),
            alpha=self.alpha(hidden.index_select(0, numbers.begin)).sigmoid().squeeze(-1),
            exponent=self.exponent(at_number),
            mantissa=self.mantissa(at_number).sigmoid().squeeze(-1),
        )

    def score(self, text: Tensor, queries: NumberVectors, passages: NumberVectors) -> Tensor:
        """`text` is the mean MaxSim over the words of a query; both are [queries, passages]."""
        alpha = torch.where(queries.present.any(dim=1), queries.alpha, 1.0)[:, None]
        return alpha * text + (1 - alpha) * self.numeric(queries, passages)

    def numeric(self, queries: NumberVectors, passages: NumberVectors) -> Tensor:
        """Over pairs of numbers, aligned by unit; -1 for passages without numbers. [queries, passages]"""
        weighted = queries.asked * queries.operator[:, None, :, None]  # [Q, M, 3, dim]
        # In float32 whatever the words are computed in: neighbouring numbers differ in the third digit.
        agreement = torch.einsum("qiod,pjod->qpij", weighted, passages.given)
        similar = torch.einsum("qid,pjd->qpij", queries.units, passages.units)
        similar = similar * self.settings.alignment_scale
        similar = similar.masked_fill(~passages.present[None, :, None, :], -1e4)
        aligned = (similar.softmax(dim=-1) * agreement).sum(dim=-1)  # [Q, P, M]
        present = passages.present.any(dim=1)[None, :, None]
        aligned = torch.where(present, aligned, -1.0) * queries.present[:, None, :]
        return aligned.sum(dim=-1) / queries.present.sum(dim=1).clamp(min=1)[:, None]

    def number_loss(self, numbers: Numbers, read: NumberVectors) -> Tensor:
        """Read each number back from its vector: cross-entropy of the exponent, MSE of the mantissa."""
        real = numbers.present
        exponent = cross_entropy(read.exponent.flatten(0, 1), numbers.exponent.flatten(), reduction="none")
        mantissa = mse_loss(read.mantissa, numbers.mantissa / 10, reduction="none")
        return ((exponent.view_as(mantissa) + mantissa) * real).sum() / real.sum().clamp(min=1)

    def order_loss(
        self, asked: Tensor, given: Tensor, queries: tuple[Tensor, Tensor], passages: tuple[Tensor, Tensor]
    ) -> Tensor:
        """Each operator's product says whether the relation holds between a query's and a passage's number.

        Passage b belongs to query b. `asked` and `given`: [B, M, 3, dim]; the rest: values and masks, [B, M].
        """
        agreement = torch.einsum("biod,bjod->bijo", asked, given)  # [B, M, M', 3]
        left, right = queries[0][:, :, None], passages[0][:, None, :]
        equal = (left - right).abs() <= 1e-6 * torch.maximum(left.abs(), right.abs())
        truth = torch.stack([equal, (right > left) & ~equal, (right < left) & ~equal], dim=-1)
        real = (queries[1][:, :, None] & passages[1][:, None, :])[..., None]
        loss = binary_cross_entropy_with_logits(
            agreement * self.settings.order_scale, truth.float(), reduction="none"
        )
        return (loss * real).sum() / (real.sum() * len(OPERATORS)).clamp(min=1)

    def save(self, folder: Path, text: TextSettings) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.backbone.save_pretrained(str(folder / BACKBONE))
        (folder / TOKENIZER).write_text(text.tokenizer, encoding="utf-8")
        rest = {k: v for k, v in self.state_dict().items() if not k.startswith("backbone.")}
        save_file({name: tensor.contiguous() for name, tensor in rest.items()}, folder / HEADS)
        (folder / SETTINGS).write_text(json.dumps(asdict(self.settings)), encoding="utf-8")


class PackedDeepQuant(nn.Module):
    """The model on packed tokens."""

    def __init__(self, model: DeepQuant, settings: PackedSettings | None = None) -> None:
        super().__init__()
        self.model, self.backbone = model, PackedBackbone(model.backbone, settings)

    def hidden(self, tokens: PackedTokens, *parts: Numbers) -> Tensor:
        """`parts` are the numbers of the stream's texts: [tokens, hidden] in float32."""
        added = [self.model.in_place(numbers, len(tokens.ids)) for numbers in parts]
        return self.backbone.hidden(tokens, torch.stack(added).sum(dim=0))

    def is_word(self, tokens: PackedTokens, texts: Rows) -> Tensor:
        """[texts, width]: no padding, no number."""
        return texts.mask & (texts.of(tokens.ids) != self.model.number_id)


def _two_layers(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, inputs), nn.GELU(), nn.Linear(inputs, outputs))
