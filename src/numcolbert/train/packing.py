"""Triples to arrays: tokenised, packed end to end, labelled. Runs in the worker processes, without torch."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numcolbert.data.triple import OPERATORS, Passage, QueryCondition, Triple
from numcolbert.train.text_reader import TextReader, TextSettings, Tokens

Arrays = dict[str, NDArray[Any]]

_OPERATOR = {name: position for position, name in enumerate(OPERATORS)}

# Sizes are rounded up coarsely: nearly all batches of a run then have the same shapes, and a step that was
# recorded once can be replayed for the next batch.
QUERY_WIDTH, DOCUMENT_WIDTH, GROUP_WIDTH = 48, 32, 16
CONDITIONS_SHARE = 1.25
"""Conditions are filled up to a multiple of so many a triple: above the one that nearly all queries have, so
that it makes no difference how many of a batch have two."""
NO_CONDITION = np.array([0, -1, -2, -2, -1])
"""Query, operator, unit, dimension and pair of a row that fills up: equal to those of no quantity."""


@dataclass(frozen=True)
class PackSettings:
    token_multiple: int = 2048
    """The stream is filled up to a multiple of this, so that the compiler sees few shapes."""
    quantities: int = 16
    """Quantities kept of one passage."""


class BatchMaker:
    """Turns a list of triples into the arrays of one batch.

    Order of the sequences: all queries, all positives, all negatives, then filling.
    """

    def __init__(self, text: TextSettings, settings: PackSettings) -> None:
        self.reader = TextReader(text)
        self.settings = settings

    def make(self, triples: Sequence[Triple]) -> Arrays:
        queries = self.reader.queries([t.query for t in triples])
        passages = [t.positive for t in triples] + [t.negative for t in triples]
        documents = self.reader.documents([p.text for p in passages])
        query_ids = [tokens.ids for tokens in queries]
        arrays = pack([*query_ids, *documents], self.settings.token_multiple, self._longest())
        width = min(_up(max(map(len, query_ids)), QUERY_WIDTH), _up(self.reader.settings.query_length, 8))
        in_queries = sum(map(len, query_ids))
        arrays["sizes"] = np.array(
            [
                len(triples),
                width,
                _up(max(map(len, documents)), DOCUMENT_WIDTH),
                min(_up(in_queries, max(1, self.settings.token_multiple // 4)), len(arrays["ids"])),
                in_queries + sum(map(len, documents)),
            ]
        )
        arrays |= self._words(query_ids, width)
        arrays |= self._conditions(triples, queries, width)
        arrays |= self._quantities(passages)
        arrays |= group_by_length(
            [len(ids) for ids in documents], longest=self.reader.settings.document_length
        )
        arrays["document_key"] = self.keys(passages)
        return arrays

    @staticmethod
    def keys(passages: Sequence[Passage]) -> NDArray[np.int64]:
        """Equal for equal texts."""
        return np.array([zlib.crc32(p.text.encode()) for p in passages], np.int64)

    def _longest(self) -> int:
        return max(self.reader.settings.query_length, self.reader.settings.document_length)

    def _words(self, queries: Sequence[list[int]], width: int) -> Arrays:
        padded = np.full((len(queries), width), -1, np.int32)
        for row, ids in zip(padded, queries, strict=True):
            row[: len(ids)] = ids
        special = np.isin(padded, [-1, *self.reader.settings.special_ids])
        return {"word_mask": ~special}

    def _conditions(self, triples: Sequence[Triple], queries: Sequence[Tokens], width: int) -> Arrays:
        rows: list[tuple[int, QueryCondition]] = []
        marks: list[NDArray[np.bool_]] = []
        for number, (triple, tokens) in enumerate(zip(triples, queries, strict=True)):
            for condition in triple.conditions:
                marked = self.reader.mention(tokens, condition.span)
                if not marked:
                    continue  # cut off by the length limit: nothing left to learn from
                mark = np.zeros(width, np.bool_)
                mark[marked] = True
                rows.append((number, condition))
                marks.append(mark)
        whole = np.array(
            [(n, _OPERATOR[c.operator], c.unit, c.dimension, c.pair) for n, c in rows], np.int64
        ).reshape(-1, 5)
        real = np.array([(c.value, c.base_value, c.base_high) for _, c in rows], np.float64).reshape(-1, 3)
        mention = np.array(marks, np.bool_).reshape(-1, width)
        filling = _up(len(rows), max(1, round(len(triples) * CONDITIONS_SHARE))) - len(rows)
        whole = np.concatenate([whole, np.tile(NO_CONDITION, (filling, 1))])
        real = np.concatenate([real, np.zeros((filling, 3))])
        names = ("query", "operator", "unit", "dimension", "pair")
        arrays: Arrays = {f"condition_{name}": whole[:, i].copy() for i, name in enumerate(names)}
        for i, name in enumerate(("value", "base_value", "base_high")):
            arrays[f"condition_{name}"] = real[:, i].copy()
        arrays["condition_mention"] = np.concatenate([mention, np.zeros((filling, width), np.bool_)])
        return arrays

    def _quantities(self, passages: Sequence[Passage]) -> Arrays:
        columns = max(1, self.settings.quantities)
        whole = np.full((3, len(passages), columns), -1, np.int64)
        value = np.zeros((len(passages), columns), np.float64)
        for row, passage in enumerate(passages):
            for column, quantity in enumerate(passage.quantities[:columns]):
                whole[:, row, column] = quantity.unit, quantity.dimension, quantity.pair
                value[row, column] = quantity.base_value
        names = ("unit", "dimension", "pair")
        arrays: Arrays = {f"quantity_{name}": whole[i] for i, name in enumerate(names)}
        arrays["quantity_base_value"] = value
        return arrays


def group_by_length(lengths: Sequence[int], groups: int = 5, *, longest: int | None = None) -> Arrays:
    """Documents in order of length, cut into groups that get smaller towards the few long ones.

    Gives `document_order` and `document_groups`: rows of (first, last + 1, width), where no document is
    longer than the width. MaxSim and attention pad within a group only. `longest` is what a document can be
    at most; without it, what the longest here is.
    """
    sizes = np.array(lengths, np.int64)
    order = np.argsort(sizes, kind="stable")
    # By number of documents and not of tokens: the length at a rank hardly changes from batch to batch.
    shares = 1 - (1 - np.arange(groups + 1) / groups) ** 2
    edges = np.unique(np.round(shares * len(sizes)).astype(np.int64))
    most = longest or int(sizes.max(initial=1))
    widths = [group_width(int(sizes[order[end - 1]]), most) for end in edges[1:]]
    return {"document_order": order, "document_groups": np.stack([edges[:-1], edges[1:], widths], axis=1)}


def group_width(length: int, longest: int) -> int:
    """16, 32, 48, 80, 128, ...: each the sum of the two before, and so about 1.6 times the last.

    In even steps the few long documents, whose lengths vary most, would make most of the forms.
    """
    width, following = GROUP_WIDTH, 2 * GROUP_WIDTH
    while width < length:
        width, following = following, width + following
    return min(width, _up(longest, GROUP_WIDTH))


def flat_ids(sequences: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    """Sequences end to end."""
    return np.fromiter(chain.from_iterable(sequences), np.int32)


def pack(sequences: Sequence[Sequence[int]], multiple: int, longest: int) -> Arrays:
    """Sequences end to end, filled up with sequences of token 0 to a multiple of `multiple` tokens.

    The filling is cut like real sequences (kernels leave tokens outside every sequence undefined); the
    number of sequences depends on the settings alone, so that array shapes stay the same.
    """
    lengths = np.array([len(s) for s in sequences], np.int64)
    total = int(lengths.sum())
    left = _up(total, multiple) - total
    filling = np.minimum(np.maximum(left - longest * np.arange(-(-multiple // longest)), 0), longest)
    lengths = np.concatenate([lengths, filling])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    ids = np.zeros(total + left, np.int32)
    ids[:total] = flat_ids(sequences)
    positions = np.arange(len(ids)) - np.repeat(starts[:-1], lengths)
    return {
        "ids": ids,
        "positions": positions.astype(np.int32),
        "starts": starts.astype(np.int32),
    }


def _up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple
