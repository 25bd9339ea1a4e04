"""From a torch checkpoint to the model folder the core runs on, and how far the two are apart.

python -m numcolbert.model.export CHECKPOINT [FOLDER] [--overwrite]   FOLDER: CHECKPOINT/onnx if not given
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sentence_transformers.base.modules import Dense, Transformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

from numcolbert.errors import ModelError
from numcolbert.files import refuse_existing, replacing_folder, sha256
from numcolbert.model.checkpoint import MARK, find_gate, load_checkpoint
from numcolbert.model.encoder import Encoder
from numcolbert.model.folder import GRAPH_FILE, TOKENIZER_FILE, Expansion, ModelConfig, write_config
from numcolbert.model.graph import GatePart, Shape, encoder_graph
from numcolbert.model.graph_writer import Precision, Weights
from numcolbert.program import program

if TYPE_CHECKING:
    from sentence_transformers import MultiVectorEncoder

    from numcolbert.model.gate import NumericalGate


def export_model(
    model: MultiVectorEncoder,
    folder: Path,
    *,
    precision: Precision = "int8",
    name: str = "numcolbert",
    notes: dict[str, Any] | None = None,
    overwrite: bool = False,
) -> None:
    """Write `model` (with or without a gate) as one ONNX graph with its tokenizer and config."""
    transformer, dense = _only(model, Transformer), _only(model, Dense)
    gate, tokenizer = find_gate(model), model.tokenizer
    if dense.bias or not isinstance(dense.activation_function, torch.nn.Identity):
        raise ModelError(
            "The projection of this model has a bias or an activation, which the export does not know.",
            hint="ColBERT projects linearly; train such a model to export it",
        )
    # A text never grows longer than this, so no more positions are stored.
    lengths = {task: _length(transformer, task) for task in ("query", "document")}
    expansion = _expansion(transformer, tokenizer)
    longest = max([*lengths.values(), expansion.length if expansion else 0])
    weights, shape = _read_transformer(transformer.model, longest)
    ranges = _input_ranges(model, transformer.model) if precision == "int8" else {}
    projection = _numpy(dense.linear.weight)
    graph = encoder_graph(weights, projection, _read_gate(gate), shape, precision, ranges)
    markers = {task: _marker(model, task) for task in ("query", "document")}
    skipped = _only(model, MultiVectorMask)._skiplist_ids

    with replacing_folder(folder, overwrite=overwrite, mark=GRAPH_FILE) as aside:
        (aside / GRAPH_FILE).write_bytes(graph.SerializeToString())
        tokenizer.backend_tokenizer.save(str(aside / TOKENIZER_FILE))
        write_config(
            aside,
            ModelConfig(
                dim=dense.out_features,
                query_marker=markers["query"],
                document_marker=markers["document"],
                query_length=lengths["query"],
                document_length=lengths["document"],
                first_token=tokenizer.cls_token_id,
                last_token=tokenizer.sep_token_id,
                pad_token=tokenizer.pad_token_id,
                gate=gate.get_config_dict() if gate is not None else None,
                files={file: sha256(aside / file) for file in (GRAPH_FILE, TOKENIZER_FILE)},
                skipped_tokens=tuple(skipped.tolist()) if skipped is not None else (),
                expansion=expansion,
                precision=precision,
                name=name,
                notes=notes or {},
            ),
        )


def _read_transformer(model: torch.nn.Module, longest: int) -> tuple[Weights, Shape]:
    """BERT's weights as they are; MPNet's under BERT's names, with its bias by distance."""
    config: Any = model.config
    weights = {name: _numpy(tensor) for name, tensor in model.state_dict().items()}
    activation = getattr(config, "hidden_act", None)
    if config.model_type not in ("bert", "mpnet") or activation != "gelu":
        raise ModelError(
            f"The export knows BERT and MPNet with gelu, not '{config.model_type}' with '{activation}'.",
            hint="use the checkpoint with sentence-transformers, or start from a BERT-like backbone",
        )
    first = 0
    if config.model_type == "mpnet":
        mpnet: Any = model
        first = mpnet.embeddings.padding_idx + 1
        weights = {_berts_name(name): array for name, array in weights.items()}
        distance = torch.arange(-(longest - 1), longest)  # key minus query
        buckets = mpnet.encoder.relative_position_bucket(
            distance, num_buckets=config.relative_attention_num_buckets
        )
        weights["relative_bias"] = weights["encoder.relative_attention_bias.weight"][buckets.numpy()].T
    shape = Shape(
        layers=config.num_hidden_layers,
        heads=config.num_attention_heads,
        epsilon=config.layer_norm_eps,
        positions=longest,
        first_position=first,
    )
    return weights, shape


