"""The loops that make building and searching fast. Each has a slow, obvious twin in the tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numcolbert.index.compiled import kernel

LANES = 32
"""Query tokens scored at a time by `centroid_scores`: four 64-bit registers of eight bytes."""


# ---------------------------------------------------------------------------------------------- building


@kernel
def sum_by_label(
    vectors: NDArray[np.float32],  # [n, dim]
    labels: NDArray[np.int64],  # [n]
    sums: NDArray[np.float32],  # [labels, dim], added to
    counts: NDArray[np.int64],  # [labels], added to
) -> None:
    for row in range(len(vectors)):
        label = labels[row]
        counts[label] += 1
        for column in range(vectors.shape[1]):
            sums[label, column] += vectors[row, column]


@kernel
def best_columns(scores: NDArray[np.float32], out: NDArray[np.int32]) -> None:
    """For each row the `out.shape[1]` columns with the highest scores, best first; ties by column."""
    width = out.shape[1]
    values = np.empty(width, np.float32)
    for row in range(len(scores)):
        values[:] = -np.inf
        out[row, :] = 0
        for column in range(scores.shape[1]):
            value = scores[row, column]
            if value > values[width - 1]:
                at = width - 1
                while at > 0 and value > values[at - 1]:
                    values[at] = values[at - 1]
                    out[row, at] = out[row, at - 1]
                    at -= 1
                values[at] = value
                out[row, at] = column


@kernel
def keep_better(
    scores: NDArray[np.float32],  # [rows, members], of one cell
    rows: NDArray[np.int64],  # [rows], which vector each row is
    members: NDArray[np.int64],  # [members], which centroid each column is
    best: NDArray[np.float32],  # [n], the best score of each vector so far
    labels: NDArray[np.int64],  # [n]
) -> None:
    for row in range(len(rows)):
        top, at = scores[row, 0], 0
        for column in range(1, len(members)):
            if scores[row, column] > top:
                top, at = scores[row, column], column
        if top > best[rows[row]]:
            best[rows[row]] = top
            labels[rows[row]] = members[at]


@kernel
def _round(
    rest: NDArray[np.float32],  # [slots]
    vector: NDArray[np.float32],  # [slots]
    length: float,
    spread: NDArray[np.float32],  # [slots]
    bits: NDArray[np.uint8],  # [slots]
    levels: NDArray[np.float32],
    chosen: NDArray[np.uint8],  # [slots], written: the nearest level of each coordinate
) -> tuple[np.float32, np.float32, np.float32]:
    """Of the rounded direction: its product with `rest`, with itself and with the vector."""
    fit = energy = along = np.float32(0.0)
    for slot in range(len(rest)):
        if bits[slot]:
            first = (1 << bits[slot]) - 1
            value = rest[slot] / (length * spread[slot])
            below, above = 0, first  # the nearest of levels[first : 2 first + 1] is between these
            while below < above:
                middle = (below + above) // 2
                if value + value > levels[first + middle] + levels[first + middle + 1]:
                    below = middle + 1
                else:
                    above = middle
            chosen[slot] = below
            rounded = levels[first + below] * spread[slot]
            fit += rounded * rest[slot]
            energy += rounded * rounded
            along += rounded * vector[slot]
    return fit, energy, along


@kernel
def encode_residuals(
    vectors: NDArray[np.float32],  # [n, slots]
    centroids: NDArray[np.float32],  # [centroids, slots]
    labels: NDArray[np.int64],  # [n]
    spread: NDArray[np.float32],  # [slots]
    bits: NDArray[np.uint8],  # [slots]
    shifts: NDArray[np.uint8],  # [slots]
    levels: NDArray[np.float32],  # those of b bits begin at 2^b - 1
    scales: NDArray[np.float32],  # [256], the lengths there are, ascending by a constant factor
    weight: float,
    lengths: NDArray[np.uint8],  # [n], written
    packed: NDArray[np.uint8],  # [n, bytes], zeros
) -> None:
    """Round what the centroid leaves to levels, then take the length that fits the rounded direction best.

    Best means the least squared error, where error along the vector itself counts `weight` times besides: the
    queries that matter to a vector are those that point its way.
    """
    width, slots = packed.shape[1], vectors.shape[1]
    rest = np.empty(slots, np.float32)
    chosen, others = np.zeros(slots, np.uint8), np.zeros(slots, np.uint8)
    steps = 255.0 / np.log(scales[255] / scales[0])
    typical = np.float32(0.0)  # square of the length that the spread stands for
    for slot in range(slots):
        typical += spread[slot] * spread[slot]
    for row in range(len(vectors)):
        vector, centroid = vectors[row], centroids[labels[row]]
        square = rest_along = np.float32(0.0)
        for slot in range(slots):
            rest[slot] = vector[slot] - centroid[slot]
            square += rest[slot] * rest[slot]
            rest_along += rest[slot] * vector[slot]
        length = float(min(max(np.sqrt(square / typical), scales[0]), scales[255]))
        fit = energy = along = np.float32(0.0)
        for _ in range(2):
            fit, energy, along = _round(rest, vector, length, spread, bits, levels, chosen)
            best = float(fit + weight * along * rest_along) / float(energy + weight * along * along + 1e-30)
            length = min(max(best, 0.5 * length), 2.0 * length)
        step = np.rint(np.log(max(length, scales[0]) / scales[0]) * steps)
        lengths[row] = np.uint8(min(step, 255.0))
        length = scales[lengths[row]]
        error = length * (length * energy - 2.0 * fit) + weight * (length * along - rest_along) ** 2
        # With many bits the step of the length is the larger error, and levels chosen for it do better.
        fit, energy, along = _round(rest, vector, length, spread, bits, levels, others)
        if length * (length * energy - 2.0 * fit) + weight * (length * along - rest_along) ** 2 < error:
            chosen[:] = others
        for slot in range(slots):
            if bits[slot]:
                packed[row, slot % width] |= np.uint8(chosen[slot] << shifts[slot])


@kernel
def count_listed(
    codes: NDArray[np.uint16],  # [vectors]
    starts: NDArray[np.int64],  # [passages]
    ends: NDArray[np.int64],
    counts: NDArray[np.int64],  # [centroids], added to
) -> None:
    """How many passages each centroid's list will hold."""
    seen = np.full(len(counts), -1, np.int64)
    for passage in range(len(starts)):
        for row in range(starts[passage], ends[passage]):
            code = codes[row]
            if seen[code] != passage:
                seen[code] = passage
                counts[code] += 1


