"""Many arrays as one block of bytes, so that a batch travels between processes and to the GPU in one copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 16

Entry = tuple[str, str, tuple[int, ...], int, int]
"""Name, dtype, shape, first byte, bytes."""


@dataclass(frozen=True)
class Block:
    entries: tuple[Entry, ...]
    data: bytearray

    @property
    def size(self) -> int:
        return len(self.data)


def to_block(arrays: dict[str, NDArray[Any]]) -> Block:
    entries: list[Entry] = []
    pieces: list[bytes] = []
    offset = 0
    for name, array in arrays.items():
        raw = np.ascontiguousarray(array).tobytes()
        entries.append((name, array.dtype.str, array.shape, offset, len(raw)))
        gap = -len(raw) % ALIGNMENT
        pieces += [raw, bytes(gap)]
        offset += len(raw) + gap
    return Block(tuple(entries), bytearray(b"".join(pieces)))


def from_block(block: Block) -> dict[str, NDArray[Any]]:
    """Views into the block."""
    return {
        name: np.frombuffer(block.data, np.dtype(dtype), int(np.prod(shape)), offset).reshape(shape)
        for name, dtype, shape, offset, _ in block.entries
    }
