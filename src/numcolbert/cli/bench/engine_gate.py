"""What the gate costs before a search: encoding queries with it, and with the same model without it."""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numcolbert.index.bench import QuerySeconds
    from numcolbert.model.encoder import Encoder


def encoding_seconds(model: str | None, texts: Sequence[str], rounds: int) -> QuerySeconds | None:
    """The fastest of `rounds` for each query, by turns; None where the graph cannot be cut (no onnx)."""
    import numpy as np

    from numcolbert.index.bench import QuerySeconds
    from numcolbert.model.encoder import Encoder

    if importlib.util.find_spec("onnx") is None:
        return None
    with tempfile.TemporaryDirectory(prefix="numcolbert-bench-") as folder:
        encoders = [_without_gate(model, Path(folder)), Encoder.load(model)]
        for encoder in encoders:
            encoder.encode_queries(list(texts[:3]))
        times = np.full((2, rounds, len(texts)), np.inf)
        for round_number in range(rounds):
            for at, text in enumerate(texts):
                for which in (0, 1) if (round_number + at) % 2 else (1, 0):
                    begin = time.perf_counter()
                    encoders[which].encode_queries([text])
                    times[which, round_number, at] = time.perf_counter() - begin
    plain, gated = times.min(axis=1)
    return QuerySeconds(plain, gated)


def _without_gate(model: str | None, folder: Path) -> Encoder:
    """The model with the gate cut out of its graph: onnxruntime computes outputs that nobody asks for too."""
    import onnx
    from onnx.utils import extract_model

    from numcolbert.files import sha256
    from numcolbert.model.encoder import Encoder
    from numcolbert.model.folder import GRAPH_FILE, TOKENIZER_FILE, read_config, write_config

    source = Path(model) if model else Path(str(resources.files("numcolbert") / "assets" / "model"))
    if not (source / GRAPH_FILE).is_file():
        source = source / "onnx"
    inputs = [each.name for each in onnx.load(source / GRAPH_FILE).graph.input]
    extract_model(str(source / GRAPH_FILE), str(folder / GRAPH_FILE), inputs, ["vectors"], check_model=False)
    shutil.copy(source / TOKENIZER_FILE, folder)
    files = {name: sha256(folder / name) for name in (GRAPH_FILE, TOKENIZER_FILE)}
    write_config(folder, replace(read_config(source), gate=None, files=files))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has no gate is what we want
        return Encoder.load(folder)
