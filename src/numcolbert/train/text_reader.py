"""Texts to token ids, as the model's tokenizer does it but many times faster.

WordPiece never looks across white space, so the tokens of a text are those of its words one after the other.
Words repeat, so they are cut once and looked up from then on. The first texts are checked against the
tokenizer itself; should one differ, it is used for everything.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer

from numcolbert.types import Span

log = logging.getLogger(__name__)

_WORD = re.compile(r"\S+")
_KEPT_WORDS = 500_000
_CHECKED_TEXTS = 512


@dataclass(frozen=True)
class TextSettings:
    """How the model reads text; travels to the workers."""

    tokenizer: str
    """The whole tokenizer as JSON."""
    query_prompt: str
    document_prompt: str
    query_length: int
    document_length: int
    special_ids: tuple[int, ...]
    """Tokens that are no words: padding, [CLS], [SEP], [MASK], the markers."""


@dataclass(frozen=True, slots=True)
class Tokens:
    ids: list[int]
    offsets: list[Span]
    """Characters in the text; (0, 0) for what the model puts around it."""


class TextReader:
    def __init__(self, settings: TextSettings) -> None:
        self.settings = settings
        self._tokenizer = Tokenizer.from_str(settings.tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        around = self._tokenizer.encode("").ids
        self._by_words = len(around) == 2  # [CLS] and [SEP]
        self._first, self._last = around[:1], around[-1:]
        self._query_prompt = self._plain(settings.query_prompt)
        self._document_prompt = self._plain(settings.document_prompt)
        self._words: dict[str, tuple[list[int], list[Span]]] = {}
        self._checks_left = _CHECKED_TEXTS

    def _plain(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def queries(self, texts: Sequence[str]) -> list[Tokens]:
        if not self._usable(texts, self.settings.query_prompt, self.settings.query_length):
            return self._all_at_once(texts, self.settings.query_prompt, self.settings.query_length)
        known, prompt, limit = self._learn(texts), self._query_prompt, self.settings.query_length - 1
        made = []
        for text in texts:
            ids = [*self._first, *prompt]
            offsets = [(0, 0)] * len(ids)
            for match in _WORD.finditer(text):
                start = match.start()
                pieces, spans = known[match.group()]
                ids += pieces
                offsets += [(start + a, start + b) for a, b in spans]
            made.append(Tokens([*ids[:limit], *self._last], [*offsets[:limit], (0, 0)]))
        return made

    def documents(self, texts: Sequence[str]) -> list[list[int]]:
        if not self._usable(texts, self.settings.document_prompt, self.settings.document_length):
            length = self.settings.document_length
            return [t.ids for t in self._all_at_once(texts, self.settings.document_prompt, length)]
        known, limit = self._learn(texts), self.settings.document_length - 1
        made = []
        for text in texts:
            ids = [*self._first, *self._document_prompt]
            for word in text.split():
                ids += known[word][0]
            made.append([*ids[:limit], *self._last])
        return made

    def mention(self, tokens: Tokens, span: Span) -> list[int]:
        """Positions of the tokens that touch the characters `span` of the text."""
        start, end = span
        return [i for i, (a, b) in enumerate(tokens.offsets) if a < end and b > start and a < b]

    def _learn(self, texts: Iterable[str]) -> dict[str, tuple[list[int], list[Span]]]:
        known = self._words
        wanted = {word for text in texts for word in text.split()}
        fresh = [word for word in wanted if word not in known]
        if len(known) + len(fresh) > _KEPT_WORDS:
            known.clear()
            fresh = list(wanted)
        encodings = self._tokenizer.encode_batch(fresh, add_special_tokens=False) if fresh else []
        for word, encoding in zip(fresh, encodings, strict=True):
            known[word] = (encoding.ids, encoding.offsets)
        return known

    def _usable(self, texts: Sequence[str], prompt: str, length: int) -> bool:
        """Whether word by word gives what the tokenizer gives; looked at for the first texts only."""
        if not self._by_words or self._checks_left <= 0:
            return self._by_words
        left, self._checks_left = self._checks_left, 0  # the calls below must not check again
        sample = texts[:left]
        expected = [t.ids for t in self._all_at_once(sample, prompt, length)]
        is_query = prompt == self.settings.query_prompt and length == self.settings.query_length
        made = [t.ids for t in self.queries(sample)] if is_query else self.documents(sample)
        self._checks_left = left - len(sample)
        if made != expected:
            log.warning("this tokenizer looks across white space; texts are read whole, which is slower")
            self._by_words = False
        return self._by_words

    def _all_at_once(self, texts: Sequence[str], prompt: str, length: int) -> list[Tokens]:
        shift = len(prompt)
        made = []
        for encoding in self._tokenizer.encode_batch([prompt + text for text in texts]):
            encoding.truncate(length)
            ids, offsets = encoding.ids, encoding.offsets
            if len(ids) == length and self._last:
                ids[-1:], offsets[-1:] = self._last, [(shift, shift)]
            made.append(Tokens(ids, [(max(a - shift, 0), max(b - shift, 0)) for a, b in offsets]))
        return made