_MPNET_NAMES = {
    "attention.attn.q.": "attention.self.query.",
    "attention.attn.k.": "attention.self.key.",
    "attention.attn.v.": "attention.self.value.",
    "attention.attn.o.": "attention.output.dense.",
    "attention.LayerNorm.": "attention.output.LayerNorm.",
}


def _berts_name(name: str) -> str:
    for old, new in _MPNET_NAMES.items():
        name = name.replace(old, new)
    return name


def _input_ranges(model: MultiVectorEncoder, transformer: torch.nn.Module) -> Weights:
    """The largest size of every input of every linear layer, on sentences of the demo corpus."""
    ranges: Weights = {}

    def watch(name: str) -> Any:
        def note(_: Any, inputs: tuple[torch.Tensor, ...], __: Any) -> None:
            largest = _numpy(inputs[0].abs().flatten(0, -2).amax(dim=0))
            ranges[name] = np.maximum(ranges.get(name, 0), largest)

        return note

    hooks = [
        module.register_forward_hook(watch(_berts_name(f"{name}.weight")))
        for name, module in transformer.named_modules()
        if isinstance(module, torch.nn.Linear)
    ]
    try:
        for text in _calibration_texts():
            model.encode_document(text, show_progress_bar=False)  # one by one: padding must not count
    finally:
        for hook in hooks:
            hook.remove()
    return ranges


