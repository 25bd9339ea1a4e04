"""Building, opening and saving torch checkpoints: standard `MultiVectorEncoder` folders.

Nothing here unpickles objects or runs code from a checkpoint: weights are safetensors (or a pickle read with
`weights_only`), and the gate's class is ours even where the folder carries a copy of its source.
"""

from __future__ import annotations

import json
import logging
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from sentence_transformers.util import load_file_path
from tokenizers import pre_tokenizers
from torch import nn
from transformers import AddedToken, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from numcolbert.errors import ModelError, UsageError
from numcolbert.files import replacing_folder
from numcolbert.model.folder import GRAPH_FILE, access_errors
from numcolbert.model.gate import CODE_FILE, NumericalGate

MARK = "modules.json"
"""The file by which the folder of a saved model is known."""
OUR_GATE = f"{NumericalGate.__module__}.{NumericalGate.__name__}"
PORTABLE_GATE = f"{CODE_FILE.removesuffix('.py')}.{NumericalGate.__name__}"
"""How modules.json names the gate: found beside the weights, also where numcolbert is not installed."""


@dataclass(frozen=True, slots=True)
class ColBERTSettings:
    """A new ColBERT around a backbone."""

    dim: int = 128
    projection: Literal["orthogonal", "default"] = "orthogonal"
    """How the projection starts: orthonormal rows keep the angles of the backbone's vectors best."""
    query_length: int = 64
    document_length: int = 256
    digits: Literal["wordpiece", "single"] = "wordpiece"
    """ "single" cuts numbers into digits, one token each, in place of the vocabulary's arbitrary pieces."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class GateSettings:
    """See `NumericalGate` for what each means."""

    hidden_dim: int = 128
    threshold: float = 0.5
    query_length: int | None = None
    """|Q| for every query; None counts the vectors of each."""
    reads: Literal["vector", "hidden"] = "vector"
    gate_on: Literal["gold", "detected"] = "gold"
    detector_trains_encoder: bool = True
    seed: int = 0


def build_colbert(
    backbone: str | Path, settings: ColBERTSettings | None = None, *, device: str = "cpu"
) -> MultiVectorEncoder:
    """A fresh, untrained ColBERT: `[Transformer, Dense, MultiVectorMask, Normalize]`.

    Args:
        backbone: A folder with a Hugging Face model, or a model id.
    """
    s = settings or ColBERTSettings()
    with _model_errors(backbone):
        transformer = Transformer(
            str(backbone), query_length=s.query_length, document_length=s.document_length
        )
    longest = getattr(transformer.model.config, "max_position_embeddings", None)
    if longest and max(s.query_length, s.document_length) > longest:
        raise UsageError(
            f"The backbone '{backbone}' reads at most {longest} tokens, the settings ask for more.",
            hint="lower query_length or document_length",
        )
    tokenizer = transformer.tokenizer
    if s.digits == "single":
        tokenizer = _splitting_digits(tokenizer)
    markers = _add_markers(tokenizer)
    transformer.processor = tokenizer
    # The tokenizer's own limit would cut texts before ours does, or warn about it.
    tokenizer.model_max_length = max(s.query_length, s.document_length)
    if len(tokenizer) > transformer.model.get_input_embeddings().num_embeddings:
        transformer.model.resize_token_embeddings(len(tokenizer), mean_resizing=False)

    size = transformer.get_embedding_dimension()
    generator = torch.Generator().manual_seed(s.seed)
    weight = torch.empty(s.dim, size)
    if s.projection == "orthogonal":
        nn.init.orthogonal_(weight, generator=generator)
    else:
        nn.init.kaiming_uniform_(weight, a=5**0.5, generator=generator)
    dense = Dense(
        in_features=size,
        out_features=s.dim,
        bias=False,
        activation_function=nn.Identity(),
        init_weight=weight,
        module_input_name="token_embeddings",
    )
    # An empty skip list: the usual one drops `$ % < > = . ,` and with them half of what a quantity is.
    modules = [transformer, dense, MultiVectorMask(), Normalize(module_input_name="token_embeddings")]
    return MultiVectorEncoder(
        modules=modules,
        prompts={"query": f"{markers[0]} ", "document": f"{markers[1]} "},
        device=device,
        similarity_fn_name="maxsim",
    )


def _add_markers(tokenizer: PreTrainedTokenizerBase) -> tuple[str, str]:
    """Make [Q] and [D] single tokens: BERT's unused ones where there are any, else new ones."""
    vocabulary = tokenizer.get_vocab()
    unused = ("[unused0]", "[unused1]")
    markers = unused if all(token in vocabulary for token in unused) else ("[Q]", "[D]")
    tokenizer.add_tokens(
        [AddedToken(m, special=True, normalized=False) for m in markers], special_tokens=True
    )
    return markers


