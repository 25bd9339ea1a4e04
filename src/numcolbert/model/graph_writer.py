"""Writes ONNX nodes: single operators, and linear layers and tables with int8 weights.

A linear layer in int8 gives every token (every row) a scale of its own, so that a vector never depends on
what else is in its batch, and every output of the layer one. Long rows are cut into blocks with a scale each.
docs/concepts/gate.md has what other cuts cost in speed and in exactness.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from onnx import ModelProto

Array = NDArray[Any]
Weights = dict[str, Array]
Precision = Literal["int8", "float32"]

MICROSOFT = "com.microsoft"
BLOCK = 768
"""Inputs of a row that share a scale, at most."""
TINY = np.float32(1e-12)
"""Smallest scale: a row of zeros divides by it."""


class GraphWriter:
    """Collects nodes and constants; every method returns the name of what it made."""

    def __init__(self, precision: Precision, ranges: Weights) -> None:
        import onnx

        self.onnx, self.types, self.precision, self.ranges = onnx, onnx.TensorProto, precision, ranges
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.outputs: list[Any] = []
        self._middles: dict[int, str] = {}

    def constant(self, value: Any) -> str:
        array = np.ascontiguousarray(value).reshape(np.shape(value))  # ascontiguousarray makes scalars 1-d
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        return self._node(kind, list(inputs), 1, domain, attributes)[0]

    def split(self, x: str, count: int) -> list[str]:
        """`count` parts of equal size along the last axis."""
        return [x] if count == 1 else self._node("Split", [x], count, "", {"axis": -1, "num_outputs": count})

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

    def share(self, weight: Array, at: str) -> Array | None:
        """What to divide the inputs of `weight` by before they become int8; None where nothing is known.

        A few inputs are far larger than the rest. Shrink them and grow their weights: the product is the
        same, and rounding hurts both alike.
        """
        seen = self.ranges.get(f"{at}weight")
        if seen is None or self.precision == "float32":
            return None
        share: Array = np.sqrt(np.maximum(seen, 1e-5) / np.maximum(np.abs(weight).max(axis=0), 1e-5))
        return share.astype(np.float32)

    def linear(
        self, x: str, layers: Sequence[tuple[Array, Array | None]], at: str = "", least: float | None = None
    ) -> list[str]:
        """x @ weight.T + bias for each (weight, bias), with x [rows, inputs].

        Args:
            at: The layer whose input ranges balance x; nothing is balanced where it has none.
            least: No entry of x is below this; then all of the 255 steps are used above it.
        """
        if self.precision == "float32":
            products = [(self.op("MatMul", x, self.constant(weight.T)), bias) for weight, bias in layers]
            return [y if bias is None else self.op("Add", y, self.constant(bias)) for y, bias in products]
        share = self.share(np.concatenate([weight for weight, _ in layers]), at)
        if share is not None:
            x = self.op("Mul", x, self.constant(1 / share))
            layers = [(weight * share, bias) for weight, bias in layers]
        if least is not None:
            up = np.full(layers[0][0].shape[1], -least, np.float32) / (1 if share is None else share)
            x = self.op("Add", x, self.constant(up))
            layers = [(weight, (0 if bias is None else bias) - weight @ up) for weight, bias in layers]
        blocks = _blocks(layers[0][0].shape[1])
        parts, scales = self._rows_to_bytes(x, layers[0][0].shape[1], blocks, positive=least is not None)
        zero = self.constant(np.uint8(0 if least is not None else 128))
        return [self._product(parts, scales, zero, weight, bias) for weight, bias in layers]

    def _rows_to_bytes(
        self, x: str, columns: int, blocks: int, *, positive: bool
    ) -> tuple[list[str], list[str]]:
        """Each block of columns as bytes [rows, columns / blocks], and what a step is worth [rows, 1]."""
        x = self.op("Reshape", x, self.constant(np.array([-1, columns // blocks])))
        size = self.op(
            "ReduceMax", x if positive else self.op("Abs", x), self.constant(np.array([1])), keepdims=0
        )
        scale = self.op("Mul", size, self.constant(np.float32(1 / (255 if positive else 127))))
        scale = self.op("Max", scale, self.constant(TINY))
        zeros = [] if positive else [self._middle(scale, blocks)]
        whole = self.op("QuantizeLinear", x, scale, *zeros, axis=0)
        whole = self.op("Reshape", whole, self.constant(np.array([-1, columns])))
        scale = self.op("Reshape", scale, self.constant(np.array([-1, blocks])))
        return self.split(whole, blocks), self.split(scale, blocks)

    def _middle(self, like: str, blocks: int) -> str:
        """128 for each scale of `like`; as many for all layers with as many blocks, so made once."""
        if blocks not in self._middles:
            middle = self.constant(np.array([128], np.uint8))
            self._middles[blocks] = self.op("Expand", middle, self.op("Shape", like))
        return self._middles[blocks]

    def _product(
        self, parts: list[str], scales: list[str], zero: str, weight: Array, bias: Array | None
    ) -> str:
        one, total = self.constant(np.float32(1)), ""
        if bias is not None:
            total = self.constant(bias.astype(np.float32))
        for part, scale, block in zip(parts, scales, np.split(weight, len(parts), axis=1), strict=True):
            packed, steps = quantise_rows(block)
            product = self.op(
                "MatMulIntegerToFloat",
                part,
                self.constant(packed.T),
                one,
                self.constant(steps),
                zero,
                self.constant(np.int8(0)),  # named, so that onnxruntime can change it: see `_open_graph`
                domain=MICROSOFT,
            )
            product = self.op("Mul", product, scale)
            total = self.op("Sum", product, total) if total else product
        return total

    def table(self, rows: Array, ids: str) -> str:
        """Look `ids` up in an embedding table, stored as int8 with one scale a row."""
        if self.precision == "float32":
            return self.op("Gather", self.constant(rows), ids)
        packed, steps = quantise_rows(rows)
        found = self.op("Cast", self.op("Gather", self.constant(packed), ids), to=self.types.FLOAT)
        return self.op("Mul", found, self.op("Gather", self.constant(steps[:, None]), ids))

    def model(self) -> ModelProto:
        make = self.onnx.helper
        names = ["input_ids", "attention_mask"] + ["score_mask"] * (len(self.outputs) > 1)
        inputs = [make.make_tensor_value_info(n, self.types.INT64, ["batch", "tokens"]) for n in names]
        graph = make.make_graph(self.nodes, "numcolbert", inputs, self.outputs, self.constants)
        domains = [make.make_opsetid("", 18), make.make_opsetid(MICROSOFT, 1)]
        settings = {"opset_imports": domains, "ir_version": 9, "producer_name": "numcolbert"}
        return cast("ModelProto", make.make_model(graph, **settings))


def quantise_rows(weight: Array) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """[rows, columns] as signed bytes, and what a step is worth in each row."""
    steps = np.maximum(np.abs(weight).max(axis=1) / 127, TINY).astype(np.float32)
    return np.round(weight / steps[:, None]).astype(np.int8), steps


def _blocks(columns: int) -> int:
    """The fewest blocks of equal size that are none larger than `BLOCK`."""
    return next(count for count in range(-(-columns // BLOCK), columns + 1) if columns % count == 0)
