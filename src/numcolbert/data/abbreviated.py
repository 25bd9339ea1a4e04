"""Passages that name a concept by its initials: "ADR was $506" where the corpus says "average daily rate".

A query by initials is one half of it. People also write what they mention often in short and ask for it in
full, and a corpus explains few of its initials.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random

from numcolbert.data.held_out import HeldOut
from numcolbert.data.pool import Concept
from numcolbert.data.synonyms import Rewording
from numcolbert.data.triple import Passage


class Abbreviation:
    def __init__(
        self,
        concepts: Iterable[Concept],
        pairs: Sequence[tuple[str, str]],
        rewording: Rewording,
        held_out: HeldOut,
    ) -> None:
        """Args:
        pairs: Concept name and dimension of each pair that quantities of passages refer to.
        """
        self._surfaces = {concept.name: concept.surfaces for concept in concepts}
        self._pairs, self._rewording, self._held_out = pairs, rewording, held_out
        self._patterns: dict[str, re.Pattern[str]] = {}

    def of(self, passage: Passage, asked: Iterable[int], rng: Random) -> Passage:
        """The passage with the pairs that are asked about, and those it tells a quantity of, in short, where
        the concept's name stands there and has initials. Held-out ones keep their names: no triple tells what
        they are called for short.
        """
        text = passage.text
        told = (quantity.pair for quantity in passage.quantities if quantity.pair >= 0)
        for number in dict.fromkeys((*asked, *told)):
            name, dimension = self._pairs[number]
            if not self._held_out.has_pair(name, dimension):
                text = self._in_short(text, name, dimension, rng)
        return passage if text == passage.text else replace(passage, text=text)

    def _in_short(self, text: str, name: str, dimension: str, rng: Random) -> str:
        pattern = self._patterns.get(name)
        if pattern is None:
            longest_first = sorted((name, *self._surfaces[name]), key=len, reverse=True)
            either = "|".join(map(re.escape, longest_first))
            pattern = self._patterns[name] = re.compile(rf"\b(?:{either})\b", re.IGNORECASE)
        found = pattern.search(text)
        if not found:
            return text
        phrase = found[0].lower()
        initials = self._rewording.initials(phrase, dimension, rng, plural_share=0)
        if initials is None:
            return text
        # Wherever that phrase stands: whoever writes in short does so throughout.
        return re.sub(rf"\b{re.escape(phrase)}\b", initials, text, flags=re.IGNORECASE)
