"""A passage asked for by one of its own sentences: ordinary search that needs no questions."""

from __future__ import annotations

import re
from random import Random

_END = re.compile(r"(?<=\w[.!?])\s+(?=[A-Z])|\s+[.!?]\s+(?=[A-Z])")
SHORTEST, LONGEST = 8, 24
"""Words of a sentence that asks."""


def cut(passage: str, words: int) -> str:
    """The first words of a passage; a sentence is taken out before, wherever it stands."""
    return " ".join(passage.split()[:words])


def sentences(passage: str) -> list[str]:
    return [passage[start:stop] for start, stop in zip(*_bounds(passage), strict=True)]


def taken_out(passage: str, random: Random) -> tuple[str, str] | None:
    """A sentence behind the first one, which names the subject, and what is left; None where none can ask.

    Sentences with digits ask nothing: whatever a model makes of numbers, this is about words.
    """
    starts, stops = _bounds(passage)
    fit = [
        n
        for n, (start, stop) in enumerate(zip(starts, stops, strict=True))
        if n and _can_ask(passage[start:stop])
    ]
    if not fit:
        return None
    n = random.choice(fit)
    last = n == len(starts) - 1
    rest = passage[: stops[n - 1]] if last else passage[: starts[n]] + passage[starts[n + 1] :]
    return passage[starts[n] : stops[n]], rest


def _bounds(passage: str) -> tuple[list[int], list[int]]:
    """Where its sentences begin, and where they end."""
    ends = list(_END.finditer(passage))
    return [0, *(end.end() for end in ends)], [*(end.start() for end in ends), len(passage)]


def _can_ask(sentence: str) -> bool:
    return SHORTEST <= len(sentence.split()) <= LONGEST and not any(map(str.isdigit, sentence))
