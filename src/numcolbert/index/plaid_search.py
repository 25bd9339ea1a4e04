"""How plaid finds the best passages: probe, score by centroids, score fully while there is hope.

Every stage works on the gated query vectors as they are, so a token's weight counts in pruning too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from numcolbert.index.base import Scored
from numcolbert.index.codec import LENGTHS, ResidualCodec
from numcolbert.index.kernels import (
    LANES,
    centroid_scores,
    full_scores,
    mark_listed,
    probe,
    to_bytes,
    unpack_residuals,
)
from numcolbert.index.parallel import in_parallel
from numcolbert.index.passages import Passages
from numcolbert.index.plaid_settings import PlaidSettings, automatic_candidates, automatic_probes
from numcolbert.index.products import products

_ROWS = 1024
"""Vectors unpacked at a time for full scores: half a megabyte, which stays in a core's own cache."""
_HOPE = 4.5
"""Standard deviations by which a full score may exceed what the rough one lets expect."""
_AT_MOST = 4
"""Times as many passages as `candidates` says may get their full score while there is hope."""


@dataclass(frozen=True)
class PlaidView:
    """Everything a search reads; it stays valid while another thread changes the engine."""

    settings: PlaidSettings
    passages: Passages
    codec: ResidualCodec
    centroids: NDArray[np.float32]  # [centroids, slots], turned like everything that is stored
    codes: NDArray[np.uint16]  # [vectors], the number of each vector's centroid
    lengths: NDArray[np.uint8]  # [vectors]
    residuals: NDArray[np.uint8]  # [vectors, bytes]
    list_offsets: NDArray[np.int64]  # [listed centroids + 1]
    list_passages: NDArray[np.uint32]  # the passages of each centroid, list after list
    listed: int
    """Passages in the lists; those that came later are candidates of every query."""


def search(
    view: PlaidView, query: NDArray[np.float32], k: int, allowed: NDArray[np.int64] | None = None
) -> Scored:
    """The best `k` passages, for a checked query."""
    searchable = view.passages.searchable(allowed)
    positions = np.flatnonzero(searchable)
    wanted = max(k, view.settings.candidates or automatic_candidates(k, view.passages.count))
    query = view.codec.turn(query)  # [query tokens, slots]
    table = _centroid_table(view, query)
    if len(positions) <= wanted:
        return view.passages.best(positions, _full_scores(view, query, table, positions), k)
    probes = view.settings.nprobe or automatic_probes(len(view.centroids))
    probed = np.empty((len(query), min(probes, len(table))), np.int32)
    lowest = np.empty(len(query), np.float32)
    probe(table, probed, lowest)
    marks = np.zeros(len(searchable), np.bool_)
    mark_listed(probed.reshape(-1), view.list_offsets, view.list_passages, marks)
    marks[view.listed :] = True
    found = np.flatnonzero(marks & searchable)
    if len(found) >= k:  # else the filter has hidden what was probed: look at everything it allows
        positions = found
    rough = _centroid_scores(view, table, lowest, positions)
    best_first = np.lexsort((positions, -rough))[: _AT_MOST * wanted]
    positions, rough = positions[best_first], rough[best_first]
    scores = _scores_while_there_is_hope(view, query, table, positions, rough, wanted, k)
    return view.passages.best(positions[: len(scores)], scores, k)


def _scores_while_there_is_hope(
    view: PlaidView,
    query: NDArray[np.float32],
    table: NDArray[np.float32],
    positions: NDArray[np.int64],
    rough: NDArray[np.float32],
    wanted: int,
    k: int,
) -> NDArray[np.float32]:
    """Full scores of the first `wanted` positions, and of more as long as one may be among the best `k`.

    Full scores exceed rough ones by about the same for all passages of a query. How much, and how much it
    varies, the passages scored so far tell; a passage that would have to exceed it by far is left out.
    """
    scores = np.empty(len(positions), np.float32)
    done, end = 0, min(wanted, len(positions))
    while done < end:
        scores[done:end] = _full_scores(view, query, table, positions[done:end])
        if end < k:
            break  # these are all there are
        gain = scores[:end] - rough[:end]
        least = np.partition(scores[:end], end - k)[end - k]
        needed = least - gain.mean() - np.float32(_HOPE) * gain.std()  # of a rough score
        hopeful = int(np.searchsorted(-rough, -needed, side="right"))
        done, end = end, max(end, min(hopeful, 2 * end))
    return scores[:end]


def _centroid_table(view: PlaidView, query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Dot products of all centroids with the query, [centroids, query tokens]."""
    table = np.empty((len(view.centroids), len(query)), np.float32)

    def work(begin: int, end: int) -> None:
        products(view.centroids[begin:end], query, table[begin:end])

    in_parallel(work, len(table), 2048)
    return table


def _centroid_scores(
    view: PlaidView, table: NDArray[np.float32], lowest: NDArray[np.float32], positions: NDArray[np.int64]
) -> NDArray[np.float32]:
    """MaxSim by centroids alone, up to a constant; a byte an entry, so rounded to 1/127 of each range."""
    tokens = table.shape[1]
    ranges = np.maximum(table.max(axis=0) - lowest, np.float32(1e-20))
    blocks = -(-tokens // LANES)
    small = np.zeros((blocks, len(table), LANES), np.uint8)
    scale = np.float32(127) / ranges
    unit = np.zeros(blocks * LANES, np.float32)
    unit[:tokens] = ranges / np.float32(127)
    to_bytes(table, lowest, scale, small)
    words, unit = small.view(np.uint64), unit.reshape(blocks, LANES)
    starts, ends = view.passages.starts[positions], view.passages.ends[positions]
    out = np.empty(len(positions), np.float32)

    def work(begin: int, end: int) -> None:
        centroid_scores(words, unit, view.codes, starts[begin:end], ends[begin:end], out[begin:end])

    in_parallel(work, len(positions), 1024)
    return out


def _full_scores(
    view: PlaidView, query: NDArray[np.float32], table: NDArray[np.float32], positions: NDArray[np.int64]
) -> NDArray[np.float32]:
    """MaxSim with the decoded vectors."""
    starts, ends = view.passages.starts[positions], view.passages.ends[positions]
    out = np.empty(len(positions), np.float32)

    def work(begin: int, end: int) -> None:
        some = slice(begin, end)
        _score_by_blocks(view, query, table, starts[some], ends[some], out[some])

    in_parallel(work, len(positions), 64)
    return out


def _score_by_blocks(
    view: PlaidView,
    query: NDArray[np.float32],
    table: NDArray[np.float32],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    out: NDArray[np.float32],
) -> None:
    meaning = view.codec.table  # [parts, bytes, 256]
    rows = np.concatenate([np.zeros(1, np.int64), np.cumsum(ends - starts)])  # [positions + 1]
    longest = int((ends - starts).max(initial=0))
    space = np.empty((min(int(rows[-1]), max(_ROWS, longest)), *meaning.shape[:2]), np.float32)
    begin = 0
    while begin < len(starts):
        end = max(begin + 1, int(np.searchsorted(rows, rows[begin] + _ROWS, side="right")) - 1)
        some = slice(begin, end)
        directions = space[: rows[end] - rows[begin]]  # [rows, parts, bytes]
        unpack_residuals(view.residuals, meaning, starts[some], ends[some], directions)
        similarities = products(directions.reshape(len(directions), -1), query)  # [rows, query tokens]
        full_scores(
            similarities, table, view.codes, view.lengths, LENGTHS, starts[some], ends[some], out[some]
        )
        begin = end
