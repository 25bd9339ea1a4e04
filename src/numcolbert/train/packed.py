"""The encoder on packed tokens: no padding, the very same parameters.

All sequences of a batch lie end to end in one stream of tokens, so that every matrix product works on real
tokens only. The modules of the sentence-transformers model keep their parameters; here only the order of
computing differs (a test holds both to the same vectors).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from numcolbert.errors import ModelError
from numcolbert.train.attention import Attention, choose_attention
from numcolbert.train.kernel_check import difference, nearly_equal
from numcolbert.train.layout import Layout, make_layout
from numcolbert.train.packing import flat_ids

if TYPE_CHECKING:
    from sentence_transformers import MultiVectorEncoder

log = logging.getLogger(__name__)

LayerParameters = tuple[Tensor, ...]


@dataclass(frozen=True)
class PackedTokens:
    ids: Tensor  # [tokens] int32
    positions: Tensor  # [tokens] int32, each sequence counts from 0
    layout: Layout


@dataclass(frozen=True)
class PackedSettings:
    """How a packed encoder computes; nothing here changes what it computes."""

    dtype: torch.dtype = torch.float32
    attention: Literal["auto", "short", "varlen", "bucketed"] = "auto"
    compile_layers: bool = False
    dropout: float = 0.0
    """While it trains."""


Precision = Literal["auto", "bf16", "fp32"]
"""What products are computed in. `auto` is half precision on a GPU only: many processors have no instructions
for it and would be slower. Two cores with AVX512-BF16 took 5.1 s a step in half precision, 8.8 s in full."""


def compute_dtype(device: torch.device, precision: Precision = "auto") -> torch.dtype:
    if precision == "auto":
        precision = "bf16" if device.type == "cuda" else "fp32"
    return torch.bfloat16 if precision == "bf16" else torch.float32


def packed_tokens(sequences: Sequence[Sequence[int]], device: torch.device) -> PackedTokens:
    """Texts without padding or filling, as they are ranked."""
    lengths = np.array([len(s) for s in sequences], np.int64)
    places = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return PackedTokens(
        torch.from_numpy(flat_ids(sequences)).to(device),
        torch.from_numpy(places.astype(np.int32)).to(device),
        make_layout(lengths, device=device),
    )


def dense(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """A linear layer in the precision of `x`; the parameters stay in theirs (float32 masters)."""
    return F.linear(x, weight.to(x.dtype), None if bias is None else bias.to(x.dtype))


def norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    return F.layer_norm(x.float(), (x.shape[-1],), weight, bias, eps)


def finish_layer(
    x: Tensor,  # [tokens, hidden] float32, what entered the layer
    context: Tensor,  # [tokens, hidden] in compute precision, what attention gave
    parameters: LayerParameters,
    eps: float,
    dropout: float,
) -> Tensor:
    """Everything after attention; all of it works on single tokens, so it compiles into few kernels."""
    out_w, out_b, norm1_w, norm1_b, up_w, up_b, down_w, down_b, norm2_w, norm2_b = parameters
    dtype = context.dtype
    attended = F.dropout(dense(context, out_w, out_b), dropout, dropout > 0)
    x = norm(attended.float() + x, norm1_w, norm1_b, eps)
    inner = F.gelu(dense(x.to(dtype), up_w, up_b))
    fed = F.dropout(dense(inner, down_w, down_b), dropout, dropout > 0)
    return norm(fed.float() + x, norm2_w, norm2_b, eps)


@dataclass(frozen=True)
class _Layer:
    qkv: tuple[nn.Linear, nn.Linear, nn.Linear]
    rest: tuple[nn.Module, ...]
    """Attention output, its norm, feed-forward up, down, its norm."""

    def parameters(self) -> LayerParameters:
        return tuple(p for module in self.rest for p in (module.weight, module.bias))  # type: ignore[misc]


def _bert_layer(layer: Any) -> _Layer:
    own, out = layer.attention.self, layer.attention.output
    return _Layer(
        (own.query, own.key, own.value),
        (out.dense, out.LayerNorm, layer.intermediate.dense, layer.output.dense, layer.output.LayerNorm),
    )


def _mpnet_layer(layer: Any) -> _Layer:
    attention = layer.attention
    return _Layer(
        (attention.attn.q, attention.attn.k, attention.attn.v),
        (
            attention.attn.o,
            attention.LayerNorm,
            layer.intermediate.dense,
            layer.output.dense,
            layer.output.LayerNorm,
        ),
    )


class PackedBackbone(nn.Module):
    """Token ids to hidden states, of a BERT or MPNet."""

    def __init__(self, backbone: Any, settings: PackedSettings | None = None) -> None:
        super().__init__()
        _check_kind(backbone)
        settings = settings or PackedSettings()
        config, dtype = backbone.config, settings.dtype
        self.backbone = backbone
        self.dtype = dtype
        self.dropout = settings.dropout
        self.eps = float(config.layer_norm_eps)
        self.heads = int(config.num_attention_heads)
        self.is_mpnet = config.model_type == "mpnet"
        cut = _mpnet_layer if self.is_mpnet else _bert_layer
        self.layers = [cut(layer) for layer in backbone.encoder.layer]
        device = next(backbone.parameters()).device
        self.attention: Attention = choose_attention(
            settings.attention,
            device=device,
            dtype=dtype,
            heads=self.heads,
            head_dim=int(config.hidden_size) // self.heads,
            biased=self.is_mpnet,
        )
        self._finish: Callable[..., Tensor] = finish_layer
        if settings.compile_layers:
            self._finish = compiled_or_plain(
                finish_layer, device, self.layers[0].parameters(), self.eps, dtype
            )

    @property
    def compiled(self) -> bool:
        return self._finish is not finish_layer

    def hidden(self, tokens: PackedTokens, added: Tensor | None = None) -> Tensor:
        """The backbone's last hidden states, [tokens, hidden] float32.

        `added`, of the same shape, is added to the embeddings of the words.
        """
        x = self._embed(tokens, added)
        bias = self._relative_bias(tokens.layout.widest) if self.is_mpnet else None
        prepared = self.attention.prepare(tokens.layout, bias, self.dtype)
        count, width = x.shape
        finish = self._finish if torch.is_grad_enabled() else finish_layer
        dropout = self.dropout if self.training else 0.0
        for layer in self.layers:
            weight = torch.cat([part.weight for part in layer.qkv])
            offset = torch.cat([part.bias for part in layer.qkv])
            qkv = dense(x.to(self.dtype), weight, offset).view(count, 3, self.heads, width // self.heads)
            context = self.attention(qkv, prepared).reshape(count, width)
            if finish is not finish_layer:
                _any_length(x, context)
            x = finish(x, context, layer.parameters(), self.eps, dropout)
        return x

    def _embed(self, tokens: PackedTokens, added: Tensor | None) -> Tensor:
        embeddings: Any = self.backbone.embeddings
        # MPNet, like RoBERTa, counts positions from the padding index on.
        first = int(embeddings.padding_idx) + 1 if self.is_mpnet else 0
        x = embeddings.word_embeddings(tokens.ids) + embeddings.position_embeddings(tokens.positions + first)
        if not self.is_mpnet:
            x = x + embeddings.token_type_embeddings.weight[0]
        if added is not None:
            x = x + added
        x = norm(x, embeddings.LayerNorm.weight, embeddings.LayerNorm.bias, self.eps)
        return F.dropout(x, self.dropout, self.training and self.dropout > 0)

    def _relative_bias(self, width: int) -> Tensor:
        """MPNet's bias by distance, [heads, width, width]; shorter sequences use its corner."""
        encoder: Any = self.backbone.encoder
        distance = torch.arange(1 - width, width, device=encoder.relative_attention_bias.weight.device)
        buckets = encoder.relative_position_bucket(
            distance, num_buckets=self.backbone.config.relative_attention_num_buckets
        )
        by_distance: Tensor = encoder.relative_attention_bias(buckets).T  # [heads, 2 * width - 1]
        # Row i begins with distance -i: windows that move on by one, the last of them first.
        return by_distance.unfold(1, width, 1).flip(1)


