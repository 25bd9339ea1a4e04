"""The attribute tables agree with the extractor's units, and their sentences say what is labelled."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import pytest

from numcolbert.data.attribute_sentences import SENTENCES, domains, make_frame, unit_table
from numcolbert.data.references import MEASURES, compared
from numcolbert.data.triple import labels_hold, satisfies
from numcolbert.data.triple_settings import TripleSettings
from numcolbert.data.triples import TripleStream
from numcolbert.data.writing import write_quantity
from numcolbert.quantities import conditions, extract, units
from numcolbert.quantities.words import SAME_COUNT


@pytest.mark.parametrize("unit", unit_table().values(), ids=lambda u: u.name)
def test_a_unit_is_worth_what_the_extractor_says(unit) -> None:
    if unit.dimension.startswith("count:"):
        assert unit.dimension == f"count:{SAME_COUNT.get(unit.name, unit.name)}" and unit.factor == 1.0
        return
    known = units.lookup(unit.name)
    assert known.dimension == unit.dimension
    assert known.factor == pytest.approx(unit.factor, rel=1e-9)
    assert known.offset == pytest.approx(unit.offset, rel=1e-9)


@pytest.mark.parametrize("unit", unit_table().values(), ids=lambda u: u.name)
def test_every_surface_is_read_as_its_unit(unit) -> None:
    counted = unit.dimension.startswith("count:")
    for surface in unit.surfaces[:1] if counted else unit.surfaces:  # the plural: "37 patient" is not English
        (quantity,) = extract(f"It is said to be 37 {surface} in all.")
        assert (quantity.dimension, quantity.base_value) == (
            unit.dimension,
            pytest.approx(37 * unit.factor + unit.offset),
        ), surface
    for prefix in unit.prefixes:
        (quantity,) = extract(f"It is said to be {prefix} 37 in all.")
        assert quantity.dimension == unit.dimension, prefix


def test_there_are_many_domains_attributes_and_sentences() -> None:
    assert len(domains()) >= 25
    attributes = [a for d in domains() for a in d.attributes]
    assert len(attributes) >= 120
    assert len(set(SENTENCES)) >= 20
    assert len({a.dimension for a in attributes}) >= 20
    for domain in domains():
        assert len(domain.attributes) >= 3, domain.one
        assert len({a.concept for a in domain.attributes}) == len(domain.attributes)
    for attribute in attributes:
        assert attribute.low < attribute.high
        assert attribute.variants
        assert all(say.count("{q}") == 1 for say in attribute.says)
        assert len({unit.dimension for unit in attribute.units}) == 1


def test_sentences_are_complete_and_read_back() -> None:
    """Fill every attribute's sentences and ask the extractor what they say."""
    rng = Random(6)
    wrong = Counter()
    total = 0
    for domain in domains():
        for attribute in domain.attributes:
            for _ in range(8):
                frame = make_frame(domain, attribute, rng)
                unit = rng.choice(attribute.units)
                value = attribute.plausible(rng)
                text = frame.fill(write_quantity(value, unit, rng))
                assert not any(mark in text for mark in "{}\x01"), text
                stated = {(q.dimension, float(f"{q.base_value:.6g}")) for q in extract(text)}
                labels = [(unit, value), *((other.unit, other.value) for other in frame.others)]
                for label, amount in labels:
                    total += 1
                    base = float(f"{amount * label.factor + label.offset:.6g}")
                    if (label.dimension, base) not in stated:
                        wrong[f"{label.name} {amount}: {text}"] += 1
    assert sum(wrong.values()) / total < 0.03, wrong.most_common(20)


def test_conversion_is_exercised() -> None:
    settings = TripleSettings(two_conditions=0.0)
    stream = TripleStream([], seed=8, settings=settings)
    crossed = 0
    triples = stream.next_block(2000)
    for triple in triples:
        (condition,) = triple.conditions
        about = [q for q in triple.positive.quantities if q.pair == condition.pair]
        crossed += any(q.unit != condition.unit for q in about)
    assert crossed / len(triples) > 0.05


@pytest.mark.parametrize("measure", MEASURES)
def test_a_measure_sets_no_bound(measure: str) -> None:
    assert all(condition.operator in ("=", "range") for condition in conditions(f"drives {measure}"))


