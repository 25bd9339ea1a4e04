"""Texts as DeepQuant reads them: each number one token, with its exponent and mantissa.

No torch here: it works in the processes that make batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from tokenizers import AddedToken, Tokenizer

from numcolbert.baselines.number_marks import NUMBER_TOKEN, MarkedText, exponent_and_mantissa, mark_numbers
from numcolbert.data.triple import Passage, Triple
from numcolbert.train.packing import Arrays, BatchMaker, PackSettings, flat_ids
from numcolbert.train.text_reader import TextReader, TextSettings

MOST_IN_QUERY, MOST_IN_DOCUMENT = 4, 12
"""Numbers kept of one text. Batches are always filled up to that, so that few of them differ in shape."""


def deepquant_text(tokenizer: str, query_length: int, document_length: int) -> TextSettings:
    """How DeepQuant reads, with a tokenizer (as JSON) that gets to know the number token."""
    known = Tokenizer.from_str(tokenizer)
    known.add_special_tokens([AddedToken(NUMBER_TOKEN, normalized=False)])
    return TextSettings(known.to_str(), "", "", query_length, document_length, special_ids=())


def number_id(text: TextSettings) -> int:
    """The id of the token that stands for every number."""
    return Tokenizer.from_str(text.tokenizer).get_vocab(with_added_tokens=True)[NUMBER_TOKEN]


class NumberReader:
    """Reads queries or passages that are to be ranked."""

    def __init__(self, text: TextSettings) -> None:
        self._reader, self._number = TextReader(text), number_id(text)

    def queries(self, texts: Sequence[str]) -> tuple[list[list[int]], Arrays]:
        marked = [mark_numbers(text) for text in texts]
        read = self._reader.queries([m.text for m in marked])
        return self._with_numbers([tokens.ids for tokens in read], marked, MOST_IN_QUERY)

    def documents(self, texts: Sequence[str]) -> tuple[list[list[int]], Arrays]:
        marked = [mark_numbers(text) for text in texts]
        return self._with_numbers(self._reader.documents([m.text for m in marked]), marked, MOST_IN_DOCUMENT)

    def _with_numbers(
        self, ids: list[list[int]], marked: Sequence[MarkedText], most: int
    ) -> tuple[list[list[int]], Arrays]:
        values = [m.values for m in marked]
        columns = min(most, max(1, max(map(len, values), default=0)))
        starts = np.concatenate([[0], np.cumsum([len(sequence) for sequence in ids])])
        return ids, number_arrays(flat_ids(ids) == self._number, starts, values, columns)


class NumberBatchMaker(BatchMaker):
    """NumColBERT's batches of texts with marked numbers, and what is known of those."""

    def __init__(self, text: TextSettings, settings: PackSettings) -> None:
        super().__init__(text, settings)
        self._number = number_id(text)

    def make(self, triples: Sequence[Triple]) -> Arrays:
        values: list[Sequence[float]] = []

        def marked(text: str) -> str:
            found = mark_numbers(text)
            values.append(found.values)
            return found.text

        def passage(written: Passage) -> Passage:
            return replace(written, text=marked(written.text))

        count = len(triples)
        queries = [marked(triple.query) for triple in triples]
        positives = [passage(triple.positive) for triple in triples]
        negatives = [passage(triple.negative) for triple in triples]
        arrays = super().make(
            [
                # Where a condition is mentioned is of no use here; only that it is.
                Triple(
                    query, [replace(c, span=(0, len(query))) for c in triple.conditions], positive, negative
                )
                for triple, query, positive, negative in zip(
                    triples, queries, positives, negatives, strict=True
                )
            ]
        )
        # Passages that differ in numbers alone are not the same.
        arrays["document_key"] = self.keys(
            [triple.positive for triple in triples] + [triple.negative for triple in triples]
        )
        is_number, starts = arrays["ids"] == self._number, arrays["starts"]
        for side, first, last, most in (
            ("query", 0, count, MOST_IN_QUERY),
            ("document", count, 3 * count, MOST_IN_DOCUMENT),
        ):
            found = number_arrays(is_number, starts[first : last + 1], values[first:last], most)
            arrays |= {f"{side}_{name}": array for name, array in found.items()}
        return arrays


def number_arrays(
    is_number: NDArray[np.bool_],  # [tokens]
    starts: NDArray[np.integer],  # [texts + 1], where each text begins and the last ends
    values: Sequence[Sequence[float]],
    most: int,
) -> Arrays:
    """The first `most` numbers of each text, all [texts, most]."""
    shape = (len(values), most)
    place, exponent = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    value, mantissa = np.zeros(shape), np.ones(shape, np.float32)
    present = np.zeros(shape, np.bool_)
    for row, of_text in enumerate(values):
        found = np.flatnonzero(is_number[starts[row] : starts[row + 1]])[:most]
        # What is cut off at the end of a text has a value and no token.
        for column, (token, number) in enumerate(zip(found.tolist(), of_text, strict=False)):
            place[row, column], value[row, column], present[row, column] = token, number, True
            exponent[row, column], mantissa[row, column] = exponent_and_mantissa(number)
    return {
        "number_place": place,
        "number_present": present,
        "number_value": value,
        "number_exponent": exponent,
        "number_mantissa": mantissa,
    }
