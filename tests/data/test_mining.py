"""A corpus becomes a pool whose spans, values and concepts are those of its sentences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.data.mined import FILLER, mined_pool, pipeline, write_corpus

from numcolbert.data.corpora import read
from numcolbert.data.mining import MiningSettings, mine
from numcolbert.data.pipeline import parse
from numcolbert.data.pool import Pool
from numcolbert.data.sampling import choose, document_key
from numcolbert.errors import InputError, UsageError


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Pool:
    return mined_pool(tmp_path_factory.mktemp("pool"))


def test_every_sentence_is_there_once(pool: Pool) -> None:
    texts = [pool.sentences[row] for row in range(len(pool.sentences))]
    assert len(set(texts)) == len(texts)
    assert set(FILLER) <= set(texts), "sentences without quantities belong to the collection too"


def test_spans_slice_back_to_the_quantity(pool: Pool) -> None:
    mentions = pool.mentions
    assert len(mentions) > 300
    for row in range(0, len(mentions), 7):
        text = pool.sentences[int(mentions.sentence[row])]
        start, end = mentions.value_span[row]
        number = float(text[start:end].replace(" million", ""))
        assert mentions.value[row] == number * (1e6 if "million" in text[start:end] else 1)


def test_concepts_are_those_of_the_sentence(pool: Pool) -> None:
    words = {
        "adjusted EBITDA": "EBITDA",
        "revenue": "revenue",
        "tax rate": "tax rate",
        "occupancy": "Occupancy",
    }
    names = {concept.name for concept in pool.concepts}
    assert set(words) <= names
    for row in range(len(pool.mentions)):
        name = pool.concepts[pool.mentions.concept[row]].name if pool.mentions.concept[row] >= 0 else None
        if name in words:
            assert words[name] in pool.sentences[int(pool.mentions.sentence[row])]


def test_variants_and_surfaces(pool: Pool) -> None:
    revenue = next(concept for concept in pool.concepts if concept.name == "revenue")
    assert "net sales" in revenue.variants
    assert revenue.surfaces == ("revenue",)


def test_rare_concepts_are_forgotten_unless_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("The gross margin was 41% in the first quarter of the year.\n")
    nlp = pipeline()
    few = mine([file], MiningSettings(name="few"), lambda texts: parse(texts, nlp))
    assert few.concepts == [] and few.mentions.concept.tolist() == [-1]
    kept = mine([file], MiningSettings(name="few", rarest=1), lambda texts: parse(texts, nlp))
    assert [concept.name for concept in kept.concepts] == ["gross margin"]


def test_a_dividend_per_share_compares_with_a_dividend(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("We declared a dividend of $0.28 per share.\nWe declared a dividend of 30 cents today.\n")
    nlp = pipeline()
    pool = mine([file], MiningSettings(name="few", rarest=1), lambda texts: parse(texts, nlp))
    assert list(pool.pairs) == [(0, pool.dimensions.index("currency:USD"))]
    assert sorted(pool.mentions.base_value.tolist()) == [0.28, 0.3]


def test_a_figure_per_share_is_none_of_the_totals(tmp_path: Path) -> None:
    gains = [*(f"The firm reported an extraordinary gain of ${n} million." for n in (3, 5, 8)),
             "The results exclude an extraordinary gain of 47 cents."]  # fmt: skip
    file = tmp_path / "a.txt"
    file.write_text("\n".join(gains), encoding="utf-8")
    nlp = pipeline()
    pool = mine([file], MiningSettings(name="few", rarest=1), lambda texts: parse(texts, nlp))
    described = pool.mentions.base_value[pool.mentions.concept >= 0]
    assert sorted(described.tolist()) == [3e6, 5e6, 8e6]


def test_the_tables_that_fit_are_noted(pool: Pool) -> None:
    assert pool.notes["tables"] == ["finance"]


def test_a_pool_survives_the_disk(pool: Pool, tmp_path: Path) -> None:
    pool.save(tmp_path / "pool")
    again = Pool.load(tmp_path / "pool")
    assert again.notes == pool.notes and again.concepts == pool.concepts and again.units == pool.units
    assert np.array_equal(again.mentions.span, pool.mentions.span)
    assert again.sentences[5] == pool.sentences[5]


def test_the_limit_takes_whole_documents_and_repeats(tmp_path: Path) -> None:
    reader = read(write_corpus(tmp_path / "corpus.jsonl"))
    chosen = choose([reader], 100, seed=3, lengths=(1, 500))
    assert chosen == choose([reader], 100, seed=3, lengths=(1, 500))
    assert chosen != choose([reader], 100, seed=4, lengths=(1, 500))
    kept = sum(document_key(reader, document) in chosen for document in reader)
    assert 100 <= kept < 120


def test_nothing_of_a_fitting_length(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("Too short.\n")
    with pytest.raises(UsageError, match="A limit of 0"):
        mine([file], MiningSettings(name="x", limit=0))
    with pytest.raises(InputError, match="holds no sentence of 30 to 400 characters"):
        mine([file], MiningSettings(name="few"), lambda texts: parse(texts, pipeline()))


def test_nothing_left_without_the_bad_lines(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"body": "x"}\n[1]\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"but 2 skipped faults: Line 1 of .* has no field") as caught:
        mine([file], MiningSettings("a", skip_bad=True))
    assert "--skip-bad" in caught.value.hint


def test_phrases_seen_equally_often_are_in_alphabetical_order(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("Total revenue was $5 million, for turnover, top line and net sales are one.\n")
    nlp = pipeline()
    pool = mine([file], MiningSettings(name="few", rarest=1), lambda texts: parse(texts, nlp))
    (revenue,) = [concept for concept in pool.concepts if concept.name == "revenue"]
    assert len(revenue.surfaces) >= 3 and list(revenue.surfaces) == sorted(revenue.surfaces)
