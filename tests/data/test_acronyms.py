from __future__ import annotations

import re
from dataclasses import replace
from random import Random

import pytest
from tests.data.test_triples import CONCEPTS, tiny_pool

from numcolbert.data.abbreviated import Abbreviation
from numcolbert.data.held_out import HeldOut
from numcolbert.data.pool import Concept, Pool, Texts
from numcolbert.data.synonyms import Rewording
from numcolbert.data.triple import Passage, PassageQuantity
from numcolbert.data.triple_settings import TripleSettings
from numcolbert.data.triples import TripleStream


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("return on assets", {"ROA", "ROAs", None}),
        ("allowance for credit losses", {"AFCL", "ACL", "AFCLs", "ACLs"}),
        ("average daily rate", {"ADR"}),
        ("net charge-off", {"NCO"}),
        ("net operating income growth", {"NOI growth"}),
        ("net sales growth", {None}),
        ("revenue", {None}),
        ("phase 3 trial", {None}),
        ("cost of goods sold by the new company", {None, "CGSNC"}),
    ],
)
def test_names_by_their_initials(name: str, found: set[str | None]) -> None:
    rewording, rng = Rewording(HeldOut()), Random(1)
    assert {rewording.initials(name, "percent", rng) for _ in range(200)} == found


def test_initials_of_a_held_out_concept_are_not_taught() -> None:
    held_out = HeldOut(frozenset({("return on assets", "percent")}))
    for name in ("return on assets", "return on assets growth"):
        for rewording, taught in ((Rewording(HeldOut()), True), (Rewording(held_out), False)):
            rng = Random(1)
            made = {rewording.initials(name, "percent", rng) for _ in range(50)}
            assert any("ROA" in (initials or "") for initials in made) == taught


def test_queries_ask_by_initials() -> None:
    revenue, _, *others = CONCEPTS
    pool = replace(tiny_pool(), concepts=[revenue, Concept("net interest margin"), *others])
    for share, asked in ((0.0, False), (1.0, True)):
        settings = TripleSettings(concept_expansion=0, two_conditions=0, acronyms=share)
        stream = TripleStream([pool], seed=3, mix={"tiny": 1.0}, settings=settings)
        queries = [
            triple.query
            for triple in stream.next_block(300)
            if stream.pairs[triple.conditions[0].pair][0] == "net interest margin"
        ]
        assert len(queries) > 20
        assert any("NIM" in query for query in queries) == asked
        assert any("net interest margin" in query for query in queries) != asked


def renamed_pool() -> Pool:
    """The tiny pool with a margin that has a longer name, and stands so in its sentences."""
    revenue, _, *others = CONCEPTS
    pool = tiny_pool()
    # As many letters as before, so that all spans stay.
    texts = [
        text.replace("a margin of", "gross x fee") for text in map(pool.sentences.__getitem__, range(60))
    ]
    margin = Concept("margin", surfaces=("gross x fee",))
    return replace(pool, sentences=Texts.of(texts), concepts=[revenue, margin, *others])


def test_passages_name_concepts_by_initials() -> None:
    pool = renamed_pool()
    for share, shortened in ((0.0, False), (1.0, True)):
        settings = TripleSettings(concept_expansion=0, two_conditions=0, passage_acronyms=share)
        stream = TripleStream([pool], seed=3, mix={"tiny": 1.0}, settings=settings)
        triples = [t for t in stream.next_block(300) if "Revenue" in t.positive.text]
        assert len(triples) > 50
        for triple in triples:
            assert ("GXF" in triple.positive.text) == shortened
            assert ("gross x fee" in triple.positive.text) != shortened
            assert "GXF" not in triple.query
        alike = [t.negative.text for t in triples if "Revenue" in t.negative.text]
        assert alike and all(("GXF" in text) == shortened for text in alike), "no sign of the right one"


def test_a_passage_in_short_is_the_same_in_all_else() -> None:
    told = PassageQuantity(0, 0, 0, 4.0)
    concept = Concept("return on assets", surfaces=("return on average assets", "returns on assets"))
    pairs = [("return on assets", "percent"), ("roof", "length")]

    def short(text: str, held_out: HeldOut, *quantities: PassageQuantity) -> Passage:
        made = Abbreviation([concept, Concept("roof")], pairs, Rewording(held_out), held_out)
        return made.of(Passage(text, quantities), [], Random(4))

    text = "Return on average assets was 4%, and assets grew; return on assets was 3% before."
    made = short(text, HeldOut(), told, replace(told, pair=-1), replace(told, pair=1))
    assert re.fullmatch(r"(ROAA|RAA) was 4%, and assets grew; return on assets was 3% before\.", made.text)
    assert [quantity.pair for quantity in made.quantities] == [0, -1, 1]
    assert short("Assets returned 4%.", HeldOut(), told).text == "Assets returned 4%."
    assert short("Nonreturn on assets: 4%", HeldOut(), told).text == "Nonreturn on assets: 4%"
    held_out = HeldOut(frozenset({("return on assets", "percent")}))
    assert short(text, held_out, told).text == text
