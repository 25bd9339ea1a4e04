"""Questions that do not name their concept: "ships that make over 30 knots", "ships faster than 30 knots".

Corpora have no things to ask for in this way; the tables of attributes say what is told of each, and that can
be asked as well.
"""

from __future__ import annotations

from functools import cache
from itertools import cycle, islice

from numcolbert.data.attribute_sentences import Attribute
from numcolbert.types import Operator

# What is asked by the last word of an attribute's concept. Slots as in `phrases.py`.
BY_LAST_WORD: dict[str, tuple[str, ...]] = {
    "weight": ("{s} weighing {before}", "{s} that weigh {before}", "which {s} weigh {before}?"),
    "price": ("{s} costing {before}", "{s} that cost {before}", "{s} priced {after}", "{s} for {before}"),
    "cost": ("{s} costing {before}", "{s} that cost {before}"),
    "height": ("{s} that are {before} tall", "which {s} are {before} tall?"),
    "length": ("{s} that are {before} long", "which {s} are {before} long?"),
    "depth": ("{s} that are {before} deep",),
    "speed": ("{s} that go {before}", "{s} moving at {before}"),
    "age": ("{s} that are {before} old", "{s} {before} old"),
    "lifespan": ("{s} that live {before}",),
    "salary": ("{s} that pay {before}", "{s} paying {before}"),
    "rent": ("{s} renting for {before}",),
    "time": ("{s} that take {before}",),
    "pages": ("{s} with {before}",),
    "area": ("{s} that cover {before}",),
}

# Comparatives of the thing itself, where its attribute is called by just that word: a phone with a large
# screen or a long charging time is no larger or longer phone.
_THAN: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "weight": (("heavier",), ("lighter",)),
    "mass": (("heavier",), ("lighter",)),
    "price": (("dearer", "more expensive", "costlier"), ("cheaper", "less expensive")),
    "cost": (("dearer", "more expensive", "costlier"), ("cheaper", "less expensive")),
    "rent": (("dearer", "more expensive"), ("cheaper", "less expensive")),
    "height": (("taller", "higher"), ("lower", "shorter")),
    "elevation": (("higher",), ("lower",)),
    "length": (("longer",), ("shorter",)),
    "depth": (("deeper",), ("shallower",)),
    "diameter": (("larger", "bigger"), ("smaller",)),
    "width": (("wider", "broader"), ("narrower",)),
    "thickness": (("thicker",), ("thinner",)),
    "speed": (("faster", "quicker"), ("slower",)),
    "age": (("older",), ("younger",)),
    "temperature": (("hotter", "warmer"), ("colder", "cooler")),
    "area": (("larger", "bigger"), ("smaller",)),
    "size": (("larger", "bigger"), ("smaller",)),
    "power": (("stronger", "more powerful"), ("weaker", "less powerful")),
    "noise": (("louder", "noisier"), ("quieter",)),
    "population": (("larger", "more populous"), ("smaller",)),
}
_COMPARED = (
    "{s} MORE than {q}", "{s} MORE than {q}", "{s} MORE than {q}", "which {s} are MORE than {q}?",
    "{s} that are MORE than {q}", "find {s} MORE than {q}", "are there any {s} MORE than {q}?",
    "list {s} MORE than {q}", "show me {s} that are MORE than {q}", "I am looking for {s} MORE than {q}",
)  # fmt: skip
_TOLD = (
    "{s} that TOLD", "{s} that TOLD", "{s} that TOLD", "which {s} TOLD?", "{s} which TOLD",
    "find {s} that TOLD", "are there any {s} that TOLD?", "list the {s} that TOLD", "show me {s} that TOLD",
    "give me {s} that TOLD",
)  # fmt: skip
_PLURALS = {"is": "are", "has": "have", "was": "were", "does": "do"}


@cache
def unnamed(attribute: Attribute, operator: Operator) -> tuple[str, ...]:
    """Templates that ask for things by what is told of the attribute; half compare, where things can be."""
    told = [
        template.replace("TOLD", of_several(says).replace("{q}", "{before}"))
        for says in attribute.says
        for template in _TOLD
    ]
    if operator in (">", "<"):  # "melt above 300 °C"
        told += [text.replace("at {before}", "{after}") for text in told if "at {before}" in text]
    compared = [
        template.replace("MORE", comparative)
        for comparative in comparatives_of(attribute, operator)
        for template in _COMPARED
    ]
    return (*told, *islice(cycle(compared), len(told)))


def comparatives_of(attribute: Attribute, operator: Operator) -> tuple[str, ...]:
    """What a thing is if its attribute is more (or less): "heavier"."""
    if operator not in (">", "<"):
        return ()
    called = (attribute.concept, *attribute.variants)
    more, less = next((pair for word, pair in _THAN.items() if word in called), ((), ()))
    return more if operator == ">" else less


def of_several(says: str) -> str:
    """What is told of one thing, told of several: "weighs {q}", "weigh {q}"."""
    verb, _, rest = says.partition(" ")
    return f"{_plural(verb)} {rest}".replace(" its ", " their ")


def _plural(verb: str) -> str:
    if verb in _PLURALS:
        return _PLURALS[verb]
    if verb.endswith("ies") and len(verb) > 4:  # not "dies"
        return verb[:-3] + "y"
    if verb.endswith(("ches", "shes", "sses", "oes", "xes")):
        return verb[:-2]
    return verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb
