"""Words exchanged within the names of concepts, and never those that a held-out pair is told by."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.data.test_triples import CONCEPTS, tiny_pool

from numcolbert.data.concept_table import table
from numcolbert.data.held_out import HeldOut
from numcolbert.data.pool import Concept
from numcolbert.data.synonyms import Rewording, _groups
from numcolbert.data.triple_settings import TripleSettings
from numcolbert.data.triples import TripleStream

USD = "currency:USD"
NOTHING = HeldOut(frozenset(), frozenset())


@pytest.mark.parametrize(
    ("phrase", "reworded"),
    [
        ("tenant count growth", {"lessee count growth", "tenant number growth", "tenant count increase"}),
        ("radio segment revenue", {"radio segment sales", "radio division revenue"}),
        ("adult patients", {"adult subjects", "adult participants"}),  # in the same number
        ("Loan volume", {"Loan quantity", "lending volume"}),
    ],
)
def test_one_part_is_exchanged(phrase: str, reworded: set[str]) -> None:
    others = Rewording(NOTHING).of(phrase, USD)
    assert reworded <= set(others)
    assert phrase not in others
    assert len(others) == len(set(others))


def test_a_known_concept_is_exchanged_as_a_whole() -> None:
    assert set(Rewording(NOTHING).of("segment net interest income", USD)) == {
        "segment NII",
        "segment net interest revenue",
        "division net interest income",
        "business unit net interest income",
    }


def test_a_change_is_not_put_before_what_changes() -> None:
    assert not any(" in " in other for other in Rewording(NOTHING).of("software license revenue growth", USD))


def test_nothing_to_exchange() -> None:
    assert Rewording(NOTHING).of("xyzzy", USD) == ()
    assert Rewording(NOTHING).of("", USD) == ()


def test_what_a_held_out_pair_is_told_by_is_not_taught() -> None:
    assert "bigger net sales" in Rewording(NOTHING).of("bigger revenue", USD)
    held_out = HeldOut(frozenset({("revenue", USD)}), frozenset())
    assert Rewording(held_out).of("bigger revenue", "percent")
    assert not Rewording(held_out).of("bigger revenue", USD)


def test_no_word_is_exchanged_by_which_the_names_of_a_held_out_pair_differ() -> None:
    assert {"impairment charge", "write-down"} <= {"impairment charge", *table().same["impairment charge"]}
    assert "goodwill write-down" in Rewording(NOTHING).of("goodwill impairment", USD)
    held_out = HeldOut(frozenset({("impairment charge", USD)}), frozenset())
    assert "goodwill write-down" not in Rewording(held_out).of("goodwill impairment", USD)
    assert "goodwill write-down" in Rewording(held_out).of("goodwill impairment", "currency:EUR")
    growing = HeldOut(frozenset({("impairment charge growth", USD)}), frozenset())
    assert "goodwill write-down" not in Rewording(growing).of("goodwill impairment", USD)
    assert "goodwill impairment increase" in Rewording(growing).of("goodwill impairment growth", USD)


def test_every_word_can_be_exchanged_back() -> None:
    groups = _groups()
    assert len(groups) > 300
    for word, others in groups.items():
        assert word.strip() == word
        assert word
        for other in others:
            assert word in {back.lower() for back in groups[other.lower()]}


def test_queries_use_other_words_than_the_pool() -> None:
    pool = replace(tiny_pool(), concepts=[Concept("loan volume"), *CONCEPTS[1:]])
    settings = TripleSettings(concept_expansion=0, two_conditions=0, synonyms=1.0)
    for settings_now, exchanged in ((settings, True), (replace(settings, synonyms=0.0), False)):
        stream = TripleStream([pool], seed=3, mix={"tiny": 1.0}, settings=settings_now)
        queries = [
            triple.query.lower()
            for triple in stream.next_block(300)
            if stream.pairs[triple.conditions[0].pair][0] == "loan volume"
        ]
        assert len(queries) > 20
        assert any("lending" in query for query in queries) == exchanged
        assert all("loan volume" in query for query in queries) != exchanged