class PackedEncoder(PackedBackbone):
    """Token ids to L2-normalised vectors, for queries and documents alike (the gate comes after)."""

    def __init__(self, model: MultiVectorEncoder, settings: PackedSettings | None = None) -> None:
        backbone, projections = _parts(model)
        super().__init__(backbone, settings)
        self.projections = nn.ModuleList(projections)

    @property
    def dim(self) -> int:
        last: Any = self.projections[-1] if len(self.projections) else None
        return int(self.backbone.config.hidden_size if last is None else last.out_features)

    def forward(self, tokens: PackedTokens) -> Tensor:
        return self.project(self.hidden(tokens))

    def project(self, hidden: Tensor) -> Tensor:
        """Hidden states to unit vectors, [tokens, dim] float32."""
        x = hidden
        for projection in self.projections:
            linear = projection.linear
            x = projection.activation_function(dense(x.to(self.dtype), linear.weight, linear.bias))  # type: ignore[operator,arg-type,union-attr]
        return F.normalize(x.float(), dim=-1)


def _check_kind(backbone: Any) -> None:
    kind = backbone.config.model_type
    if kind not in ("bert", "mpnet"):
        raise ModelError(
            f"The fast trainer knows the backbones 'bert' and 'mpnet', not '{kind}'.",
            hint="choose such a backbone, or train with sentence-transformers' MultiVectorEncoderTrainer",
        )
    if kind == "bert" and getattr(backbone.config, "hidden_act", "gelu") != "gelu":
        raise ModelError(
            f"The backbone's activation is '{backbone.config.hidden_act}'.",
            hint="choose a backbone with gelu",
        )


