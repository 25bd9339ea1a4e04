"""Writes the ONNX graph of an encoder with its gate, node by node.

Built by hand from the weights rather than traced: the graph then holds the operators onnxruntime runs fastest
on a CPU, with int8 weights where they cost no quality. One graph serves queries and documents:

| input | shape | |
|---|---|---|
| `input_ids` | [batch, tokens] int64 | |
| `attention_mask` | [batch, tokens] int64 | tokens the transformer sees |
| `score_mask` | [batch, tokens] int64 | vectors that enter MaxSim: they make \\|Q\\| |

| output | shape | |
|---|---|---|
| `vectors` | [batch, tokens, dim] | length 1: a document's vectors |
| `gated` | [batch, tokens, dim] | a query's vectors |
| `probability` | [batch, tokens] | of belonging to a quantity; 0 for special tokens |
| `gate` | [batch, tokens] | 1 where it does not act |

A model without a gate has `vectors` only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from numcolbert.model.graph_writer import MICROSOFT, Array, GraphWriter, Precision, Weights

if TYPE_CHECKING:
    from onnx import ModelProto

GELU_LEAST = -0.17
"""Gelu is never below this."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What the graph needs to know beside the weights."""

    layers: int
    heads: int
    epsilon: float
    positions: int
    """Longest text; the position table is cut to it."""
    first_position: int = 0
    """RoBERTa and MPNet count positions from 2."""


@dataclass(frozen=True, slots=True)
class GatePart:
    detector: tuple[Array, Array, Array, Array]
    """Weight and bias of the first layer, weight and bias of the second."""
    gate: tuple[Array, Array, Array, Array]
    threshold: float
    query_length: int | None
    reads: Literal["vector", "hidden"]
    ungated_token_ids: list[int]


def encoder_graph(
    weights: Weights,
    projection: Array,
    gate: GatePart | None,
    shape: Shape,
    precision: Precision = "int8",
    ranges: Weights | None = None,
) -> ModelProto:
    """The graph of a BERT-like encoder.

    Args:
        weights: By the names of Hugging Face's `BertModel`; `relative_bias` [heads, 2 * positions - 1], where
            there is one, is added to the attention scores by distance (MPNet).
        projection: [dim, hidden].
        ranges: For the weight of a linear layer, by its name, the largest size of each of its inputs seen on
            some texts. Inputs are balanced with it before they become int8.
    """
    writer = GraphWriter(precision, ranges or {})
    hidden = _transformer(writer, weights, shape)
    projected = writer.op("MatMul", hidden, writer.constant(projection.T))
    square = writer.op("ReduceSumSquare", projected, writer.constant(np.array([-1])))
    length = writer.op("Max", writer.op("Sqrt", square), writer.constant(np.float32(1e-12)))
    vectors = writer.output("vectors", writer.op("Div", projected, length), 3, projection.shape[0])
    if gate is not None:
        _gate(writer, gate, vectors, vectors if gate.reads == "vector" else hidden, projection.shape[0])
    return writer.model()


def _transformer(writer: GraphWriter, weights: Weights, shape: Shape) -> str:
    size = weights["embeddings.word_embeddings.weight"].shape[1]
    words = writer.table(weights["embeddings.word_embeddings.weight"], "input_ids")
    start = shape.first_position
    places = weights["embeddings.position_embeddings.weight"][start : start + shape.positions]
    kinds = weights.get("embeddings.token_type_embeddings.weight")
    tokens = writer.op("Shape", "input_ids", start=1, end=2)
    zero = writer.constant(np.array([0]))
    table = writer.constant(places if kinds is None else places + kinds[0])
    x = writer.op("Add", words, writer.op("Slice", table, zero, tokens, zero))
    x = writer.op("LayerNormalization", x, *_norm(writer, weights, "embeddings."), epsilon=shape.epsilon)
    mask = writer.op("Cast", "attention_mask", to=writer.types.INT32)
    bias = _relative_bias(writer, weights, shape, tokens) if "relative_bias" in weights else ""
    # Between attentions one token a row: [batch * tokens, hidden]. Reshaping costs nothing.
    padded = writer.op("Concat", writer.op("Shape", "input_ids"), writer.constant(np.array([-1])), axis=0)
    x = writer.op("Reshape", x, writer.constant(np.array([-1, size])))

    for layer in range(shape.layers):
        at = f"encoder.layer.{layer}."
        out = f"{at}attention.output.dense."
        parts = [f"{at}attention.self.{name}." for name in ("query", "key", "value")]
        projections = [weights[f"{part}weight"] for part in parts]
        offsets = [weights[f"{part}bias"] for part in parts]
        # What attention's output is divided by to balance it, the values can be divided by beforehand.
        share = writer.share(weights[f"{out}weight"], out)
        if share is not None:
            projections[2], offsets[2] = projections[2] / share[:, None], offsets[2] / share
        made = writer.linear(x, [(projection, None) for projection in projections], parts[0])
        query, key, value = (writer.op("Reshape", part, padded) for part in made)
        offset = writer.constant(np.concatenate(offsets).astype(np.float32))
        attended = writer.op(
            "MultiHeadAttention",
            *(query, key, value, offset, mask, bias),
            domain=MICROSOFT,
            num_heads=shape.heads,
        )
        attended = writer.op("Reshape", attended, writer.constant(np.array([-1, size])))
        weight = weights[f"{out}weight"] * (1 if share is None else share)
        (attended,) = writer.linear(attended, [(weight, weights[f"{out}bias"])])
        x = _add_and_norm(writer, attended, x, weights, f"{at}attention.output.", shape.epsilon)
        rise = f"{at}intermediate.dense."
        (inner,) = writer.linear(x, [(weights[f"{rise}weight"], weights[f"{rise}bias"])], rise)
        inner = writer.op("Gelu", inner, domain=MICROSOFT)
        # Not balanced: gelu's outputs are even enough, and a pass over them is the dearest of all.
        feed = f"{at}output.dense."
        (fed,) = writer.linear(inner, [(weights[f"{feed}weight"], weights[f"{feed}bias"])], least=GELU_LEAST)
        x = _add_and_norm(writer, fed, x, weights, f"{at}output.", shape.epsilon)
    return writer.op("Reshape", x, padded)


