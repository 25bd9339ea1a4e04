"""The numerical gate: the one module NumColBERT adds to a ColBERT encoder.

It stands last in `[Transformer, Dense, MultiVectorMask, Normalize, NumericalGate]` and acts on queries only:

    P_num(q_i) = sigmoid(detector(q_i))                  does token i belong to a quantity?
    g_i        = |Q| * sigmoid(gate(q_i))                how much should it count?
    q~_i       = g_i * q_i  if P_num(q_i) > threshold  else  q_i

Documents pass through as the same tensor object, so their vectors are the plain encoder's to the last bit.

This file imports nothing of numcolbert: a saved checkpoint carries a copy of it, and
`MultiVectorEncoder(path, trust_remote_code=True)` opens the checkpoint where numcolbert is not installed.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Literal

import torch
from sentence_transformers.base.modules.module import Module
from torch import Tensor, nn

CODE_FILE = "numcolbert_gate.py"
"""What the copy of this file is called in a checkpoint's folder."""
FORMAT = 1


class NumericalGate(Module):
    """Detects the quantity tokens of a query and scales their vectors.

    Args:
        dim: Size of the token vectors that are scaled.
        hidden_dim: Width of the two-layer networks.
        threshold: A token is gated when its probability is above this.
        query_length: What |Q| is. "actual" counts the vectors of each query that enter MaxSim; a number is
            taken for every query. Either way the gate starts at exactly 1, i.e. from plain ColBERT.
        reads: What both networks look at: the normalised "vector", or the transformer's "hidden" state,
            which must then stand in `features["hidden_state"]` and have size `hidden_state_dim`.
        hidden_state_dim: Size of the transformer's hidden state; needed where `reads` is "hidden".
        ungated_token_ids: Tokens that are never gated: padding, [CLS], [SEP], [MASK] and the markers.
        gate_on: Which tokens are gated in training: those of `features["quantity_mask"]` ("gold", where the
            batch has one), or those the detector finds ("detected"). Evaluation always uses the detector.
        detector_trains_encoder: Whether the detector's loss reaches the encoder.
        format: Version of this layout; set when loading.
    """

    config_keys: list[str] = [  # noqa: RUF012 - declared like this by the base class
        "format",
        "dim",
        "hidden_dim",
        "threshold",
        "query_length",
        "reads",
        "hidden_state_dim",
        "ungated_token_ids",
        "gate_on",
        "detector_trains_encoder",
    ]
    forward_kwargs: set[str] = {"task"}  # noqa: RUF012

    def __init__(
        self,
        dim: int,
        hidden_dim: int = 128,
        threshold: float = 0.5,
        query_length: Literal["actual"] | int = "actual",
        reads: Literal["vector", "hidden"] = "vector",
        hidden_state_dim: int | None = None,
        ungated_token_ids: list[int] | None = None,
        gate_on: Literal["gold", "detected"] = "gold",
        detector_trains_encoder: bool = True,
        format: int = FORMAT,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        _check_format(format)
        if reads == "hidden" and not hidden_state_dim:
            raise ValueError("reads='hidden' needs hidden_state_dim")
        if query_length != "actual" and query_length < 2:
            raise ValueError(f"query_length must be 'actual' or at least 2, not {query_length!r}")
        self.format = FORMAT
        self.dim, self.hidden_dim, self.threshold = dim, hidden_dim, threshold
        self.query_length, self.reads, self.hidden_state_dim = query_length, reads, hidden_state_dim
        self.ungated_token_ids = sorted(set(ungated_token_ids or []))
        self.gate_on, self.detector_trains_encoder = gate_on, detector_trains_encoder

        size = hidden_state_dim if reads == "hidden" and hidden_state_dim else dim
        self.detector = _two_layers(size, hidden_dim)
        self.gate = _two_layers(size, hidden_dim)
        # With a last layer of zeros every token starts at g = 1 (see `weigh`), whatever it looks like.
        nn.init.zeros_(self.gate[-1].weight)  # type: ignore[arg-type]
        nn.init.zeros_(self.gate[-1].bias)  # type: ignore[arg-type]

    def weigh(self, inputs: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Logit of the detector and value of the gate for each token, padded or packed.

        Args:
            inputs: [..., size], what the networks read.
            lengths: |Q| of the query each token belongs to; broadcasts against `inputs.shape[:-1]`.

        Returns:
            Two float32 tensors of `inputs.shape[:-1]`.
        """
        detector_inputs = inputs if self.detector_trains_encoder else inputs.detach()
        logit = self.detector(detector_inputs).squeeze(-1).float()
        if self.query_length == "actual":
            size = lengths.clamp(min=2).float()
        else:
            size = torch.full_like(lengths, int(self.query_length), dtype=torch.float32)
        # logit(1/|Q|) = -log(|Q| - 1): the bias that makes |Q| * sigmoid(bias) = 1, for every length.
        gate = size * torch.sigmoid(self.gate(inputs).squeeze(-1).float() - torch.log(size - 1))
        return logit, gate

    def may_gate(self, input_ids: Tensor, mask: Tensor) -> Tensor:
        """Which tokens are words of the query, not padding, [CLS], [SEP], [MASK] or a marker."""
        ungated = torch.as_tensor(self.ungated_token_ids, dtype=input_ids.dtype, device=input_ids.device)
        return mask.bool() & ~torch.isin(input_ids, ungated)

    def forward(  # type: ignore[override]
        self, features: dict[str, Any], task: str | None = None
    ) -> dict[str, Any]:
        """Gate a batch of queries and add to its features:

        `ungated_embeddings` [batch, tokens, dim], `num_logit`, `num_probability`, `gate` (1 where it does
        not act) and `gateable` (words of the query), each [batch, tokens].
        """
        if task != "query":
            return features
        vectors = features["token_embeddings"]  # [batch, tokens, dim], length 1
        mask = features["attention_mask"].bool()  # [batch, tokens], the vectors that enter MaxSim
        inputs = features["hidden_state"] if self.reads == "hidden" else vectors
        logit, gate = self.weigh(inputs, mask.sum(dim=1, keepdim=True))

        words = self.may_gate(features["input_ids"], mask)
        expansion = features.get("query_expansion_positions")
        if expansion is not None:
            words = words & ~expansion.bool()
        probability = torch.sigmoid(logit)
        gold = features.get("quantity_mask")
        if self.training and self.gate_on == "gold" and gold is not None:
            gated = gold.bool() & words
        else:
            gated = (probability > self.threshold) & words

        gate = torch.where(gated, gate, torch.ones_like(gate))
        features["ungated_embeddings"] = vectors
        features["token_embeddings"] = vectors * gate.unsqueeze(-1).to(vectors.dtype)
        features["num_logit"] = logit
        features["num_probability"] = probability * words
        features["gate"] = gate
        features["gateable"] = words
        return features

    def get_embedding_dimension(self) -> int:
        return self.dim

    def save(  # type: ignore[override]
        self, output_path: str, safe_serialization: bool = True
    ) -> None:
        self.save_config(output_path)
        self.save_torch_weights(output_path, safe_serialization=safe_serialization)
        copy = Path(output_path).parent / CODE_FILE
        if copy != Path(__file__):
            shutil.copyfile(__file__, copy)

    @classmethod
    def load(cls, model_name_or_path: str, **kwargs: Any) -> NumericalGate:  # type: ignore[override]
        names = ("subfolder", "token", "cache_folder", "revision", "local_files_only")
        where = {name: kwargs[name] for name in names if name in kwargs}
        config = cls.load_config(model_name_or_path, **where)
        _check_format(config.get("format", FORMAT))  # first: a newer format may have keys of its own
        gate = cls(**config)
        cls.load_torch_weights(model_name_or_path, model=gate, **where)
        return gate


def _check_format(format: int) -> None:
    if format > FORMAT:
        raise ValueError(f"this gate was saved in format {format}, this code reads up to {FORMAT}")


def _two_layers(size: int, hidden: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(size, hidden), nn.GELU(), nn.Linear(hidden, 1))
