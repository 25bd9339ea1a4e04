"""Sentences a second time, with a value below zero: "free cash flow was negative $35 million".

That minus forty is below minus twenty is easily learned the wrong way round, and corpora have few negative
values: 97 of 82,000 mentions in earnings calls and news.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from numcolbert.data.pool import Mentions, Pool, Texts
from numcolbert.data.words import word_list

SIGNS = ("negative ", "negative ", "negative ", "minus ", "minus ", "-")
"""What makes a number negative, as often as people write it."""


def with_values_below_zero(pool: Pool, share: float, rng: Random) -> Pool:
    """The pool and, added to it, `share` of the sentences that can be said with a negative value."""
    rows = [int(row) for row in _eligible(pool) if rng.random() < share]
    if not rows:
        return pool
    mentions = pool.mentions
    order = np.argsort(mentions.sentence, kind="stable")
    in_order = mentions.sentence[order]
    texts, taken, changed, shifts, cuts = [], [], [], [], []
    for new, row in enumerate(rows):
        sentence = int(mentions.sentence[row])
        text, start = pool.sentences[sentence], int(mentions.span[row, 0])
        sign = rng.choice(SIGNS)
        texts.append(text[:start] + sign + text[start:])
        first, last = np.searchsorted(in_order, (sentence, sentence + 1))
        for other in order[first:last].tolist():
            taken.append((other, len(pool.sentences) + new))
            changed.append(other == row)
            shifts.append(len(sign))
            cuts.append(start)
    return replace(
        pool,
        sentences=_joined(pool.sentences, texts),
        sentence_ids=_joined(pool.sentence_ids, [f"below-zero-{row}" for row in rows]),
        mentions=_added(mentions, np.array(taken), np.array(changed), np.array(shifts), np.array(cuts)),
    )


def _eligible(pool: Pool) -> NDArray[np.int64]:
    """Mentions of money or percentages, above zero, of something that may be below."""
    mentions = pool.mentions
    heads = word_list("may_be_negative")
    concept = np.array([c.name.lower().split()[-1] in heads for c in pool.concepts] + [False])
    unit = np.array([u.dimension.startswith(("currency:", "percent")) for u in pool.units] + [False])
    plain = np.isnan(mentions.base_low) & np.isnan(mentions.base_high) & (mentions.value > 0)
    known = concept[mentions.concept] & unit[mentions.unit]
    return np.flatnonzero(known & plain & (mentions.span[:, 0] >= 0))


def _added(
    mentions: Mentions,
    taken: NDArray[np.int64],
    changed: NDArray[np.bool_],
    shifts: NDArray[np.int64],
    cuts: NDArray[np.int64],
) -> Mentions:
    """The mentions, and those in `taken[:, 0]` again for the sentences `taken[:, 1]`."""
    rows = taken[:, 0]
    new = {f.name: getattr(mentions, f.name)[rows].copy() for f in fields(Mentions)}
    new["sentence"] = taken[:, 1].astype(mentions.sentence.dtype)
    for name in ("value", "base_value"):
        new[name][changed] *= -1
    for name in ("span", "value_span", "unit_span"):
        there = new[name] >= 0
        moved = new[name] >= cuts[:, None]
        if name == "span":  # the sign belongs to the quantity
            moved[changed, 0] = False
        new[name] = (new[name] + np.where(there & moved, shifts[:, None], 0)).astype(new[name].dtype)
    joined = {name: np.concatenate([getattr(mentions, name), column]) for name, column in new.items()}
    return Mentions(**joined)


def _joined(texts: Texts, more: Sequence[str]) -> Texts:
    other = Texts.of(more)
    return Texts(
        np.concatenate([texts.data, other.data]),
        np.concatenate([texts.starts, texts.starts[-1] + other.starts[1:]]),
    )
