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
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from onnx import ModelProto

Array = NDArray[Any]
Weights = dict[str, Array]
Precision = Literal["int8", "float32"]

MICROSOFT = "com.microsoft"
BLOCK = 32
"""Weights that share a scale. Activations get a scale per block too, which is what keeps outliers harmless.
Lowest and mean cosine of token vectors to float32's, all-MiniLM-L6-v2: with one scale for a whole activation
.940 / .9895, blocks of 128 .9964 / .9989, of 32 .9986 / .9996, of 32 with balanced inputs .9991 / .9997."""


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
    writer = _Writer(precision, ranges or {})
    hidden = _transformer(writer, weights, shape)
    projected = writer.op("MatMul", hidden, writer.constant(projection.T))
    square = writer.op("ReduceSumSquare", projected, writer.constant(np.array([-1])))
    length = writer.op("Max", writer.op("Sqrt", square), writer.constant(np.float32(1e-12)))
    vectors = writer.output("vectors", writer.op("Div", projected, length), 3, projection.shape[0])
    if gate is not None:
        _gate(writer, gate, vectors, vectors if gate.reads == "vector" else hidden, projection.shape[0])
    return writer.model()


def _transformer(writer: _Writer, weights: Weights, shape: Shape) -> str:
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
    thirds = writer.constant(np.array([size] * 3))

    for layer in range(shape.layers):
        at = f"encoder.layer.{layer}."
        parts = [f"{at}attention.self.{name}." for name in ("query", "key", "value")]
        joint, offset = (np.concatenate([weights[p + kind] for p in parts]) for kind in ("weight", "bias"))
        query, key, value = writer.split(writer.linear(x, joint, offset, parts[0]), thirds, 3)
        attended = writer.op(
            "MultiHeadAttention", query, key, value, "", mask, bias, domain=MICROSOFT, num_heads=shape.heads
        )
        attended = _linear(writer, attended, weights, f"{at}attention.output.dense.")
        x = _add_and_norm(writer, attended, x, weights, f"{at}attention.output.", shape.epsilon)
        inner = _linear(writer, x, weights, f"{at}intermediate.dense.")
        inner = writer.op("Gelu", inner, domain=MICROSOFT)
        fed = _linear(writer, inner, weights, f"{at}output.dense.")
        x = _add_and_norm(writer, fed, x, weights, f"{at}output.", shape.epsilon)
    return x


def _relative_bias(writer: _Writer, weights: Weights, shape: Shape, tokens: str) -> str:
    """[1, heads, tokens, tokens]: the learned bias of each distance, looked up for every pair of tokens."""
    zero, one = writer.constant(np.int64(0)), writer.constant(np.int64(1))
    places = writer.op("Range", zero, writer.op("Squeeze", tokens), one)
    rows, columns = writer.constant(np.array([1])), writer.constant(np.array([0]))
    distance = writer.op("Sub", writer.op("Unsqueeze", places, columns), writer.op("Unsqueeze", places, rows))
    distance = writer.op("Add", distance, writer.constant(np.int64(shape.positions - 1)))
    table = writer.constant(weights["relative_bias"].astype(np.float32))
    return writer.op("Unsqueeze", writer.op("Gather", table, distance, axis=1), columns)


def _add_and_norm(writer: _Writer, x: str, skip: str, weights: Weights, at: str, epsilon: float) -> str:
    norm = _norm(writer, weights, at)
    return writer.op("SkipLayerNormalization", x, skip, *norm, domain=MICROSOFT, epsilon=epsilon)


def _norm(writer: _Writer, weights: Weights, at: str) -> tuple[str, str]:
    return writer.constant(weights[f"{at}LayerNorm.weight"]), writer.constant(weights[f"{at}LayerNorm.bias"])


def _linear(writer: _Writer, x: str, weights: Weights, at: str) -> str:
    return writer.linear(x, weights[f"{at}weight"], weights[f"{at}bias"], at)


def _gate(writer: _Writer, part: GatePart, vectors: str, reads: str, dim: int) -> None:
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