def _relative_bias(writer: GraphWriter, weights: Weights, shape: Shape, tokens: str) -> str:
    """[1, heads, tokens, tokens]: the learned bias of each distance, looked up for every pair of tokens."""
    zero, one = writer.constant(np.int64(0)), writer.constant(np.int64(1))
    places = writer.op("Range", zero, writer.op("Squeeze", tokens), one)
    rows, columns = writer.constant(np.array([1])), writer.constant(np.array([0]))
    distance = writer.op("Sub", writer.op("Unsqueeze", places, columns), writer.op("Unsqueeze", places, rows))
    distance = writer.op("Add", distance, writer.constant(np.int64(shape.positions - 1)))
    table = writer.constant(weights["relative_bias"].astype(np.float32))
    return writer.op("Unsqueeze", writer.op("Gather", table, distance, axis=1), columns)


def _add_and_norm(writer: GraphWriter, x: str, skip: str, weights: Weights, at: str, epsilon: float) -> str:
    # onnxruntime would make one slow operator of an Add before a LayerNormalization; it leaves a Sum alone.
    total = writer.op("Sum", x, skip)
    return writer.op("LayerNormalization", total, *_norm(writer, weights, at), epsilon=epsilon)


def _norm(writer: GraphWriter, weights: Weights, at: str) -> tuple[str, str]:
    return writer.constant(weights[f"{at}LayerNorm.weight"]), writer.constant(weights[f"{at}LayerNorm.bias"])


def _gate(writer: GraphWriter, part: GatePart, vectors: str, reads: str, dim: int) -> None:
    """The same arithmetic as `NumericalGate.forward`."""
    floats = writer.types.FLOAT
    last = writer.constant(np.array([-1]))

    def network(layers: tuple[Array, Array, Array, Array]) -> str:
        first, first_bias, second, second_bias = map(writer.constant, _transposed(layers))
        inner = writer.op("Add", writer.op("MatMul", reads, first), first_bias)
        outer = writer.op("MatMul", writer.op("Gelu", inner, domain=MICROSOFT), second)
        return writer.op("Squeeze", writer.op("Add", outer, second_bias), last)

    scored = writer.op("Cast", "score_mask", to=floats)  # [batch, tokens]
    if part.query_length is None:
        count = writer.op("ReduceSum", scored, writer.constant(np.array([1])), keepdims=1)
        count = writer.op("Max", count, writer.constant(np.float32(2)))
    else:
        count = writer.constant(np.array([[part.query_length]], np.float32))
    start = writer.op("Log", writer.op("Sub", count, writer.constant(np.float32(1))))
    strength = writer.op("Sigmoid", writer.op("Sub", network(part.gate), start))
    strength = writer.op("Mul", strength, count)

    special = writer.constant(np.array(part.ungated_token_ids or [-1]))
    pairs = writer.op("Equal", writer.op("Unsqueeze", "input_ids", last), special)
    is_special = writer.op("ReduceMax", writer.op("Cast", pairs, to=floats), last, keepdims=0)
    words = writer.op("Mul", scored, writer.op("Sub", writer.constant(np.float32(1)), is_special))
    probability = writer.op("Mul", writer.op("Sigmoid", network(part.detector)), words)
    acts = writer.op("Greater", probability, writer.constant(np.float32(part.threshold)))
    gate = writer.op("Where", acts, strength, writer.constant(np.float32(1)))
    writer.output("probability", probability, 2)
    gate = writer.output("gate", gate, 2)
    writer.output("gated", writer.op("Mul", vectors, writer.op("Unsqueeze", gate, last)), 3, dim)


def _transposed(layers: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
    return layers[0].T, layers[1], layers[2].T, layers[3]