def test_numbers_that_are_not_the_things_own() -> None:
    settings = TripleSettings(two_conditions=0.0, references=1.0)
    triples = TripleStream([], seed=8, settings=settings).next_block(600)
    tempting = 0
    for triple in triples:
        (condition,) = triple.conditions
        low, high = condition.base_value, condition.base_high
        measure = next(m for m in MEASURES if m in triple.query)
        assert triple.query.rindex(measure) >= condition.span[1], "no part of the condition"
        foreign = [q for q in triple.positive.quantities if q.pair == -1]
        assert any(satisfies(condition.operator, q.base_value, low, high) for q in foreign), triple
        assert labels_hold([condition], triple.positive, triple.negative)
        same_frame = [q for q in triple.negative.quantities if q.pair == -1]
        tempting += any(satisfies(condition.operator, q.base_value, low, high) for q in same_frame)
    assert tempting / len(triples) > 0.2, "also where the thing's own number violates the condition"


def test_the_right_number_of_another_kind_of_thing() -> None:
    settings = TripleSettings(two_conditions=0.0, other_kinds=1.0)
    kinds = [domain.one for domain in domains()]
    for triple in TripleStream([], seed=8, settings=settings).next_block(300):
        (condition,) = triple.conditions
        low, high = condition.base_value, condition.base_high
        told = [q for q in triple.negative.quantities if q.dimension == condition.dimension]
        assert any(satisfies(condition.operator, q.base_value, low, high) for q in told), (
            "the number is right"
        )
        assert all(q.pair != condition.pair for q in told), "but not the kind"
        for passage in (triple.positive, triple.negative):
            assert any(kind in passage.text for kind in kinds), passage.text
            assert not re.search(r",[,.:)]", passage.text), passage.text


def test_the_right_unit_is_no_sign_of_the_right_thing() -> None:
    settings = TripleSettings(two_conditions=0.0, other_kinds=1.0, other_kinds_converted=1.0)
    crossed = 0
    triples = TripleStream([], seed=8, settings=settings).next_block(400)
    for triple in triples:
        (condition,) = triple.conditions
        (own,) = (q for q in triple.positive.quantities if q.pair == condition.pair)
        told = [q for q in triple.negative.quantities if q.dimension == condition.dimension]
        crossed += own.unit != condition.unit and any(q.unit == condition.unit for q in told)
    # The others have no second unit, or the other thing has none in common.
    assert crossed / len(triples) > 0.5


def test_a_usual_figure_of_another_kind_is_no_answer() -> None:
    settings = TripleSettings(two_conditions=0.0, other_kinds=1.0, other_kinds_usual=1.0)
    made = TripleStream([], seed=8, settings=settings)
    usual = {
        (a.name, a.dimension): [v * a.units[0].factor + a.units[0].offset for v in (a.low, a.high)]
        for domain in domains()
        for a in domain.attributes
    }
    inside = 0
    triples = made.next_block(400)
    for triple in triples:
        (condition,) = triple.conditions
        told = [q for q in triple.negative.quantities if q.dimension == condition.dimension and q.pair >= 0]
        low, high = condition.base_value, condition.base_high
        right = [q for q in told if satisfies(condition.operator, q.base_value, low, high)]
        assert right and all(q.pair != condition.pair for q in told)
        low, high = usual[made.pairs[right[0].pair]]
        inside += low * 0.9 <= right[0].base_value <= high * 1.1
    assert inside / len(triples) > 0.6  # an exact figure is seldom a usual one elsewhere
    asked = {made.pairs[t.conditions[0].pair][0] for t in triples}
    assert any("river" in name for name in asked), "also where nothing else is called alike"


def test_sentences_with_a_reference_read_back() -> None:
    rng = Random(9)
    wrong = []
    for domain in domains():
        for attribute in domain.attributes:
            unit, value = attribute.units[0], attribute.plausible(rng)
            frame = compared(make_frame(domain, attribute, rng), value, unit, rng)
            text = frame.fill(write_quantity(attribute.plausible(rng), unit, rng))
            assert "{" not in text and text[0] == text[0].upper() and frame.others[-1].attribute is None
            stated = {(q.dimension, float(f"{q.base_value:.6g}")) for q in extract(text)}
            if (unit.dimension, float(f"{value * unit.factor + unit.offset:.6g}")) not in stated:
                wrong.append(text)
    assert len(wrong) < 6, wrong


def test_a_sentence_often_holds_other_quantities() -> None:
    triples = TripleStream([], seed=8).next_block(2000)
    several = sum(len(t.positive.quantities) > 1 for t in triples)
    assert several / len(triples) > 0.3