@kernel
def fill_lists(
    codes: NDArray[np.uint16],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    cursor: NDArray[np.int64],  # [centroids], where each list begins; moved along
    out: NDArray[np.uint32],  # [all list entries]
) -> None:
    """Write each passage once into the list of each of its centroids, in order of position."""
    seen = np.full(len(cursor), -1, np.int64)
    for passage in range(len(starts)):
        for row in range(starts[passage], ends[passage]):
            code = codes[row]
            if seen[code] != passage:
                seen[code] = passage
                out[cursor[code]] = passage
                cursor[code] += 1


# --------------------------------------------------------------------------------------------- searching


@kernel
def probe(scores: NDArray[np.float32], out: NDArray[np.int32], lowest: NDArray[np.float32]) -> None:
    """For each query token (a column) the rows, i.e. centroids, with the highest scores.

    `out` is [query tokens, probes]; `lowest` is [query tokens] and gets the smallest score of each column.
    """
    tokens, probes = out.shape
    values = np.full((tokens, probes), -np.inf, np.float32)
    out[:] = 0
    lowest[:] = np.inf
    for row in range(len(scores)):
        for token in range(tokens):
            value = scores[row, token]
            if value < lowest[token]:
                lowest[token] = value
            if value > values[token, probes - 1]:
                at = probes - 1
                while at > 0 and value > values[token, at - 1]:
                    values[token, at] = values[token, at - 1]
                    out[token, at] = out[token, at - 1]
                    at -= 1
                values[token, at] = value
                out[token, at] = row


@kernel
def mark_listed(
    centroids: NDArray[np.int32],  # [any], may repeat
    offsets: NDArray[np.int64],  # [listed centroids + 1]
    passages: NDArray[np.uint32],  # [all list entries]
    marks: NDArray[np.bool_],  # [positions]
) -> None:
    """Mark the passages in the lists of the given centroids."""
    done = np.zeros(len(offsets), np.bool_)
    for centroid in centroids:
        # A centroid that was added after the lists were written has none yet.
        if centroid < len(offsets) - 1 and not done[centroid]:
            done[centroid] = True
            for at in range(offsets[centroid], offsets[centroid + 1]):
                marks[passages[at]] = True


