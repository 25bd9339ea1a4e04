"""Plain retrieval pairs beside the numeric triples, so that a model keeps what it knew."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from random import Random

from numcolbert.data.triple import Passage, Triple
from numcolbert.errors import InputError
from numcolbert.files import require_file, text_lines


class GeneralSource:
    """Queries with a passage that answers them and, where the file gives none, a random other passage."""

    name = "general"

    def __init__(self, files: Iterable[Path]) -> None:
        self._rows: list[tuple[str, str, str | None]] = []
        for file in files:
            self._rows += read_pairs(file)
        if len({positive for _, positive, _ in self._rows}) < 2:
            raise InputError(
                "The general pairs hold fewer than two different passages.",
                hint='give lines of {"query", "positive"} with different positives',
            )

    def __len__(self) -> int:
        return len(self._rows)

    def subject(self, rng: Random) -> None:
        """A pair has nothing in common with another."""

    def neighbour(self, subject: None, rng: Random) -> None:
        """Nor is one easily taken for another."""

    def draw(self, subject: None, rng: Random) -> Triple | None:  # noqa: ARG002  as every source has it
        query, positive, negative = rng.choice(self._rows)
        if negative is None:
            negative = rng.choice(self._rows)[1]
            if negative == positive:
                return None
        return Triple(query, (), Passage(positive, ()), Passage(negative, ()))


def read_pairs(file: Path) -> list[tuple[str, str, str | None]]:
    """(query, positive, negative or None) from a JSONL file, plain or compressed."""
    rows = []
    for number, line in text_lines(require_file(file, "file of general pairs")):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            query, positive, negative = row["query"], row["positive"], row.get("negative")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"'{file}', line {number} is not a pair: {error!r}.",
                hint='a line is {"query": ..., "positive": ..., "negative": ... (optional)}',
            ) from error
        texts = (query, positive) if negative is None else (query, positive, negative)
        if not all(isinstance(text, str) and text.strip() for text in texts):
            raise InputError(f"'{file}', line {number} has an empty text.", hint="every text needs a word")
        rows.append((query, positive, negative))
    return rows
