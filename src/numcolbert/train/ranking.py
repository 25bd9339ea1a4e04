"""Exact MaxSim of many queries over a whole corpus, on the device, in seconds.

Nothing is approximated and nothing is saved: this is the oracle the trainer evaluates with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from numcolbert.progress import Progress
from numcolbert.train.packed import PackedEncoder, PackedTokens, packed_tokens
from numcolbert.train.packing import flat_ids
from numcolbert.train.padded import all_rows
from numcolbert.train.text_reader import TextReader

TOKENS_AT_ONCE = 32_768


@dataclass(frozen=True)
class Blocks:
    """How much of the matrix of all tokens is computed at once."""

    elements: int
    query_tokens: int


BLOCKS = {"cuda": Blocks(1 << 28, 1 << 62), "cpu": Blocks(1 << 21, 1 << 13)}
"""What keeps a GPU busy, and what stays in a processor's cache."""


@dataclass(frozen=True)
class Group:
    """Documents of about the same length, padded by repeating their first vector (it changes no maximum)."""

    documents: NDArray[np.int64]  # their rows in the corpus
    vectors: Tensor  # [documents, length, dim]


@dataclass(frozen=True)
class EncodedQueries:
    vectors: Tensor  # [tokens of all queries, dim], unit length
    query: Tensor  # [tokens], the query each token belongs to
    gates: Tensor  # [tokens], 1 where the gate does not act
    probabilities: Tensor  # [tokens]
    words: NDArray[np.bool_]  # [tokens], false for special tokens
    offsets: list[list[tuple[int, int]]]
    """Per query, the characters of each token in the query's text."""


def tokenise(reader: TextReader, texts: Sequence[str]) -> list[list[int]]:
    sequences: list[list[int]] = []
    with Progress("tokenise", len(texts), "documents") as progress:
        for start in range(0, len(texts), 4096):
            part = texts[start : start + 4096]
            sequences += reader.documents(part)
            progress.advance(len(part))
    return sequences


def encode_documents(
    encoder: PackedEncoder,
    sequences: Sequence[Sequence[int]],
    device: torch.device,
    *,
    skipped_ids: Tensor | None = None,
    store: torch.dtype = torch.float16,
) -> list[Group]:
    """All documents, shortest first, in groups of one padded length each."""
    groups: list[Group] = []
    with torch.no_grad(), Progress("encode", len(sequences), "documents") as progress:
        for rows in parts_by_length(sequences):
            tokens = packed_tokens([sequences[row] for row in rows], device)
            groups.append(Group(rows, _padded(encoder(tokens).to(store), tokens, skipped_ids)))
            progress.advance(len(rows))
    return groups


def parts_by_length(sequences: Sequence[Sequence[int]]) -> list[NDArray[np.int64]]:
    """Rows in the order of length, cut where a part has enough tokens."""
    lengths = np.array([len(s) for s in sequences], np.int64)
    order = np.argsort(lengths, kind="stable")
    share = (np.cumsum(lengths[order]) - 1) // TOKENS_AT_ONCE
    return [part for part in np.split(order, np.flatnonzero(np.diff(share)) + 1) if len(part)]


def _padded(
    vectors: Tensor, tokens: PackedTokens, skipped_ids: Tensor | None
) -> Tensor:  # [documents, longest, dim]
    texts = all_rows(tokens)
    first = texts.places[:, :1]
    kept = texts.mask
    if skipped_ids is not None:
        kept = kept & ~torch.isin(texts.of(tokens.ids), skipped_ids)
    return vectors[torch.where(kept, texts.places, first)]  # the first token, [CLS], is never skipped


def encode_queries(
    encoder: PackedEncoder,
    gate: Any,
    reader: TextReader,
    texts: Sequence[str],
    device: torch.device,
) -> EncodedQueries:
    """Query vectors with what the gate says of each, by the detector (never by gold spans)."""
    read = reader.queries(texts)
    sequences = [tokens.ids for tokens in read]
    flat = flat_ids(sequences)
    words = ~np.isin(flat, np.array(reader.settings.special_ids))
    lengths = torch.tensor([len(s) for s in sequences], device=device)
    query = torch.repeat_interleave(torch.arange(len(texts), device=device), lengths)
    pieces = []
    with torch.no_grad():
        for start in range(0, len(sequences), 512):
            hidden = encoder.hidden(packed_tokens(sequences[start : start + 512], device))
            pieces.append((hidden, encoder.project(hidden)))
        vectors = torch.cat([v for _, v in pieces])
        gates = torch.ones(len(vectors), device=device)
        probabilities = torch.zeros_like(gates)
        if gate is not None:
            hidden = torch.cat([h for h, _ in pieces])
            logit, strength = gate.weigh(hidden if gate.reads == "hidden" else vectors, lengths[query])
            is_word = torch.from_numpy(words).to(device)
            probabilities = torch.sigmoid(logit) * is_word
            gates = torch.where(probabilities > gate.threshold, strength, gates)
    return EncodedQueries(
        vectors,
        query,
        gates,
        probabilities,
        words,
        [tokens.offsets for tokens in read],
    )


def score_all(queries: EncodedQueries, weights: Sequence[Tensor], groups: Sequence[Group]) -> list[Tensor]:
    """MaxSim of every query with every document, once for each set of token weights.

    A weight scales a query vector, and a positive factor can be taken out of the maximum: so the maxima
    are computed once, for any number of weightings. Returns [queries, documents] float32 each.
    """
    device = queries.vectors.device
    count = int(queries.query.max()) + 1 if len(queries.query) else 0
    size = sum(len(group.documents) for group in groups)
    scores = [torch.zeros(count, size, device=device) for _ in weights]
    blocks = BLOCKS["cuda" if device.type == "cuda" else "cpu"]
    with torch.no_grad(), Progress("score", size, "documents") as progress:
        for group in groups:
            tokens = torch.split(queries.vectors.to(group.vectors.dtype), blocks.query_tokens)
            widest = max(map(len, tokens), default=0)
            at_once = max(1, blocks.elements // max(1, widest * group.vectors.shape[1]))
            for start in range(0, len(group.documents), at_once):
                part = group.vectors[start : start + at_once]
                rows = torch.from_numpy(group.documents[start : start + at_once]).to(device)
                best = torch.cat([_best_matches(part, some) for some in tokens], dim=1)
                for weight, score in zip(weights, scores, strict=True):
                    part_sum = torch.zeros(len(rows), count, device=device)
                    score[:, rows] = part_sum.index_add_(1, queries.query, best * weight).T
                progress.advance(len(rows))
    return scores


def _best_matches(documents: Tensor, tokens: Tensor) -> Tensor:
    """[documents, length, dim] and [tokens, dim] to [documents, tokens] float32.

    Query tokens come last: the maximum then runs over whole rows, many entries at a time.
    """
    count, length, dim = documents.shape
    similarity = documents.reshape(-1, dim) @ tokens.T  # [documents * length, tokens]
    return similarity.view(count, length, -1).amax(dim=1).float()


def best_documents(
    scores: Tensor, ids: Sequence[str], query_ids: Sequence[str], k: int
) -> dict[str, list[tuple[str, float]]]:
    """Per query the best `k` documents with their scores, best first."""
    values, rows = scores.topk(min(k, scores.shape[1]), dim=1)
    found = zip(query_ids, values.tolist(), rows.tolist(), strict=True)
    return {query: [(ids[r], v) for v, r in zip(vs, rs, strict=True)] for query, vs, rs in found}
