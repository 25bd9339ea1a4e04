"""A small corpus written for the tests, with sentences whose values are known."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from numcolbert.data.mining import MiningSettings, mine
from numcolbert.data.pipeline import load_pipeline, parse
from numcolbert.data.pool import Pool
from numcolbert.errors import MissingDependencyError

MONEY = [
    "Adjusted EBITDA was ${v} million in the {when}.",
    "Total revenue was ${v} million in the {when}.",
    "Our free cash flow was ${v} million in the {when}.",
    "Net income was ${v} million in the {when}.",
    "Our backlog stood at ${v} million in the {when}.",
    "Capital expenditures were ${v} million in the {when}.",
]
SHARES = [
    "The gross margin was {v}% in the {when}.",
    "The effective tax rate was {v}% in the {when}.",
    "Occupancy was {v}% in the {when}.",
    "Our operating margin was {v}% in the {when}.",
]
TIMES = [
    "The washout period was {v} weeks in the {when}.",
    "The follow-up period was {v} weeks in the {when}.",
]
BOTH = "Total revenue was ${v} million and the gross margin was {w}% in the {when}."
WHEN = ["first quarter", "second quarter", "third quarter", "fourth quarter", "first half", "second half"]
FILLER = ["We thank our teams for their work.", "The weather was fine all through the harvest season."]


def write_corpus(path: Path, seed: int = 1) -> Path:
    rng = Random(seed)
    lines = []
    for number in range(40):
        when = WHEN[number % len(WHEN)]
        sentences = [s.format(v=rng.randint(1, 60) * 10, when=when) for s in MONEY]
        sentences += [s.format(v=rng.randint(5, 60), when=when) for s in SHARES]
        sentences += [s.format(v=rng.randint(2, 30), when=when) for s in TIMES]
        sentences += [BOTH.format(v=rng.randint(1, 60) * 10, w=rng.randint(5, 60), when=when), *FILLER]
        lines.append(json.dumps({"doc": f"call {number}", "sentences": sentences}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@cache
def pipeline() -> Any:
    pytest.importorskip("spacy")
    try:
        return load_pipeline()
    except MissingDependencyError as error:
        pytest.skip(error.message)


def mined_pool(folder: Path, **settings: Any) -> Pool:
    nlp = pipeline()
    corpus = write_corpus(folder / "corpus.jsonl")
    return mine([corpus], MiningSettings(**{"name": "toy", **settings}), lambda texts: parse(texts, nlp))
