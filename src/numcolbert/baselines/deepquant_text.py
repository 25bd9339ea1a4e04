"""Texts as DeepQuant's tensors: token ids, and for every number token its exponent, mantissa and sign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from tokenizers import AddedToken, Tokenizer
from torch import Tensor

from numcolbert.baselines.fitting import Batch, by_length
from numcolbert.baselines.number_marks import NUMBER_TOKEN, exponent_and_mantissa, mark_numbers
from numcolbert.data.triple import Triple

MOST_NUMBERS = 12
"""Numbers kept of one text."""


@dataclass(slots=True)
class Marked:
    ids: Tensor  # [B, T] long
    mask: Tensor  # [B, T] long, 1 for tokens
    is_number: Tensor  # [B, T] bool
    position: Tensor  # [B, M] long, where each number token stands; 0 where there is none
    number_mask: Tensor  # [B, M] bool
    value: Tensor  # [B, M] float64
    exponent: Tensor  # [B, M] long, class
    mantissa: Tensor  # [B, M] float32, 1..10
    negative: Tensor  # [B, M] bool

    def to(self, device: torch.device) -> Marked:
        return Marked(*(getattr(self, f.name).to(device) for f in fields(self)))

    def rows(self, chosen: Tensor | slice, width: int | None = None) -> Marked:
        """Some of the texts, cut to their first `width` tokens."""
        parts = {f.name: getattr(self, f.name)[chosen] for f in fields(self)}
        return Marked(
            **{n: p[:, :width] if n in ("ids", "mask", "is_number") else p for n, p in parts.items()}
        )

    def as_batch(self, prefix: str) -> Batch:
        return {prefix + f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def of(cls, batch: Batch, prefix: str) -> Marked:
        return cls(*(batch[prefix + f.name] for f in fields(cls)))


@dataclass
class DeepQuantText:
    """Reads texts; picklable, so that it works in the loader's processes."""

    tokenizer: str
    """The tokenizer as JSON, with the number token in it."""
    query_length: int
    document_length: int

    @classmethod
    def of(cls, tokenizer: str, query_length: int, document_length: int) -> DeepQuantText:
        known = Tokenizer.from_str(tokenizer)
        known.add_special_tokens([AddedToken(NUMBER_TOKEN, normalized=False)])
        return cls(known.to_str(), query_length, document_length)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_ready"}

    def __call__(self, triples: Sequence[Triple]) -> Batch:
        passages = [t.positive.text for t in triples] + [t.negative.text for t in triples]
        queries = self.read([t.query for t in triples], query=True)
        documents = self.read(passages)
        order, groups = by_length(documents.mask)
        return queries.as_batch("query_") | documents.rows(order).as_batch("document_") | groups

    def read(self, texts: Sequence[str], *, query: bool = False) -> Marked:
        tokenizer = self._tokenizers()[0 if query else 1]
        marked = [mark_numbers(text) for text in texts]
        encodings = tokenizer.encode_batch([m.text for m in marked])
        ids = np.array([e.ids for e in encodings])
        number = tokenizer.token_to_id(NUMBER_TOKEN)
        places = [np.flatnonzero(row == number)[:MOST_NUMBERS] for row in ids]
        columns = max(1, max(map(len, places)))
        shape = (len(texts), columns)
        position, exponent = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        value, mantissa = np.zeros(shape), np.ones(shape, np.float32)
        present = np.zeros(shape, np.bool_)
        for row, (found, text) in enumerate(zip(places, marked, strict=True)):
            for column, place in enumerate(found):
                number_value = text.values[column]
                position[row, column], value[row, column] = place, number_value
                exponent[row, column], mantissa[row, column] = exponent_and_mantissa(number_value)
                present[row, column] = True
        return Marked(
            torch.from_numpy(ids),
            torch.from_numpy(np.array([e.attention_mask for e in encodings])),
            torch.from_numpy(ids == number),
            torch.from_numpy(position),
            torch.from_numpy(present),
            torch.from_numpy(value),
            torch.from_numpy(exponent),
            torch.from_numpy(mantissa),
            torch.from_numpy(value < 0),
        )

    def _tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        ready: tuple[Tokenizer, Tokenizer] | None = getattr(self, "_ready", None)
        if ready is None:
            ready = (Tokenizer.from_str(self.tokenizer), Tokenizer.from_str(self.tokenizer))
            for tokenizer, length in zip(ready, (self.query_length, self.document_length), strict=True):
                tokenizer.enable_truncation(length)
                tokenizer.enable_padding()
            self._ready = ready
        return ready