def _splitting_digits(tokenizer: PreTrainedTokenizerBase) -> PreTrainedTokenizerFast:
    """The same tokenizer with every digit a token of its own.

    It becomes a plain `PreTrainedTokenizerFast`: model-specific classes build their own pre-tokenizer when
    loaded and would forget ours.
    """
    backend = tokenizer.backend_tokenizer
    first = [backend.pre_tokenizer] if backend.pre_tokenizer else []
    backend.pre_tokenizer = pre_tokenizers.Sequence([*first, pre_tokenizers.Digits(individual_digits=True)])
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=backend,
        model_input_names=tokenizer.model_input_names,
        **{
            name: str(token) for name, token in tokenizer.special_tokens_map.items() if isinstance(token, str)
        },
    )


def find_gate(model: MultiVectorEncoder) -> NumericalGate | None:
    """The gate of a model, also where it was loaded from the copy in the checkpoint's folder."""
    named = (module for module in model if type(module).__name__ == NumericalGate.__name__)
    return cast("NumericalGate | None", next(named, None))


def add_gate(model: MultiVectorEncoder, settings: GateSettings | None = None) -> MultiVectorEncoder:
    """Append an untrained gate, which changes no score yet; `model` itself is changed and returned."""
    if find_gate(model) is not None:
        raise UsageError("This model already has a numerical gate.", hint="load it with load_checkpoint")
    s = settings or GateSettings()
    transformer, dense = _part(model, Transformer), _part(model, Dense)
    if s.reads == "hidden":
        # Give the hidden state a name of its own, so that the projection does not overwrite it.
        transformer.module_output_name = dense.module_input_name = "hidden_state"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(s.seed)
        gate = NumericalGate(
            dim=dense.out_features,
            hidden_dim=s.hidden_dim,
            threshold=s.threshold,
            query_length=s.query_length or "actual",
            reads=s.reads,
            hidden_state_dim=dense.in_features if s.reads == "hidden" else None,
            ungated_token_ids=_special_ids(model),
            gate_on=s.gate_on,
            detector_trains_encoder=s.detector_trains_encoder,
        )
    model.append(gate.to(model.device))
    return model


def without_gate(model: MultiVectorEncoder) -> MultiVectorEncoder:
    """The plain ColBERT of a NumColBERT; `model` itself is changed and returned."""
    gate = find_gate(model)
    if gate is not None:
        del model[list(model).index(gate)]
    return model


def _special_ids(model: MultiVectorEncoder) -> list[int]:
    """[CLS], [SEP], [PAD], [MASK], the markers, and whatever fills up expanded queries."""
    tokenizer = model.tokenizer
    ids = set(tokenizer.all_special_ids)
    unknown = tokenizer.unk_token_id
    words = [prompt.strip() for prompt in model.prompts.values() if prompt]
    expansion = _part(model, Transformer).query_expansion
    words += [expansion["token"]] if expansion and expansion.get("token") else []
    ids |= {tokenizer.convert_tokens_to_ids(word) for word in words}
    return sorted(i for i in ids if i is not None and i != unknown)


def as_numcolbert(
    path: str | Path,
    settings: GateSettings | None = None,
    *,
    keep_punctuation: bool = True,
    device: str = "cpu",
) -> MultiVectorEncoder:
    """Open any ColBERT checkpoint and give it a gate, unless it has one.

    Reads sentence-transformers' and our own layout, PyLate's, and Stanford's (`colbertv2.0`: a folder with
    `artifact.metadata` and the projection as `linear.weight`). Query expansion stays as it was trained.

    Args:
        keep_punctuation: Index punctuation and symbols too; `$ % < > = . ,` are half of a quantity. False
            leaves the checkpoint's skip list, so that its documents are encoded as ever.
    """
    return with_gate(load_checkpoint(path, device=device), settings, keep_punctuation=keep_punctuation)


def with_gate(
    model: MultiVectorEncoder, settings: GateSettings | None = None, *, keep_punctuation: bool = True
) -> MultiVectorEncoder:
    """An opened ColBERT with a gate, its own where it has one; see `as_numcolbert`."""
    if keep_punctuation:
        mask = _part(model, MultiVectorMask)
        mask.skiplist_words = []
        mask.resolve_with_tokenizer(model.tokenizer)
    return model if find_gate(model) is not None else add_gate(model, settings)


def load_checkpoint(path: str | Path, *, device: str = "cpu") -> MultiVectorEncoder:
    """Open a ColBERT or NumColBERT checkpoint, a folder or a model id, in float32."""
    with _model_errors(path):
        projects = _has_projection(path)
        model: MultiVectorEncoder = MultiVectorEncoder._load_with_module_classes(
            str(path),
            {OUR_GATE: NumericalGate, PORTABLE_GATE: NumericalGate},
            device=device,
            local_files_only=Path(path).exists(),
        )
    _part(model, MultiVectorMask)
    if not projects:
        raise ModelError(
            f"'{path}' is no ColBERT: it holds no projection.",
            hint="make one of a backbone with build_colbert, or name it as model.backbone of a training",
        )
    gate, dense = find_gate(model), _part(model, Dense)
    if gate is not None and gate.dim != dense.out_features:
        raise ModelError(
            f"In '{path}' the gate wants vectors of size {gate.dim}, the encoder makes {dense.out_features}.",
            hint="the folder mixes two models; copy or download it again",
        )
    return model


