"""Which passages of a batch compete for a query: small arrays made by the workers, compared on the device."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from numcolbert.data.triple import OPERATORS, Passage, Triple
from numcolbert.train.labels import Conditions, DocumentQuantities, candidates, known_answers

MOST_QUANTITIES = 16
"""Quantities kept of one passage, as in NumColBERT's own batches."""

_OPERATOR = {name: position for position, name in enumerate(OPERATORS)}


def batch_labels(triples: Sequence[Triple]) -> dict[str, Tensor]:
    """What is known of the numbers in a batch whose passages are all positives, then all negatives."""
    passages = [t.positive for t in triples] + [t.negative for t in triples]
    rows = [(b, c) for b, t in enumerate(triples) for c in t.conditions]
    whole = np.array([(b, _OPERATOR[c.operator], c.unit, c.dimension, c.pair) for b, c in rows], np.int64)
    real = np.array([(c.value, c.base_value, c.base_high) for _, c in rows], np.float64)
    quantities, values = _quantities(passages)
    return {
        "condition_whole": torch.from_numpy(whole.reshape(-1, 5)),
        "condition_real": torch.from_numpy(real.reshape(-1, 3)),
        "quantity_whole": torch.from_numpy(quantities),
        "quantity_value": torch.from_numpy(values),
        "document_key": torch.tensor([zlib.crc32(p.text.encode()) for p in passages]),
    }


def rivals(labels: dict[str, Tensor]) -> Tensor:
    """[B, 2B] bool: the passages that are not known to be right as well, and each query's own."""
    whole, real = labels["condition_whole"], labels["condition_real"]
    query, operator, unit, dimension, pair = whole.unbind(dim=1)
    value, base_value, base_high = real.unbind(dim=1)
    mention = torch.zeros(len(whole), 0, dtype=torch.bool, device=whole.device)
    conditions = Conditions(query, operator, unit, dimension, pair, value, base_value, base_high, mention)
    units, dimensions, pairs = labels["quantity_whole"].unbind(dim=0)
    documents = DocumentQuantities(units, dimensions, pairs, labels["quantity_value"])
    key = labels["document_key"]
    batch = len(key) // 2
    answers = known_answers(conditions, documents, batch)
    return candidates(answers, torch.arange(batch, device=key.device), key)


def _quantities(
    passages: Sequence[Passage],
) -> tuple[
    np.ndarray[tuple[int, ...], np.dtype[np.int64]], np.ndarray[tuple[int, ...], np.dtype[np.float64]]
]:
    """(unit, dimension and pair), [3, passages, M], and base values, [passages, M]; -1 where none is."""
    columns = min(max(1, max(len(p.quantities) for p in passages)), MOST_QUANTITIES)
    whole = np.full((3, len(passages), columns), -1, np.int64)
    value = np.zeros((len(passages), columns))
    for row, passage in enumerate(passages):
        for column, quantity in enumerate(passage.quantities[:columns]):
            whole[:, row, column] = quantity.unit, quantity.dimension, quantity.pair
            value[row, column] = quantity.base_value
    return whole, value
