"""Questions by a verb or a comparative in place of the concept's name."""

import pytest

from numcolbert.data.attribute_sentences import Attribute, domains
from numcolbert.data.triple_settings import TripleSettings
from numcolbert.data.triples import TripleStream
from numcolbert.data.unnamed import comparatives_of, of_several, unnamed
from numcolbert.quantities import extract


def attribute(domain: str, concept: str) -> Attribute:
    return next(a for d in domains() for a in d.attributes if (a.domain, a.concept) == (domain, concept))


@pytest.mark.parametrize(
    ("one", "several"),
    [
        ("weighs {q}", "weigh {q}"),
        ("is {q} tall", "are {q} tall"),
        ("has a mass of {q}", "have a mass of {q}"),
        ("was sold for {q}", "were sold for {q}"),
        ("carries {q} of cargo", "carry {q} of cargo"),
        ("dies after {q}", "die after {q}"),
        ("reaches {q}", "reach {q}"),
        ("crosses {q} of water", "cross {q} of water"),
        ("goes up to {q}", "go up to {q}"),
        ("uses {q}", "use {q}"),
        ("grossed {q}", "grossed {q}"),
        ("fills its battery within {q}", "fill their battery within {q}"),
    ],
)
def test_what_is_told_of_one_thing_told_of_several(one: str, several: str) -> None:
    assert of_several(one) == several


def test_comparatives_are_of_the_thing_itself() -> None:
    assert comparatives_of(attribute("ship", "speed"), ">") == ("faster", "quicker")
    assert comparatives_of(attribute("ship", "speed"), "<") == ("slower",)
    assert comparatives_of(attribute("ship", "speed"), "=") == ()
    # A phone with a larger screen is no larger phone.
    assert comparatives_of(attribute("phone", "screen size"), ">") == ()


def test_half_of_the_templates_compare_where_there_is_a_comparative() -> None:
    templates = unnamed(attribute("ship", "length"), ">")
    compared = [t for t in templates if "longer than {q}" in t]
    assert len(compared) == len(templates) / 2
    assert "{s} that are {before} long" in templates
    assert all("longer" not in t for t in unnamed(attribute("ship", "length"), "="))


def test_what_is_at_a_value_can_be_above_it() -> None:
    melting = attribute("compound", "melting point")
    assert "{s} that melt {after}" in unnamed(melting, ">")
    assert "{s} that melt {after}" not in unnamed(melting, "=")


def test_queries_do_without_the_concept() -> None:
    settings = TripleSettings(two_conditions=0.0, unnamed=1.0, distractors=0.0)
    stream = TripleStream([], seed=8, settings=settings)
    triples = stream.next_block(600)
    nouns = {noun for domain in domains() for noun in domain.nouns}
    named = comparatives = 0
    for triple in triples:
        (condition,) = triple.conditions
        start, end = condition.span
        assert "{" not in triple.query
        if not stream.dimensions[condition.dimension].startswith("count"):  # "50 goals" is its own concept
            assert any(noun in triple.query for noun in nouns), triple.query
        if condition.operator != "range":
            assert any(q.span[0] < end and start < q.span[1] for q in extract(triple.query)), triple.query
        named += "whose" in triple.query
        comparatives += "er than" in triple.query
    assert named == 0
    assert comparatives > 60
