from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from tests.data.test_triples import CONCEPTS, tiny_pool

from numcolbert.data.held_out import HeldOut
from numcolbert.data.pool import Concept
from numcolbert.data.synonyms import Rewording
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
