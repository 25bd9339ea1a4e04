"""Triples about invented things with unlimited values: magnitudes, formats and conversion everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from random import Random

from numcolbert.data.asking import ask
from numcolbert.data.attribute_sentences import (
    Attribute,
    Domain,
    Frame,
    domains,
    entity_name,
    make_frame,
    named_with_kind,
)
from numcolbert.data.augment import convert, value_for
from numcolbert.data.confusable import Neighbours, phrases_of
from numcolbert.data.held_out import HeldOut
from numcolbert.data.pool import Unit
from numcolbert.data.queries import Asked, QueryStyle
from numcolbert.data.references import MEASURES, compared
from numcolbert.data.triple import (
    Passage,
    PassageQuantity,
    QueryCondition,
    Triple,
    is_borderline,
    labels_hold,
    satisfies,
)
from numcolbert.data.triple_settings import Drawing, OperatorDrawing, TripleSettings
from numcolbert.data.unnamed import BY_LAST_WORD, unnamed
from numcolbert.data.vocabulary import Vocabulary
from numcolbert.data.writing import round_to, write_quantity
from numcolbert.errors import InputError
from numcolbert.types import Operator

_TRIES = 4
_NO_SPAN = (0, 0)
# Outside of these no one would have chosen the unit.
_SMALLEST_CONVERTED, _LARGEST_CONVERTED = 0.2, 5e6


class AttributeSource:
    name = "attributes"

    def __init__(self, vocabulary: Vocabulary, held_out: HeldOut, settings: TripleSettings) -> None:
        self.settings = settings
        self._held_out = held_out
        self._known: list[tuple[Domain, Attribute]] = []
        self._by_dimension: dict[str, list[tuple[Domain, Attribute]]] = {}
        self._pair: dict[Attribute, int] = {}
        self._unit: dict[str, int] = {}
        self._dimension: dict[str, int] = {}
        self._several: dict[Domain, list[Attribute]] = {}
        self._alike: dict[Attribute, list[tuple[Domain, Attribute]]] = {}
        for domain in domains():
            for attribute in domain.attributes:
                self._pair[attribute] = vocabulary.pair(attribute.name, attribute.dimension)
                self._dimension[attribute.dimension] = vocabulary.dimension(attribute.dimension)
                for unit in attribute.units:
                    self._unit[unit.name] = vocabulary.unit(unit)
                self._by_dimension.setdefault(attribute.dimension, []).append((domain, attribute))
                if (attribute.name, attribute.dimension) not in held_out.pairs:
                    self._known.append((domain, attribute))
                    self._several.setdefault(domain, []).append(attribute)
        if not self._known:
            raise InputError("Every attribute is held out.", hint="give fewer held-out pairs")
        self._all_units = [u for d in domains() for a in d.attributes for u in a.units]
        self._operator = OperatorDrawing(settings.operators)
        self._simple_operator = OperatorDrawing(settings.operators, simple=True)
        self._negative_kind = Drawing(vars(settings.negatives))
        self._styles: dict[tuple[Domain, tuple[str, ...], bool, bool], QueryStyle] = {}

    def subject(self, rng: Random) -> tuple[Domain, Attribute]:
        return rng.choice(self._known)

    def neighbour(self, subject: tuple[Domain, Attribute], rng: Random) -> tuple[Domain, Attribute] | None:
        near = self._neighbours.of(subject)
        return rng.choice(near) if near else None

    def draw(self, subject: tuple[Domain, Attribute], rng: Random) -> Triple | None:
        """One triple, or None where the draw came to nothing; the stream then draws again."""
        domain, attribute = subject
        if rng.random() < self.settings.two_conditions and len(self._several[domain]) > 1:
            return self._two(domain, rng)
        if self.settings.other_kinds and rng.random() < self.settings.other_kinds:
            return self._of_another_kind(domain, attribute, rng)
        made = self._condition(attribute, self._operator(rng), rng)
        if made is None:
            return None
        condition, asked = made
        frame = make_frame(domain, attribute, rng)
        if self.settings.references and rng.random() < self.settings.references:
            frame = self._compared(frame, attribute, condition, asked.unit, rng)
        positive = self._passage(frame, attribute, condition, asked.unit, True, rng)
        if positive is None:
            return None
        negative = self._negative(domain, attribute, frame, condition, asked.unit, rng)
        if negative is None:
            return None
        return self._triple(domain, attribute, [asked], [condition], positive, negative, rng)

    # ---- the query -------------------------------------------------------------------------------------

    def _condition(
        self, attribute: Attribute, operator: Operator, rng: Random
    ) -> tuple[QueryCondition, Asked] | None:
        unit = rng.choice(attribute.units) if rng.random() < 0.5 else attribute.units[0]
        low = attribute.plausible(rng)
        if unit is not attribute.units[0]:
            converted = round_to(convert(low, attribute.units[0], unit), rng.choice((1, 2, 3)))
            if _SMALLEST_CONVERTED <= converted <= _LARGEST_CONVERTED:
                low = converted
            else:
                unit = attribute.units[0]
        high = low
        if operator == "range":
            high = round_to(low * rng.uniform(1.1, 4.0), 2)
            if attribute.whole:
                high = float(round(high))
            if high <= low:
                high = low + 1.0
        base_low, base_high = low * unit.factor + unit.offset, high * unit.factor + unit.offset
        if self._held_out.blocks(attribute.name, attribute.dimension, operator, base_low):
            return None
        condition = QueryCondition(
            operator, self._pair[attribute], self._unit[unit.name], self._dimension[attribute.dimension],
            low, base_low, base_high, _NO_SPAN,
        )  # fmt: skip
        phrase = attribute.concept
        if rng.random() < self.settings.concept_expansion:
            phrase = rng.choice(attribute.variants)
        return condition, Asked(phrase, operator, low, unit, high)

    def _style(self, domain: Domain, attribute: Attribute, asked: Asked, rng: Random) -> QueryStyle:
        distractor = rng.random() < self.settings.distractors
        measured = bool(self.settings.references) and rng.random() < self.settings.references
        templates: tuple[str, ...] = ()
        last_word = asked.concept.rsplit(" ", 1)[-1]
        if last_word in BY_LAST_WORD and rng.random() >= 0.6:
            templates = BY_LAST_WORD[last_word]
        if self.settings.unnamed and rng.random() < self.settings.unnamed:
            templates = unnamed(attribute, asked.operator)
        key = (domain, templates, distractor, measured)
        style = self._styles.get(key)
        if style is None:
            style = self._styles[key] = QueryStyle(
                long_share=self.settings.long_queries,
                distractor=distractor,
                measures=MEASURES if measured else (),
                subjects=domain.nouns,
                domain=domain.one,
                templates=templates,
            )
        return style

    # ---- the passages ----------------------------------------------------------------------------------

    def _passage(
        self,
        frame: Frame,
        attribute: Attribute,
        condition: QueryCondition,
        asked_unit: Unit,
        wanted: bool,
        rng: Random,
        units: Sequence[Unit] = (),
    ) -> Passage | None:
        """The frame with a value that satisfies the condition, or violates it, in one of `units`; where there
        are none, in any of the attribute's, the query's more often.
        """
        for _ in range(_TRIES):
            unit = asked_unit
            if units:
                unit = rng.choice(units)
            elif unit not in attribute.units or rng.random() < self.settings.query_other_unit:
                unit = rng.choice(attribute.units)
            digits = 12 if unit is asked_unit else rng.choice((3, 4, 6))
            low = round_to((condition.base_value - unit.offset) / unit.factor, digits)
            high = round_to((condition.base_high - unit.offset) / unit.factor, digits)
            value = self._value(condition, low, high, wanted, attribute, rng)
            if attribute.whole and value < 1:
                continue
            base = value * unit.factor + unit.offset
            if unit is not asked_unit and (
                is_borderline(base, condition.base_value) or is_borderline(base, condition.base_high)
            ):
                continue
            if satisfies(condition.operator, base, condition.base_value, condition.base_high) == wanted:
                return self._filled(frame, self._pair[attribute], unit, value, rng)
        return None

    def _compared(
        self, frame: Frame, attribute: Attribute, condition: QueryCondition, unit: Unit, rng: Random
    ) -> Frame:
        """The frame beside a number that would satisfy the condition if it were the thing's own."""
        low = (condition.base_value - unit.offset) / unit.factor
        high = (condition.base_high - unit.offset) / unit.factor
        return compared(frame, self._value(condition, low, high, True, attribute, rng), unit, rng)

    def _value(
        self,
        condition: QueryCondition,
        low: float,
        high: float,
        wanted: bool,
        attribute: Attribute,
        rng: Random,
    ) -> float:
        near, at = self.settings.near_threshold, self.settings.at_threshold
        return value_for(condition.operator, low, high, wanted, rng, near, at=at, whole=attribute.whole)

    def _filled(self, frame: Frame, pair: int, unit: Unit, value: float, rng: Random) -> Passage:
        quantities = [
            PassageQuantity(
                self._pair[other.attribute] if other.attribute else -1, self._unit[other.unit.name],
                self._dimension[other.unit.dimension], other.value * other.unit.factor + other.unit.offset,
            )
            for other in frame.others
        ]  # fmt: skip
        quantities.append(
            PassageQuantity(
                pair, self._unit[unit.name], self._dimension[unit.dimension],
                value * unit.factor + unit.offset,
            )
        )  # fmt: skip
        return Passage(frame.fill(write_quantity(value, unit, rng)), quantities)

    def _negative(
        self,
        domain: Domain,
        attribute: Attribute,
        frame: Frame,
        condition: QueryCondition,
        asked_unit: Unit,
        rng: Random,
    ) -> Passage | None:
        kind = self._negative_kind(rng)
        if kind in ("other_concept", "confusable"):
            near = self._neighbours.of((domain, attribute)) if kind == "confusable" else []
            return self._other_concept(attribute, condition, asked_unit, near, rng)
        if kind == "random":
            other_domain, other = rng.choice(self._known)
            return self._filled(
                make_frame(other_domain, other, rng), self._pair[other], other.units[0],
                other.plausible(rng), rng,
            )  # fmt: skip
        if kind == "unit":  # the same digits in a unit that breaks the label
            unit = rng.choice(attribute.units if len(attribute.units) > 1 else self._all_units)
            comparable = unit.dimension == attribute.dimension
            return self._filled(
                frame, self._pair[attribute] if comparable else -1, unit, condition.value, rng
            )
        if kind != "twin":
            frame = make_frame(domain, attribute, rng)
        return self._passage(frame, attribute, condition, asked_unit, False, rng)

    def _other_concept(
        self,
        attribute: Attribute,
        condition: QueryCondition,
        asked_unit: Unit,
        near: Sequence[tuple[Domain, Attribute]],
        rng: Random,
    ) -> Passage | None:
        """The right number beside another attribute of the same dimension: one of those in `near`, or, where
        there are none, one without a word in common.
        """
        domain, other = rng.choice(near or self._by_dimension[attribute.dimension])
        words = set(f"{attribute.concept} {' '.join(attribute.variants)}".split())
        if other is attribute or (
            not near and not words.isdisjoint(f"{other.concept} {' '.join(other.variants)}".split())
        ):
            return None
        return self._passage(make_frame(domain, other, rng), other, condition, asked_unit, True, rng)

    @cached_property
    def _neighbours(self) -> Neighbours[tuple[Domain, Attribute]]:
        return Neighbours(
            {
                (domain, attribute): (
                    attribute.dimension,
                    phrases_of((attribute.concept, *attribute.variants)),
                )
                for domain, attribute in self._known
            }
        )

    def _of_another_kind(self, domain: Domain, attribute: Attribute, rng: Random) -> Triple | None:
        """The right number of another kind of thing: an aircraft's speed where ships are asked for."""
        made = self._condition(attribute, self._operator(rng), rng)
        if made is None:
            return None
        condition, asked = made
        if self.settings.other_kinds_usual and rng.random() < self.settings.other_kinds_usual:
            negative = self._usual_elsewhere(domain, attribute, condition, rng)
            if negative is not None:
                frame = make_frame(domain, attribute, rng, named_with_kind(domain, rng))
                positive = self._passage(frame, attribute, condition, asked.unit, True, rng)
                if positive is None:
                    return None
                return self._triple(domain, attribute, [asked], [condition], positive, negative, rng)
        return self._of_a_namesake(domain, attribute, condition, asked, rng)

    def _usual_elsewhere(
        self, domain: Domain, attribute: Attribute, condition: QueryCondition, rng: Random
    ) -> Passage | None:
        """A figure that is usual for another kind of thing and satisfies the condition: how far an aircraft
        flies, where long rivers are asked for. None where no such figure was drawn.
        """
        others = [one for one in self._by_dimension[attribute.dimension] if one[0] is not domain]
        for _ in range(_TRIES if others else 0):
            other_domain, other = rng.choice(others)
            unit = rng.choice(other.units)
            value = round_to(convert(other.plausible(rng), other.units[0], unit), 3)
            base = value * unit.factor + unit.offset
            doubtful = is_borderline(base, condition.base_value) or is_borderline(base, condition.base_high)
            if doubtful or not satisfies(condition.operator, base, condition.base_value, condition.base_high):
                continue
            frame = make_frame(other_domain, other, rng, named_with_kind(other_domain, rng))
            return self._filled(frame, self._pair[other], unit, value, rng)
        return None

    def _of_a_namesake(
        self, domain: Domain, attribute: Attribute, condition: QueryCondition, asked: Asked, rng: Random
    ) -> Triple | None:
        """The right number, written into a sentence about a thing whose attribute is called alike."""
        rivals = self._namesakes(domain, attribute)
        if not rivals:
            return None
        own_units: Sequence[Unit] = ()
        other_units: Sequence[Unit] = ()
        if self.settings.other_kinds_converted and rng.random() < self.settings.other_kinds_converted:
            alike = [rival for rival in rivals if asked.unit in rival[1].units]
            elsewhere = [unit for unit in attribute.units if unit is not asked.unit]
            if alike and elsewhere:
                rivals, own_units, other_units = alike, elsewhere, [asked.unit]
        other_domain, other = rng.choice(rivals)
        frame = make_frame(domain, attribute, rng, named_with_kind(domain, rng))
        other_frame = make_frame(other_domain, other, rng, named_with_kind(other_domain, rng))
        positive = self._passage(frame, attribute, condition, asked.unit, True, rng, own_units)
        negative = self._passage(other_frame, other, condition, asked.unit, True, rng, other_units)
        if positive is None or negative is None:
            return None
        return self._triple(domain, attribute, [asked], [condition], positive, negative, rng)

    def _namesakes(self, domain: Domain, attribute: Attribute) -> list[tuple[Domain, Attribute]]:
        """Attributes of other domains that are called alike and have the same dimension."""
        if attribute not in self._alike:
            names = {attribute.concept, *attribute.variants}
            self._alike[attribute] = [
                (other_domain, other)
                for other_domain, other in self._by_dimension[attribute.dimension]
                if other_domain is not domain and not names.isdisjoint({other.concept, *other.variants})
            ]
        return self._alike[attribute]

    # ---- two conditions --------------------------------------------------------------------------------

    def _two(self, domain: Domain, rng: Random) -> Triple | None:
        """Two attributes of one thing; the negative satisfies only one of them."""
        pair = rng.sample(self._several[domain], 2)
        made = [self._condition(a, self._simple_operator(rng), rng) for a in pair]
        if made[0] is None or made[1] is None:
            return None
        conditions, asked = [made[0][0], made[1][0]], [made[0][1], made[1][1]]
        entity = entity_name(domain, rng)
        frames = [make_frame(domain, attribute, rng, entity) for attribute in pair]
        if any(other.attribute in pair for frame in frames for other in frame.others):
            return None
        broken = rng.randrange(2)
        halves: list[tuple[Passage, Passage]] = []
        for i, attribute in enumerate(pair):
            good = self._passage(frames[i], attribute, conditions[i], asked[i].unit, True, rng)
            bad = self._passage(frames[i], attribute, conditions[i], asked[i].unit, i != broken, rng)
            if good is None or bad is None:
                return None
            halves.append((good, bad))
        joined = [
            Passage(f"{a.text} {b.text}", [*a.quantities, *b.quantities])
            for a, b in zip(*halves, strict=True)
        ]
        return self._triple(domain, pair[0], asked, conditions, joined[0], joined[1], rng)

    # ---- together --------------------------------------------------------------------------------------

    def _triple(
        self,
        domain: Domain,
        attribute: Attribute,
        asked: list[Asked],
        conditions: list[QueryCondition],
        positive: Passage,
        negative: Passage,
        rng: Random,
    ) -> Triple | None:
        """Write the query; refuse what a look at the finished passages does not confirm."""
        if not labels_hold(conditions, positive, negative):
            return None
        style = self._style(domain, attribute, asked[0], rng)
        return ask(asked, conditions, positive, negative, style, rng)
