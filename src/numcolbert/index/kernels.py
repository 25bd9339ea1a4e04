"""The loops that make building and searching fast. Each has a slow, obvious twin in the tests.

Loops over query tokens run over a constant number of lanes where they can: a compiler turns those, and only
those, into straight vector instructions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numcolbert.index.compiled import kernel

LANES = 32
"""Query tokens scored at a time by `centroid_scores`: 32 bytes are one vector register."""


@kernel
def sum_of_maxima(
    scores: NDArray[np.float32],  # [rows, query tokens]
    starts: NDArray[np.int64],  # [passages], first row of each
    ends: NDArray[np.int64],  # [passages], one past its last row
    out: NDArray[np.float32],  # [passages]
) -> None:
    """MaxSim of passages whose token scores are known."""
    width = scores.shape[1]
    best = np.empty(width, np.float32)
    for passage in range(len(starts)):
        best[:] = -np.inf
        for row in range(starts[passage], ends[passage]):
            for column in range(width):
                if scores[row, column] > best[column]:
                    best[column] = scores[row, column]
        total = np.float32(0.0)
        for column in range(width):
            total += best[column]
        out[passage] = total


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
def encode_residuals(
    vectors: NDArray[np.float32],  # [n, dim]
    centroids: NDArray[np.float32],  # [centroids, dim]
    labels: NDArray[np.int64],  # [n]
    low: NDArray[np.float32],  # [dim], the value of code 0
    step: NDArray[np.float32],  # [dim], from one code to the next
    bits: int,
    out: NDArray[np.uint8],  # [n, bytes], zeros
) -> None:
    """Round each coordinate's distance from the centroid to `bits` bits.

    Byte i holds the coordinates i, i + bytes, i + 2 bytes, ... from its lowest bits up, so that unpacking is
    the same shift and mask for neighbouring bytes.
    """
    dim, width = vectors.shape[1], out.shape[1]
    top = np.float32((1 << bits) - 1)
    for row in range(len(vectors)):
        centroid = centroids[labels[row]]
        for column in range(dim):
            code = np.float32(0.0)
            if step[column] > 0:
                code = np.rint((vectors[row, column] - centroid[column] - low[column]) / step[column])
            code = min(max(code, np.float32(0.0)), top)
            out[row, column % width] |= np.uint8(np.uint8(code) << np.uint8(bits * (column // width)))


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
    out: NDArray[np.uint8],  # [centroids, lanes], lanes a multiple of LANES; zeros
) -> None:
    """Scores on a scale of 0 to 255 a query token: a table small enough for the processor's cache."""
    for row in range(len(scores)):
        for token in range(scores.shape[1]):
            out[row, token] = np.uint8((scores[row, token] - lowest[token]) * scale[token] + np.float32(0.5))


@kernel
def centroid_scores(
    table: NDArray[np.uint8],  # [centroids, lanes]
    unit: NDArray[np.float32],  # [lanes], score of one step of the byte scale; 0 for unused lanes
    codes: NDArray[np.uint16],  # [vectors]
    starts: NDArray[np.int64],  # [candidates]
    ends: NDArray[np.int64],
    out: NDArray[np.float32],  # [candidates]
) -> None:
    """MaxSim with every vector replaced by its centroid, up to a constant of the query."""
    best = np.empty(LANES, np.uint8)
    for passage in range(len(starts)):
        total = np.float32(0.0)
        for lane in range(0, table.shape[1], LANES):
            for j in range(LANES):
                best[j] = 0
            for row in range(starts[passage], ends[passage]):
                code = codes[row]
                for j in range(LANES):
                    best[j] = max(best[j], table[code, lane + j])
            for j in range(LANES):
                total += unit[lane + j] * np.float32(best[j])
        out[passage] = total


@kernel
def unpack_residuals(
    packed: NDArray[np.uint8],  # [vectors, bytes]
    bits: int,
    starts: NDArray[np.int64],  # [passages]
    ends: NDArray[np.int64],
    row: int,
    out: NDArray[np.float32],  # [rows, bytes * 8 / bits]
) -> None:
    """The codes of some passages as numbers 0, 1, 2, ... below one another, from `row` on."""
    width = packed.shape[1]
    mask = np.uint8((1 << bits) - 1)
    for passage in range(len(starts)):
        for vector in range(starts[passage], ends[passage]):
            for part in range(8 // bits):
                shift = np.uint8(bits * part)
                base = part * width
                for column in range(width):
                    out[row, base + column] = np.float32((packed[vector, column] >> shift) & mask)
            row += 1


@kernel
def full_scores(
    residual: NDArray[np.float32],  # [rows, query tokens], the residuals' part of each dot product
    table: NDArray[np.float32],  # [centroids, query tokens], the centroids' part
    codes: NDArray[np.uint16],  # [vectors]
    starts: NDArray[np.int64],  # [passages], first vector of each
    ends: NDArray[np.int64],
    row: int,
    out: NDArray[np.float32],  # [passages]
) -> None:
    """MaxSim of passages from both parts of their dot products; `residual` holds theirs from `row` on."""
    width = table.shape[1]
    best = np.empty(width, np.float32)
    for passage in range(len(starts)):
        best[:] = -np.inf
        for vector in range(starts[passage], ends[passage]):
            code = codes[vector]
            for column in range(width):
                value = residual[row, column] + table[code, column]
                if value > best[column]:
                    best[column] = value
            row += 1
        total = np.float32(0.0)
        for column in range(width):
            total += best[column]
        out[passage] = total