def _calibration_texts(count: int = 100) -> list[str]:
    demo = resources.files("numcolbert") / "assets" / "demo.jsonl"
    lines = demo.read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines[:: max(1, len(lines) // count)]]


def _read_gate(gate: NumericalGate | None) -> GatePart | None:
    if gate is None:
        return None

    def layers(network: Any) -> tuple[Any, Any, Any, Any]:
        first, last = network[0], network[-1]
        return _numpy(first.weight), _numpy(first.bias), _numpy(last.weight), _numpy(last.bias)

    return GatePart(
        detector=layers(gate.detector),
        gate=layers(gate.gate),
        threshold=gate.threshold,
        query_length=None if gate.query_length == "actual" else int(gate.query_length),
        reads=gate.reads,
        ungated_token_ids=gate.ungated_token_ids,
    )


def _marker(model: MultiVectorEncoder, task: str) -> int:
    words = (model.prompts.get(task) or "").strip()
    ids = model.tokenizer.encode(words, add_special_tokens=False)
    if len(ids) != 1:
        raise ModelError(
            f"The {task} marker {words!r} is {len(ids)} tokens long, not one.",
            hint="make the model with build_colbert or as_numcolbert, which set the markers",
        )
    return int(ids[0])


def _length(transformer: Any, task: str) -> int:
    return int(getattr(transformer, f"{task}_length") or transformer.max_seq_length)


def _expansion(transformer: Any, tokenizer: Any) -> Expansion | None:
    settings = transformer.query_expansion
    if settings is None:
        return None
    token = settings.get("token")
    return Expansion(
        token_id=tokenizer.convert_tokens_to_ids(token) if token else tokenizer.mask_token_id,
        length=settings["length"],
        attend=bool(settings.get("attend")),
        fixed=settings["strategy"] == "fixed",
    )


def _only(model: MultiVectorEncoder, kind: type[Any]) -> Any:
    found = [module for module in model if isinstance(module, kind)]
    if len(found) != 1:
        raise ModelError(
            f"The export expects one {kind.__name__} in the model, there are {len(found)}.",
            hint="export a ColBERT as build_colbert or as_numcolbert make it",
        )
    return found[0]


def _numpy(tensor: torch.Tensor) -> Any:
    return tensor.detach().float().cpu().numpy()


@dataclass(frozen=True, slots=True)
class Parity:
    """How far an exported model is from its checkpoint, on some queries and documents."""

    lowest_cosine: float
    """Over all token vectors, queries before the gate."""
    mean_cosine: float
    largest_gate_difference: float
    mean_score_difference: float
    """Of MaxSim divided by the sum of the gates, which is the most a document can score; without sign."""
    largest_score_difference: float
    same_best_document: float
    """Share of queries for which both put the same document first."""


def parity(
    model: MultiVectorEncoder, encoder: Encoder, queries: Sequence[str], documents: Sequence[str]
) -> Parity:
    """Encode and score the same texts with both; at least one query and one document."""
    ours_documents = [d.vectors for d in encoder.encode_documents(documents)]
    theirs_documents = model.encode_document(list(documents), convert_to_numpy=True)
    cosines = [np.sum(a * b, axis=1) for a, b in zip(ours_documents, theirs_documents, strict=True)]
    gates: list[float] = []
    scores: list[Any] = []
    best: list[bool] = []
    ours_queries = encoder.encode_queries(queries)
    theirs_queries = model.encode_query(list(queries), convert_to_numpy=True)
    for ours, theirs in zip(ours_queries, theirs_queries, strict=True):
        lengths = np.linalg.norm(theirs, axis=1)
        cosines.append(np.sum(ours.ungated() * (theirs / lengths[:, None]), axis=1))
        gates.append(float(np.abs(ours.gates - lengths).max()))
        left = np.array([(ours.vectors @ d.T).max(axis=1).sum() for d in ours_documents])
        right = np.array([(theirs @ d.T).max(axis=1).sum() for d in theirs_documents])
        scores.append(np.abs(left / ours.gates.sum() - right / lengths.sum()))
        best.append(bool(left.argmax() == right.argmax()))
    joined, difference = np.concatenate(cosines), np.concatenate(scores)
    return Parity(
        lowest_cosine=float(joined.min()),
        mean_cosine=float(joined.mean()),
        largest_gate_difference=max(gates),
        mean_score_difference=float(difference.mean()),
        largest_score_difference=float(difference.max()),
        same_best_document=float(np.mean(best)),
    )


def _require_checkpoint(path: Path) -> None:
    """What `load_checkpoint` would take for a folder that is missing or damaged."""
    if path.is_file():
        raise ModelError(f"'{path}' is a file, not a model folder.", hint="name the folder it lies in")
    if (path / GRAPH_FILE).is_file() and not (path / MARK).is_file():
        raise ModelError(
            f"'{path}' is an exported model already.", hint="name the checkpoint that it was exported from"
        )


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m numcolbert.model.export",
        description="Write the model folder that the core runs on, without torch.",
    )
    parser.add_argument("checkpoint", type=Path, help="model folder of a training")
    parser.add_argument("folder", type=Path, nargs="?", help="by default CHECKPOINT/onnx")
    parser.add_argument("--overwrite", action="store_true", help="replace what is there")
    chosen = parser.parse_args(arguments)
    _require_checkpoint(chosen.checkpoint)
    target = chosen.folder or chosen.checkpoint / "onnx"
    refuse_existing(target, "folder", overwrite=chosen.overwrite, mark=GRAPH_FILE)
    export_model(
        load_checkpoint(chosen.checkpoint), target, name=chosen.checkpoint.name, overwrite=chosen.overwrite
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
