"""The plural of a noun, by rule and a few exceptions. Needs nothing: a training machine has it too."""

from __future__ import annotations

_IRREGULAR = {
    "analysis": "analyses", "basis": "bases", "child": "children", "criterion": "criteria", "foot": "feet",
    "half": "halves", "knife": "knives", "leaf": "leaves", "life": "lives", "mouse": "mice", "ox": "oxen",
    "person": "people", "shelf": "shelves", "tooth": "teeth", "wife": "wives",
}  # fmt: skip
_SAME = frozenset({"aircraft", "cattle", "crew", "fish", "personnel", "series", "sheep", "species", "staff"})
_NOT_MEN = frozenset({"german", "human", "roman", "shaman", "talisman"})


def plural_of(noun: str) -> str:
    """'box' -> 'boxes', 'city' -> 'cities', 'woman' -> 'women', 'child' -> 'children'."""
    if noun in _SAME:
        return noun
    if noun in _IRREGULAR:
        return _IRREGULAR[noun]
    if noun.endswith("man") and noun not in _NOT_MEN:
        return noun[:-2] + "en"
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return noun[:-1] + "ies"
    return noun + "s"