@kernel
def to_bytes(
    scores: NDArray[np.float32],  # [centroids, query tokens]
    lowest: NDArray[np.float32],  # [query tokens]
    scale: NDArray[np.float32],  # [query tokens], bytes for one unit of score
    out: NDArray[np.uint8],  # [blocks, centroids, LANES], zeros
) -> None:
    """Scores on a scale of 0 to 127 a query token: a table small enough for the processor's cache."""
    for row in range(len(scores)):
        for token in range(scores.shape[1]):
            value = (scores[row, token] - lowest[token]) * scale[token] + np.float32(0.5)
            out[token // LANES, row, token % LANES] = np.uint8(min(value, np.float32(127.0)))


_HIGH = np.uint64(0x8080808080808080)
_SEVEN = np.uint64(7)
_BYTE = np.uint64(0xFF)


@kernel
def _larger_bytes(first: np.uint64, second: np.uint64) -> np.uint64:
    """The larger of each of eight pairs of bytes below 128, in plain 64-bit arithmetic.

    Left to itself the compiler handles bytes one by one here: it cannot know that the arrays do not overlap.
    """
    not_less = ((first | _HIGH) - second) & _HIGH  # the high bit of each byte: first >= second
    mask = not_less - (not_less >> _SEVEN)
    return (first & mask) | (second & ~mask)


@kernel
def centroid_scores(
    table: NDArray[np.uint64],  # [blocks, centroids, LANES / 8], eight query tokens a number
    unit: NDArray[np.float32],  # [blocks, LANES], score of one step of the byte scale; 0 for unused lanes
    codes: NDArray[np.uint16],  # [vectors]
    starts: NDArray[np.int64],  # [candidates]
    ends: NDArray[np.int64],
    out: NDArray[np.float32],  # [candidates]
) -> None:
    """MaxSim with every vector replaced by its centroid, up to a constant of the query."""
    for passage in range(len(starts)):
        total = np.float32(0.0)
        for block in range(table.shape[0]):
            a = b = c = d = np.uint64(0)
            for row in range(starts[passage], ends[passage]):
                code = codes[row]
                a = _larger_bytes(a, table[block, code, 0])
                b = _larger_bytes(b, table[block, code, 1])
                c = _larger_bytes(c, table[block, code, 2])
                d = _larger_bytes(d, table[block, code, 3])
            for lane in range(8):
                shift = np.uint64(8 * lane)
                total += unit[block, lane] * np.float32(a >> shift & _BYTE)
                total += unit[block, 8 + lane] * np.float32(b >> shift & _BYTE)
                total += unit[block, 16 + lane] * np.float32(c >> shift & _BYTE)
                total += unit[block, 24 + lane] * np.float32(d >> shift & _BYTE)
        out[passage] = total


@kernel
def unpack_residuals(
    packed: NDArray[np.uint8],  # [vectors, bytes]
    table: NDArray[np.float32],  # [parts, bytes, 256]
    starts: NDArray[np.int64],  # [passages]
    ends: NDArray[np.int64],
    out: NDArray[np.float32],  # [rows, parts, bytes]
) -> None:
    """The directions of some passages' residuals below one another."""
    row = 0
    for passage in range(len(starts)):
        for vector in range(starts[passage], ends[passage]):
            code = packed[vector]
            for part in range(table.shape[0]):
                meaning, target = table[part], out[row, part]
                for column in range(table.shape[1]):
                    target[column] = meaning[column, code[column]]
            row += 1


@kernel
def full_scores(
    directions: NDArray[np.float32],  # [rows, query tokens], dot products with residuals of length 1
    table: NDArray[np.float32],  # [centroids, query tokens], dot products with centroids
    codes: NDArray[np.uint16],  # [vectors]
    lengths: NDArray[np.uint8],  # [vectors]
    scales: NDArray[np.float32],  # [256], what a length stands for
    starts: NDArray[np.int64],  # [passages], first vector of each
    ends: NDArray[np.int64],
    out: NDArray[np.float32],  # [passages]
) -> None:
    """MaxSim of passages from the parts of their dot products."""
    row = 0
    width = table.shape[1]
    best = np.empty(width, np.float32)
    for passage in range(len(starts)):
        best[:] = -np.inf
        for vector in range(starts[passage], ends[passage]):
            code, scale = codes[vector], scales[lengths[vector]]
            for column in range(width):
                value = table[code, column] + scale * directions[row, column]
                if value > best[column]:
                    best[column] = value
            row += 1
        total = np.float32(0.0)
        for column in range(width):
            total += best[column]
        out[passage] = total