def _has_projection(path: str | Path) -> bool:
    """sentence-transformers would give a model without one a random one, another each time."""
    found = {
        name: load_file_path(str(path), name, local_files_only=Path(path).exists())
        for name in (MARK, "config.json")
    }
    texts = {name: json.loads(Path(file).read_text(encoding="utf-8")) for name, file in found.items() if file}
    if MARK in texts:
        return any(module["type"].rpartition(".")[2] == Dense.__name__ for module in texts[MARK])
    return "HF_ColBERT" in (texts.get("config.json", {}).get("architectures") or [])  # Stanford's


def save_checkpoint(
    model: MultiVectorEncoder, folder: Path, *, half: bool = True, overwrite: bool = False
) -> None:
    """Write `model` so that `MultiVectorEncoder(folder, trust_remote_code=True)` opens it anywhere.

    Args:
        half: Store weights as float16, at half the size; they are float32 again once loaded.
    """
    with replacing_folder(folder, overwrite=overwrite, mark=MARK) as aside:
        model.save_pretrained(str(aside), create_model_card=False)
        modules_file = aside / MARK
        modules = json.loads(modules_file.read_text(encoding="utf-8"))
        for module in modules:
            if module["type"] == OUR_GATE:
                module["type"] = PORTABLE_GATE
        modules_file.write_text(json.dumps(modules, indent=2), encoding="utf-8")
        if half:
            for weights in aside.rglob("*.safetensors"):
                tensors = load_file(weights)
                small = {n: t.half() if t.is_floating_point() else t for n, t in tensors.items()}
                save_file(small, weights, metadata={"format": "pt"})
        # Without this, transformers would take float16 from the file and clash with the other modules.
        config_file = aside / "config.json"
        config = json.loads(config_file.read_text(encoding="utf-8"))
        config["dtype"] = "float32"
        config_file.write_text(json.dumps(config, indent=2), encoding="utf-8")


def _part(model: MultiVectorEncoder, kind: type[Any]) -> Any:
    for module in model:
        if isinstance(module, kind):
            return module
    raise ModelError(
        f"The model has no {kind.__name__} module, so it is no ColBERT.",
        hint="start from a ColBERT checkpoint, or make one with build_colbert",
    )


@contextmanager
def _model_errors(path: str | Path) -> Iterator[None]:
    """Turn what the libraries below raise for a bad folder into one sentence and a hint."""
    folder = Path(path)
    with access_errors(folder):
        there = folder.exists()
    looks_like_a_path = isinstance(path, Path) or str(path).startswith((".", "/", "~")) or there
    if looks_like_a_path and not folder.is_dir():
        raise ModelError(
            f"The model folder '{path}' does not exist.", hint="check the path, or name a Hugging Face model"
        )
    if (folder / GRAPH_FILE).is_file() and not (folder / MARK).is_file():
        raise ModelError(
            f"'{path}' is an exported model, which cannot be trained.",
            hint="name the folder it was exported from",
        )
    if looks_like_a_path and not (folder / "config.json").is_file():
        raise ModelError(
            f"'{path}' is not a model folder: it has no config.json.",
            hint="name a folder written by 'numcolbert train', sentence-transformers, PyLate or ColBERT",
        )
    noisy = logging.getLogger("sentence_transformers")
    level = noisy.level
    noisy.setLevel(logging.ERROR)
    try:
        yield
    except ValueError as error:
        if "saved in format" in str(error):
            raise ModelError(
                f"The model '{path}' was saved by a newer version: {error}.",
                hint="pip install --upgrade numcolbert",
            ) from error
        raise _unreadable(path, error) from error
    except pickle.UnpicklingError as error:
        raise ModelError(
            f"The weights of '{path}' are a pickle that holds more than tensors, so it was not opened.",
            hint="ask for a safetensors file, or convert it where you trust it",
        ) from error
    except (OSError, RuntimeError, KeyError, TypeError, SafetensorError, ImportError) as error:
        raise _unreadable(path, error) from error
    finally:
        noisy.setLevel(level)


def _unreadable(path: str | Path, error: Exception) -> ModelError:
    reason = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
    return ModelError(
        f"The model '{path}' cannot be read: {reason}.",
        hint="copy or download it again; a cut-off weights file looks like this"
        if Path(path).exists()
        else "there is no such folder here: is it the name of a Hugging Face model, and can that be reached?",
    )