def _parts(model: MultiVectorEncoder) -> tuple[Any, list[nn.Module]]:
    """The backbone and the dense layers between it and the normalisation."""
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.base.modules.dense import Dense

    modules = list(model)
    if not modules or not isinstance(modules[0], Transformer):
        raise ModelError(
            "The model does not begin with a transformer.", hint="build it with numcolbert.model.checkpoint"
        )
    backbone = modules[0].auto_model
    if getattr(modules[0], "query_expansion", None) is not None:
        raise ModelError(
            "The model pads its queries with [MASK] (query_expansion).",
            hint="the fast trainer needs models without query expansion; set it to None",
        )
    return backbone, [module for module in modules if isinstance(module, Dense)]


def _any_length(*streams: Tensor) -> None:
    """Have the compiler make one program for every number of tokens: compiling takes longer than steps."""
    for stream in streams:
        torch._dynamo.maybe_mark_dynamic(stream, 0)


def compiled_or_plain(
    function: Callable[..., Tensor],
    device: torch.device,
    parameters: LayerParameters,
    eps: float,
    dtype: torch.dtype,
) -> Callable[..., Tensor]:
    """`torch.compile(function)` if a small forward and backward succeeds with it, else `function`."""
    try:
        compiled: Callable[..., Tensor] = torch.compile(function)
        width = parameters[0].shape[0]
        x = torch.randn(256, width, device=device, requires_grad=True)
        context = torch.randn(256, width, device=device, dtype=dtype, requires_grad=True)
        _any_length(x, context)
        made = compiled(x, context, parameters, eps, 0.0)
        plain = function(x, context, parameters, eps, 0.0)
        # Weighed at random: squares of what a fresh layer norm gives always add up to the same, and their
        # gradient is nothing but rounding.
        weights = torch.randn_like(plain)
        gradient = torch.autograd.grad((made * weights).sum(), [x, context])
        expected = torch.autograd.grad((plain * weights).sum(), [x, context])
        pairs = list(zip((made, *gradient), (plain, *expected), strict=True))
        if not all(nearly_equal(ours, theirs) for ours, theirs in pairs):
            shares = ", ".join(f"{difference(ours, theirs):.2g}" for ours, theirs in pairs)
            raise RuntimeError(f"compiled and plain results and gradients differ by {shares} of their size")
    except Exception as error:  # noqa: BLE001  a compiler can fail in any way; training must go on
        log.warning("torch.compile does not work here, training without it: %s", str(error).splitlines()[:1])
        return function
    return compiled
