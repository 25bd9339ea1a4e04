"""The model a recipe asks for, and what the data side must know of it."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from numcolbert.errors import ModelError, UsageError
from numcolbert.model.checkpoint import (
    ColBERTSettings,
    GateSettings,
    build_colbert,
    load_checkpoint,
    with_gate,
    without_gate,
)
from numcolbert.train.packed import PackedSettings, compute_dtype
from numcolbert.train.text_reader import TextReader, TextSettings

if TYPE_CHECKING:
    from sentence_transformers import MultiVectorEncoder

    from numcolbert.train.recipe import Recipe


NEW_COLBERT = "backbone"


@dataclass(frozen=True)
class ModelSettings:
    backbone: str = "sentence-transformers/all-MiniLM-L6-v2"
    start_from: str = ""
    teacher: str = ""
    """Whose rankings of general questions `loss.keep` holds: those of this checkpoint, of a new ColBERT on
    the backbone (`NEW_COLBERT`), or of what training starts from."""
    gated: bool = True
    dropout: float = 0.0
    encoder: ColBERTSettings = field(default_factory=ColBERTSettings)
    gate: GateSettings = field(default_factory=GateSettings)


def build_model(settings: ModelSettings, device: torch.device) -> MultiVectorEncoder:
    return made_ready(open_start(settings), settings, device)


def open_start(settings: ModelSettings) -> MultiVectorEncoder:
    """What a training starts from, without a gate that begins with it; with its own where one is wanted."""
    if settings.start_from:
        start = load_checkpoint(settings.start_from)
        return start if settings.gated else without_gate(start)
    return build_colbert(settings.backbone, settings.encoder)


def open_teacher(settings: ModelSettings, student: MultiVectorEncoder) -> MultiVectorEncoder:
    """What `loss.keep` listens to, on the student's device: if nobody else, the student as it is now."""
    if not settings.teacher:
        return copy.deepcopy(student)
    checkpoint = "" if settings.teacher == NEW_COLBERT else settings.teacher
    teacher = open_start(replace(settings, start_from=checkpoint))
    # Both read one and the same batch, so a token has to mean the same to them.
    if _tokens_of(student) != _tokens_of(teacher):
        raise ModelError(
            f"The teacher '{settings.teacher}' reads text otherwise than the model that is trained.",
            hint="choose one with the same tokenizer, prompts and reading of digits",
        )
    text, most = text_settings(student), _positions(teacher)
    longest = max(text.query_length, text.document_length)
    if longest > most:
        raise ModelError(
            f"The teacher '{settings.teacher}' reads at most {most} tokens, the trained model {longest}.",
            hint="choose another teacher, or shorten model.encoder.query_length and document_length",
        )
    return teacher.float().to(student.device)


_PROBE = "R&D of $20,000.5 mln, 3 % above 1987's 19.4 \u00b5g"
_UNCUT = 1_000
"""Tokens that the probe never has."""


def _tokens_of(model: MultiVectorEncoder) -> tuple[list[int], list[int], int]:
    """How it reads a text with all that models read differently, and how many tokens it knows."""
    # Batches are cut by the student alone, so here neither cuts.
    whole = replace(text_settings(model), query_length=_UNCUT, document_length=_UNCUT)
    reader = TextReader(whole)
    return reader.queries([_PROBE])[0].ids, reader.documents([_PROBE])[0], len(model.tokenizer)


def _positions(model: MultiVectorEncoder) -> float:
    """The longest text its backbone has positions for."""
    transformer: Any = model[0]
    config = transformer.model.config
    first = 2 if config.model_type == "mpnet" else 0  # where MPNet, like RoBERTa, begins to count them
    return getattr(config, "max_position_embeddings", math.inf) - first


def made_ready(
    start: MultiVectorEncoder, settings: ModelSettings, device: torch.device
) -> MultiVectorEncoder:
    """A start on the device, with a gate where one is wanted."""
    model = with_gate(start, settings.gate) if settings.gated else start
    return model.float().to(device)


def text_settings(model: MultiVectorEncoder) -> TextSettings:
    """How `model` reads text, as values that travel to processes without torch."""
    transformer: Any = model[0]
    tokenizer = model.tokenizer
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ModelError(
            "The backbone has no fast tokenizer.", hint="choose a backbone whose folder holds tokenizer.json"
        )
    prompts = {name: model.prompts.get(name) or "" for name in ("query", "document")}
    markers = [tokenizer.convert_tokens_to_ids(p.strip()) for p in prompts.values() if p.strip()]
    special = {*tokenizer.all_special_ids, *markers} - {tokenizer.unk_token_id, None}
    longest = int(transformer.max_seq_length or 512)
    return TextSettings(
        tokenizer=backend.to_str(),
        query_prompt=prompts["query"],
        document_prompt=prompts["document"],
        query_length=int(transformer.query_length or longest),
        document_length=int(transformer.document_length or longest),
        special_ids=tuple(sorted(special)),
    )


def skipped_document_ids(model: MultiVectorEncoder) -> Tensor | None:
    """Tokens the model leaves out of its documents; none for models built here."""
    for module in model:
        skipped = getattr(module, "_skiplist_ids", None)
        if isinstance(skipped, Tensor) and len(skipped):
            return skipped.to(model.device)
    return None


def packing(recipe: Recipe, device: torch.device) -> PackedSettings:
    """How the packed encoder of a training on `device` computes."""
    return PackedSettings(
        dtype=compute_dtype(device, recipe.run.precision),
        attention=recipe.run.attention,
        compile_layers=recipe.run.compile == "on" or (recipe.run.compile == "auto" and device.type == "cuda"),
        dropout=recipe.model.dropout,
    )


def can_record(recipe: Recipe, device: torch.device) -> bool:
    """Whether steps may be recorded and replayed; dropout draws anew in every one."""
    return device.type == "cuda" and recipe.run.compile != "off" and not recipe.model.dropout


def choose_device(wanted: str) -> torch.device:
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UsageError(
            f"There is no device '{wanted}' on this machine.", hint="choose auto, cpu or cuda"
        ) from error
    return device
