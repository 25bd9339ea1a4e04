"""Quantities as the public extractor quantulum3 reads them, remembered on disk.

The compared systems use it so that they do not rank with the extractor that labelled the benchmark.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import logging
import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numcolbert.baselines.cache import open_cache
from numcolbert.baselines.quantity_score import Amount
from numcolbert.errors import MissingDependencyError
from numcolbert.files import cache_folder
from numcolbert.progress import Progress
from numcolbert.types import Span

# Newswire spellings that quantulum3 reads as chemistry ("dlrs" as decilitre rand second). Mending them keeps
# the comparison about ranking.
_SPELLINGS = {
    "mln": "million", "bln": "billion", "dlr": "dollar", "dlrs": "dollars", "cts": "cents",
    "pct": "percent", "stg": "pounds sterling", "u.s. dollar": "dollar", "u.s. dollars": "dollars",
}  # fmt: skip
_SPELLING = re.compile(
    r"(?<![\w.])(" + "|".join(re.escape(s) for s in sorted(_SPELLINGS, key=len, reverse=True)) + r")(?!\w)",
    re.IGNORECASE,
)
# "$50bn", "64m USD": the letter counts only beside a currency, "64m" alone is a length.
_CURRENCY = r"(?:usd|dollars?|euros?|eur|yen|pounds?|gbp|stg|cad|aud|chf|francs?|marks?)"
_SCALE_LETTER = re.compile(
    rf"(?P<sign>[$€£¥]\s?)?(?P<number>\d[\d,]*(?:\.\d+)?)(?P<letter>bn|tn|mm|m|b|k)\b(?P<unit>\s?{_CURRENCY}\b)?",
    re.IGNORECASE,
)
_LETTERS = {
    "k": "thousand", "m": "million", "mm": "million", "b": "billion", "bn": "billion", "tn": "trillion",
}  # fmt: skip
_SAME_UNIT = {"united states dollar": "dollar"}
_COMMIT_EVERY = 500


@dataclass(frozen=True, slots=True)
class Mention:
    """An amount where it stands in the mended text; a range has both ends."""

    amount: Amount
    span: Span
    low: float | None = None
    high: float | None = None


def mended(text: str) -> str:
    """The text with newswire spellings and scale letters written out; spans refer to it."""

    def scaled(found: re.Match[str]) -> str:
        if not (found["sign"] or found["unit"]):
            return found.group()
        return (
            f"{found['sign'] or ''}{found['number']} {_LETTERS[found['letter'].lower()]}{found['unit'] or ''}"
        )

    return _SPELLING.sub(lambda found: _SPELLINGS[found.group().lower()], _SCALE_LETTER.sub(scaled, text))


class Quantulum:
    """Reads quantities; with a cache file, every text is parsed once in a lifetime."""

    def __init__(self, cache: Path | None = None) -> None:
        try:
            version = importlib.metadata.version("quantulum3")
        except importlib.metadata.PackageNotFoundError as error:
            raise MissingDependencyError.for_extra("quantulum3", "baselines", "This ranker") from error
        self._parse: Any = None
        self._database = self._open(cache) if cache else None
        self._version = version

    @classmethod
    def cached(cls) -> Quantulum:
        return cls(cache_folder() / "quantulum3.sqlite")

    def read(self, text: str) -> tuple[Mention, ...]:
        """All mentions of a text, in reading order."""
        mentions = self._remembered(text)
        if mentions is None:
            mentions = self._read(text)
            self._remember(text, mentions)
            self.flush()
        return mentions

    def amounts(self, texts: Iterable[str]) -> dict[str, tuple[Amount, ...]]:
        """The amounts of many texts, by text."""
        distinct = list(dict.fromkeys(texts))
        found: dict[str, tuple[Amount, ...]] = {}
        fresh = []
        for text in distinct:
            mentions = self._remembered(text)
            if mentions is None:
                fresh.append(text)
            else:
                found[text] = tuple(mention.amount for mention in mentions)
        if fresh:
            with Progress("parse quantities", len(fresh), "passages") as progress:
                for position, text in enumerate(fresh, 1):
                    mentions = self._read(text)
                    self._remember(text, mentions)
                    found[text] = tuple(mention.amount for mention in mentions)
                    if position % _COMMIT_EVERY == 0:
                        self.flush()
                    progress.advance()
            self.flush()
        return found

    def flush(self) -> None:
        if self._database:
            self._database.commit()

    def close(self) -> None:
        if self._database:
            self._database.close()
            self._database = None

    def _read(self, text: str) -> tuple[Mention, ...]:
        if self._parse is None:
            self._parse = _load_parser()
        return tuple(_mention(found) for found in self._parse(mended(text)))

    def _key(self, text: str) -> bytes:
        return hashlib.blake2b(f"{self._version}\0{mended(text)}".encode(), digest_size=16).digest()

    def _open(self, path: Path) -> sqlite3.Connection:
        database = open_cache(path, "parsed (key BLOB PRIMARY KEY, mentions TEXT) WITHOUT ROWID")
        database.execute("PRAGMA journal_mode=WAL")
        return database

    def _remembered(self, text: str) -> tuple[Mention, ...] | None:
        if not self._database:
            return None
        row = self._database.execute(
            "SELECT mentions FROM parsed WHERE key = ?", (self._key(text),)
        ).fetchone()
        if row is None:
            return None
        return tuple(
            Mention(Amount(value, unit), (start, end), low, high)
            for value, unit, start, end, low, high in json.loads(row[0])
        )

    def _remember(self, text: str, mentions: tuple[Mention, ...]) -> None:
        if self._database:
            rows = [(m.amount.value, m.amount.unit, *m.span, m.low, m.high) for m in mentions]
            self._database.execute(
                "INSERT OR REPLACE INTO parsed VALUES (?, ?)", (self._key(text), json.dumps(rows))
            )


def _load_parser() -> Any:
    logging.getLogger("quantulum3").setLevel(logging.ERROR)
    import quantulum3.classifier
    from quantulum3 import parser

    # Its disambiguation model does not load on current scikit-learn; without it units come from its tables.
    quantulum3.classifier.USE_CLF = False
    return parser.parse


def _mention(found: Any) -> Mention:
    unit = str(found.unit.name)
    value = float(found.value)
    spread = found.uncertainty
    low, high = (value - spread, value + spread) if spread else (None, None)
    return Mention(
        Amount(value, _SAME_UNIT.get(unit, unit)), (int(found.span[0]), int(found.span[1])), low, high
    )
