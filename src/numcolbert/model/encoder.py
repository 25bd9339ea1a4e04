"""Text to token vectors, with onnxruntime, tokenizers and numpy alone."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from numcolbert.errors import InputError, ModelError, UsageError
from numcolbert.model.folder import (
    CHANGED,
    CONFIG_FILE,
    GRAPH_FILE,
    TOKENIZER_FILE,
    ModelConfig,
    graph_folder,
    read_config,
)
from numcolbert.model.runtime import onnxruntime
from numcolbert.types import DocumentEncoding, QueryEncoding, Span

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

DEFAULT = "default"
TOKENS_AT_ONCE = 256
"""Tokens of a batch, padding included: what a layer makes of them then stays in a core's own cache."""


class QuantityCutOffWarning(UserWarning):
    """A text is longer than the model reads, and there is a number in what it does not read."""


class NoGateWarning(UserWarning):
    """The model is a plain ColBERT: numbers count as much as any other token."""


@dataclass(frozen=True, slots=True)
class _Tokens:
    """One text as the graph reads it."""

    ids: list[int]
    attended: int
    """The first so many are seen by the transformer, the rest is expansion that only scores."""
    names: tuple[str, ...]
    spans: tuple[Span | None, ...]


class Encoder:
    """Encodes queries with the gate and documents without."""

    def __init__(
        self, config: ModelConfig, session: InferenceSession, tokenizer: Tokenizer, name: str, threads: int
    ) -> None:
        self.config, self.name, self._threads = config, name, threads
        self._session, self._tokenizer = session, tokenizer
        self._inputs = {node.name for node in session.get_inputs()}
        self._skipped = np.array(config.skipped_tokens, np.int64)

    @classmethod
    def load(cls, path: str | Path | None = None, *, threads: int | None = None) -> Encoder:
        """Open an exported model; None opens the one inside the package.

        Args:
            path: A folder with `model.onnx`, or a checkpoint that has one in its folder `onnx`.
            threads: Cores to use; all this process may use (or `OMP_NUM_THREADS`) where None.
        """
        if path is None or str(path) == DEFAULT:
            folder, name = _packaged_model(), DEFAULT
        elif not str(path).strip():
            raise UsageError(
                "The name of the model is empty.",
                hint=f"name its folder, or '{DEFAULT}' for the packaged one",
            )
        else:
            folder, name = graph_folder(Path(path)), str(path)
        config = read_config(folder)
        session = _open_graph(folder / GRAPH_FILE)
        dim = session.get_outputs()[0].shape[-1]
        if dim != config.dim:
            raise ModelError(
                f"The graph of '{folder}' makes vectors of size {dim}, its config says {config.dim}.",
                hint="the folder mixes two models; copy or download it again",
            )
        if config.gate is None:
            warnings.warn(
                f"The model '{name}' has no numerical gate: it is used as a plain ColBERT.",
                NoGateWarning,
                stacklevel=2,
            )
        tokenizer = _open_tokenizer(folder / TOKENIZER_FILE)
        _check_tokens(config, tokenizer, folder / CONFIG_FILE)
        return cls(config, session, tokenizer, name, threads or _available_cores())

    @property
    def dim(self) -> int:
        return self.config.dim

    @property
    def fingerprint(self) -> str:
        return self.config.fingerprint

    @property
    def has_gate(self) -> bool:
        return self.config.gate is not None

    def encode_queries(self, texts: Sequence[str], batch_size: int = 32) -> list[QueryEncoding]:
        """Gated vectors with, for each token, the detector's probability and the gate."""
        wanted = ["gated", "probability", "gate"] if self.has_gate else ["vectors"]
        tokenised = self._tokenise(texts, query=True)
        encodings: list[QueryEncoding | None] = [None] * len(tokenised)
        for rows, outputs in self._run(tokenised, wanted, batch_size):
            for place, row in enumerate(rows):
                tokens = tokenised[row]
                count = len(tokens.ids)
                vectors = outputs[0][place, :count]
                ones = np.ones(count, np.float32)
                encodings[row] = QueryEncoding(
                    text=texts[row],
                    vectors=np.ascontiguousarray(vectors),
                    tokens=tokens.names,
                    spans=tokens.spans,
                    probabilities=outputs[1][place, :count].copy() if self.has_gate else 0 * ones,
                    gates=outputs[2][place, :count].copy() if self.has_gate else ones,
                )
        return [encoding for encoding in encodings if encoding is not None]

    def encode_documents(self, texts: Sequence[str], batch_size: int = 32) -> list[DocumentEncoding]:
        """Unit vectors, one a token."""
        tokenised = self._tokenise(texts, query=False)
        encodings: list[DocumentEncoding | None] = [None] * len(tokenised)
        for rows, (vectors,) in self._run(tokenised, ["vectors"], batch_size):
            for place, row in enumerate(rows):
                tokens = tokenised[row]
                found, names, spans = vectors[place, : len(tokens.ids)], tokens.names, tokens.spans
                if len(self._skipped):
                    kept = np.flatnonzero(~np.isin(tokens.ids, self._skipped)).tolist()
                    found = found[kept]
                    names, spans = tuple(names[i] for i in kept), tuple(spans[i] for i in kept)
                encodings[row] = DocumentEncoding(np.ascontiguousarray(found), names, spans)
        return [encoding for encoding in encodings if encoding is not None]

    def _tokenise(self, texts: Sequence[str], *, query: bool) -> list[_Tokens]:
        for position, text in enumerate(texts):
            if not isinstance(text, str):
                raise InputError(
                    f"Text {position + 1} of {len(texts)} is of type {type(text).__name__}.",
                    hint="pass strings",
                )
        try:
            encoded = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        except (TypeError, UnicodeEncodeError) as error:
            raise InputError(
                "A text holds characters that are not valid Unicode.",
                hint="decode the file with errors='replace'",
            ) from error
        c = self.config
        expansion = c.expansion if query else None
        limit = c.query_length if query else c.document_length
        if expansion is not None:
            limit = expansion.length if expansion.fixed else max(limit, expansion.length)
        marker = c.query_marker if query else c.document_marker
        head, tail = [c.first_token, marker], [c.last_token]
        room = limit - len(head) - len(tail)
        results, cut = [], []
        for text, one in zip(texts, encoded, strict=True):
            pieces, spans = one.ids, one.offsets
            if len(pieces) > room:
                if re.search(r"\d", text[spans[room][0] :]):
                    cut.append(text)
                pieces, spans = pieces[:room], spans[:room]
            ids = head + pieces + tail
            filling = [expansion.token_id] * (expansion.length - len(ids)) if expansion else []
            attended = len(ids) + (len(filling) if expansion and expansion.attend else 0)
            names = (*self._names(head), *one.tokens[: len(pieces)], *self._names(tail + filling))
            special = len(tail) + len(filling)
            places: tuple[Span | None, ...] = (None, None, *spans, *[None] * special)
            results.append(_Tokens(ids + filling, attended, names, places))
        if cut:
            what, advice = (
                ("queries", "Shorten the query.") if query else ("texts", "Split long texts into passages.")
            )
            warnings.warn(
                f"{len(cut)} of {len(texts)} {what} are longer than {limit} tokens and have a number in what "
                f"is not read; the first begins '{cut[0][:60]}'. {advice}",
                QuantityCutOffWarning,
                stacklevel=3,
            )
        return results

    def _names(self, ids: list[int]) -> list[str]:
        """As people know them: the markers are words of the backbone that nobody used, such as [unused0]."""
        markers = {self.config.query_marker: "[Q]", self.config.document_marker: "[D]"}
        return [markers.get(i) or self._tokenizer.id_to_token(i) or "" for i in ids]

    def _run(
        self, tokenised: list[_Tokens], wanted: list[str], batch_size: int
    ) -> list[tuple[list[int], list[NDArray[np.float32]]]]:
        """Run the graph over texts of like length together; a row of a result belongs to the text named.

        Each core works on batches of its own: for a model this small that beats all cores on one batch.
        """
        if not tokenised:
            return []
        order = sorted(range(len(tokenised)), key=lambda row: -len(tokenised[row].ids))
        size = min(batch_size, -(-len(order) // self._threads))
        batches: list[list[int]] = []
        start = 0
        while start < len(order):
            longest = len(tokenised[order[start]].ids)
            batches.append(order[start : start + max(1, min(size, TOKENS_AT_ONCE // longest))])
            start += len(batches[-1])

        def run(rows: list[int]) -> tuple[list[int], list[NDArray[np.float32]]]:
            arrays = self._arrays([tokenised[row] for row in rows])
            try:
                return rows, self._session.run(wanted, arrays)
            except Exception as error:  # onnxruntime's errors share no base class
                reason = (str(error).strip() or type(error).__name__).splitlines()[0]
                raise ModelError(
                    f"The graph of the model '{self.name}' cannot read texts of "
                    f"{arrays['input_ids'].shape[1]} tokens: {reason}.",
                    hint=f"lengths in its {CONFIG_FILE} may have been changed; copy or download it again",
                ) from error

        if len(batches) == 1:
            return [run(batches[0])]
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(run, batches))

    def _arrays(self, batch: list[_Tokens]) -> dict[str, Any]:
        longest = max(len(tokens.ids) for tokens in batch)
        ids = np.full((len(batch), longest), self.config.pad_token, np.int64)
        attended, scored = np.zeros_like(ids), np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens.ids)] = tokens.ids
            attended[row, : tokens.attended] = 1
            scored[row, : len(tokens.ids)] = 1
        arrays = {"input_ids": ids, "attention_mask": attended, "score_mask": scored}
        return {name: array for name, array in arrays.items() if name in self._inputs}


def _packaged_model() -> Path:
    folder = Path(str(resources.files("numcolbert") / "assets" / "model"))
    if not folder.is_dir():
        raise ModelError(
            "This installation carries no model.", hint="name one with --model, or reinstall numcolbert"
        )
    return folder


def _available_cores() -> int:
    chosen = os.environ.get("OMP_NUM_THREADS", "")
    if chosen.isdigit() and int(chosen) > 0:
        return int(chosen)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _open_graph(file: Path) -> InferenceSession:
    runtime = onnxruntime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # batches run side by side instead
    options.log_severity_level = 3
    # Processors without VNNI add products up in 16 bits, which overflow; with this they take the exact way.
    options.add_session_config_entry("session.x64quantprecision", "1")
    try:
        session: InferenceSession = runtime.InferenceSession(
            str(file), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime's errors share no base class
        reason = str(error).strip().splitlines()[0]
        raise ModelError(
            f"onnxruntime {runtime.__version__} cannot open '{file}': {reason}.",
            hint="pip install --upgrade onnxruntime",
        ) from error
    return session


def _open_tokenizer(file: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # tokenizers raises nothing more precise
        raise ModelError(
            f"The tokenizer '{file}' cannot be read: {error}.", hint="copy or download the model again"
        ) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _check_tokens(config: ModelConfig, tokenizer: Tokenizer, file: Path) -> None:
    """The graph looks tokens up in a table, which knows no more than the tokenizer."""
    for name, token in config.tokens.items():
        if not 0 <= token < 2**32 or tokenizer.id_to_token(token) is None:
            raise ModelError(f"In '{file}' {name} is {token}, which is no token.", hint=CHANGED)