class _Writer:
    """Collects nodes and constants; every method returns the name of what it made."""

    def __init__(self, precision: Precision, ranges: Weights) -> None:
        import onnx

        self.onnx, self.types, self.precision, self.ranges = onnx, onnx.TensorProto, precision, ranges
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.outputs: list[Any] = []

    def constant(self, value: Any) -> str:
        array = np.ascontiguousarray(value).reshape(np.shape(value))  # ascontiguousarray makes scalars 1-d
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        return self._node(kind, list(inputs), 1, domain, attributes)[0]

    def split(self, x: str, sizes: str, count: int) -> list[str]:
        return self._node("Split", [x, sizes], count, "", {"axis": -1})

    def _node(
        self, kind: str, inputs: list[str], outputs: int, domain: str, attributes: dict[str, Any]
    ) -> list[str]:
        names = [f"n{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, names, domain=domain, **attributes))
        return names

    def output(self, name: str, source: str, rank: int, dim: int | None = None) -> str:
        self.nodes.append(self.onnx.helper.make_node("Identity", [source], [name]))
        shape = ["batch", "tokens", dim][:rank]
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, self.types.FLOAT, shape))
        return name

    def linear(self, x: str, weight: Array, bias: Array, at: str) -> str:
        """x @ weight.T + bias, with the weight in blocks of int8 where that is asked for."""
        if self.precision == "float32":
            return self.op("Add", self.op("MatMul", x, self.constant(weight.T)), self.constant(bias))
        seen = self.ranges.get(f"{at}weight")
        if seen is not None:
            # A few inputs are far larger than the rest. Shrink them and grow their weights: the product is
            # the same, and rounding hurts both alike.
            share = np.sqrt(np.maximum(seen, 1e-5) / np.maximum(np.abs(weight).max(axis=0), 1e-5))
            x, weight = self.op("Mul", x, self.constant((1 / share).astype(np.float32))), weight * share
        rows, columns = weight.shape
        block = min(BLOCK, max(16, 1 << (columns - 1).bit_length()))
        packed, scales = quantise_blocks(weight, block)
        return self.op(
            "MatMulNBits",
            x,
            self.constant(packed),
            self.constant(scales.reshape(-1)),
            "",
            "",
            self.constant(bias),
            domain=MICROSOFT,
            K=columns,
            N=rows,
            bits=8,
            block_size=block,
            accuracy_level=4,  # multiply in int8
        )

    def table(self, rows: Array, ids: str) -> str:
        """Look `ids` up in an embedding table, stored as int8 with one scale a row."""
        if self.precision == "float32":
            return self.op("Gather", self.constant(rows), ids)
        scale = np.maximum(np.abs(rows).max(axis=1, keepdims=True) / 127, 1e-12).astype(np.float32)
        small = np.round(rows / scale).astype(np.int8)
        found = self.op("Cast", self.op("Gather", self.constant(small), ids), to=self.types.FLOAT)
        return self.op("Mul", found, self.op("Gather", self.constant(scale), ids))

    def model(self) -> ModelProto:
        make = self.onnx.helper
        names = ["input_ids", "attention_mask"] + ["score_mask"] * (len(self.outputs) > 1)
        inputs = [make.make_tensor_value_info(n, self.types.INT64, ["batch", "tokens"]) for n in names]
        graph = make.make_graph(self.nodes, "numcolbert", inputs, self.outputs, self.constants)
        domains = [make.make_opsetid("", 18), make.make_opsetid(MICROSOFT, 1)]
        settings = {"opset_imports": domains, "ir_version": 9, "producer_name": "numcolbert"}
        return cast("ModelProto", make.make_model(graph, **settings))


def quantise_blocks(weight: Array, block: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """[rows, columns] as [rows, blocks, block] bytes around 128, and one scale a block."""
    rows, columns = weight.shape
    blocks = -(-columns // block)
    padded = np.zeros((rows, blocks * block), np.float32)
    padded[:, :columns] = weight
    padded = padded.reshape(rows, blocks, block)
    scales = np.maximum(np.abs(padded).max(axis=-1, keepdims=True) / 127, 1e-12)
    packed = np.clip(np.round(padded / scales) + 128, 0, 255).astype(np.uint8)
    return packed, scales[..., 0].astype(np.float32)
