"""`--where` to SQL. Names and values of the expression only ever travel as bound parameters.

A test on a field that a document does not have is false, and `not` is its exact opposite.

- `year >= 2020`: the metadata field as a number; a text that holds nothing but a number counts as one.
- `category = 'ssd'`, `day < '2024-05-01'`: the field as text, case-sensitive, in the order of characters.
- `tags contains 'new'`: a list that holds the value, or a text that holds it, in any case of ASCII letters.
- `archived`, `archived = true`, `price is null`.
- `quantity < 500 USD`: some quantity in the passage's text; units convert, currencies do not.
- `price < 500 USD`: the metadata field `price`: a text such as "450 dollars" is read, and a number is in the
  unit that the field's name says (`field_units`); on numbers of which nothing says the unit it is refused.
  Where no document has such a field, the same as `quantity < 500 USD`.
- `id` and `text` name the document's own id and text.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Collection

from numcolbert.index.collection import View
from numcolbert.index.store import Selection
from numcolbert.quantities.units import UnitInfo
from numcolbert.search.field_units import number_unit
from numcolbert.search.filter_syntax import (
    AllOf,
    AnyOf,
    Compare,
    Contains,
    Field,
    IsNull,
    IsTrue,
    Node,
    Not,
    mistake,
    parse,
)
from numcolbert.types import Quantity

QUANTITY = "quantity"
MISSPELT = 0.8
"""How alike two names are of which one is taken for a slip; `difflib.get_close_matches`."""
OWN = {"id": "d.id", "text": "d.text"}


def filter_for(view: View, expression: str) -> Selection:
    """The condition for `View.select`."""
    return parse_filter(expression, view.store.fields(), view.holds)


def parse_filter(expression: str, fields: Collection[str], holds: Callable[[Selection], bool]) -> Selection:
    """The condition for `Store.select`.

    fields: the metadata fields that documents have.
    holds: whether any document fits a condition.
    """
    return _Translator(expression, fields, holds).translate(parse(expression))


class _Translator:
    def __init__(self, expression: str, fields: Collection[str], holds: Callable[[Selection], bool]) -> None:
        self.expression, self.fields, self.holds = expression, fields, holds

    def translate(self, node: Node) -> Selection:
        match node:
            case AllOf(parts):
                return self._joined(parts, " AND ")
            case AnyOf(parts):
                return self._joined(parts, " OR ")
            case Not(part):
                inner = self.translate(part)
                return Selection(f"NOT {inner.sql}", inner.parameters)
            case Compare(field, "!=", value):
                return self.translate(Not(Compare(field, "=", value)))
            case Compare(field, _, Quantity()) if not self._is_known(field):
                self._require_no_misspelling(field)
                return self._passage_quantity(node)
            case Compare(field, _, float()) if str(field) == QUANTITY and not self._is_known(field):
                return self._passage_quantity(node)
            case Compare(field):
                self._require_known(field)
                return self._compared(node)
            case Contains(field, value):
                self._require_known(field)
                return self._contains(field, value)
            case IsNull(field):
                self._require_known(field)
                value, parameters = self._value(field)
                return Selection(f"({value} IS NULL)", parameters)
            case IsTrue(field):
                self._require_known(field)
                return Selection("(coalesce(json_type(d.metadata, ?) = 'true', 0))", (_path(field),))

    def _joined(self, parts: tuple[Node, ...], word: str) -> Selection:
        inner = [self.translate(part) for part in parts]
        parameters = tuple(value for part in inner for value in part.parameters)
        return Selection(f"({word.join(part.sql for part in inner)})", parameters)

    def _compared(self, node: Compare) -> Selection:
        x, parameters = self._value(node.field)
        operator, value = node.operator, node.value
        match value:
            case bool():
                kind = "true" if value else "false"
                return Selection("(coalesce(json_type(d.metadata, ?) = ?, 0))", (_path(node.field), kind))
            case str() if str(node.field) in OWN:
                return Selection(f"({x} {operator} ?)", (value,))  # can use the index on ids
            case str() if operator == "=":
                return Selection(f"(coalesce(CAST({x} AS TEXT) = ?, 0))", (*parameters, value))
            case str():
                # A number in quotes is compared with texts as a text, and with numbers as a number.
                return Selection(
                    f"(coalesce({x} {operator} iif(typeof({x}) = 'text', ?, number_of(?)), 0))",
                    (*parameters, *parameters, value, value),
                )
            case Quantity() if value.dimension != "number":
                return self._measured(node, value)
            case _:
                self._require_numbers(node.field)
                value = value.value if isinstance(value, Quantity) else value
                return Selection(f"(coalesce(number_of({x}) {operator} ?, 0))", (*parameters, value))

    def _measured(self, node: Compare, asked: Quantity) -> Selection:
        """A field against a number with a unit: a text is read, a number is in the unit of its field."""
        x, parameters = self._value(node.field)
        text = f"base_value_in({x}, ?) {node.operator} ?"
        text_parameters = (*parameters, asked.dimension, asked.base_value)
        unit = number_unit(node.field.names[-1], asked)
        if unit is None:
            self._require_units(node.field, asked)
            return Selection(f"(coalesce({text}, 0))", text_parameters)
        number, number_parameters = _number_test(f"number_of({x})", parameters, node, asked, unit)
        return Selection(f"(coalesce({number}, {text}, 0))", (*number_parameters, *text_parameters))

    def _require_units(self, field: Field, asked: Quantity) -> None:
        """Refuse a unit where the field holds numbers of which nothing says what they measure."""
        x, parameters = self._value(field)
        if self.holds(Selection(f"(base_value_in({x}, ?) IS NOT NULL)", (*parameters, asked.dimension))):
            return
        if self.holds(Selection(f"(number_of({x}) IS NOT NULL)", parameters)):
            problem = (
                f"'{field}' holds plain numbers, and nothing says that they are in '{asked.unit}': leave the "
                "unit out, or name it in the field (weight_kg) or in its values ('5 kg')"
            )
            raise mistake(self.expression, problem, field.position)

    def _require_numbers(self, field: Field) -> None:
        """Refuse a bare number where the field holds none, but numbers with units: in which is it?"""
        x, parameters = self._value(field)
        if str(field) in OWN or self.holds(Selection(f"(number_of({x}) IS NOT NULL)", parameters)):
            return
        if self.holds(Selection(f"(has_unit({x}))", parameters)):
            problem = f"'{field}' holds numbers with units, such as '5 kg' or '$5': write the unit here too"
            raise mistake(self.expression, problem, field.position)

    def _contains(self, field: Field, value: object) -> Selection:
        if isinstance(value, Quantity) and value.unit:
            problem = "'contains' takes a text in quotes or a plain number, not a number with a unit"
            raise mistake(self.expression, problem, field.position)
        plain = value.value if isinstance(value, Quantity) else value
        written = f"{plain:.15g}" if isinstance(plain, float) else str(plain)
        if str(field) in OWN:
            return Selection(f"(instr(lower({OWN[str(field)]}), lower(?)) > 0)", (written,))
        path = _path(field)
        in_list = (
            "json_type(d.metadata, ?) = 'array' AND "
            "EXISTS (SELECT 1 FROM json_each(d.metadata, ?) e WHERE e.value = ?)"
        )
        in_text = (
            "json_type(d.metadata, ?) = 'text' AND instr(lower(json_extract(d.metadata, ?)), lower(?)) > 0"
        )
        return Selection(
            f"(coalesce({in_list}, 0) OR coalesce({in_text}, 0))", (path, path, plain, path, path, written)
        )

    def _passage_quantity(self, node: Compare) -> Selection:
        """The rules of `quantities.satisfies`, in SQL: a range satisfies when all of it does."""
        value = node.value
        if isinstance(value, Quantity):
            unit, dimension, target, loose = value.unit, value.dimension, value.base_value, value.approximate
        else:
            unit, dimension, target, loose = None, "number", float(value or 0), False
        low, high = "coalesce(q.base_low, q.base_value)", "coalesce(q.base_high, q.base_value)"
        slack = "iif(q.unit IS ?, 1e-9, 1e-6) * abs(?)"
        room = "iif(q.approximate OR ?, 0.1, iif(q.unit IS ?, 1e-6, 5e-3)) * abs(?)"
        # low <= base_value <= high: a wider test on base_value first, because there is an index on it.
        near = abs(target) * 0.1
        test, parameters = {
            ">": (f"q.base_value > ? AND {low} > ? + {slack}", (target, target, unit, target)),
            ">=": (f"q.base_value >= ? AND {low} >= ? - {slack}", (target - near, target, unit, target)),
            "<": (f"q.base_value < ? AND {high} < ? - {slack}", (target, target, unit, target)),
            "<=": (f"q.base_value <= ? AND {high} <= ? + {slack}", (target + near, target, unit, target)),
            "=": (
                f"q.base_value BETWEEN ? AND ? AND abs({low} - ?) <= {room} AND abs({high} - ?) <= {room}",
                (target - near, target + near, *(target, loose, unit, target) * 2),
            ),
        }[node.operator]
        return Selection(
            f"(d.key IN (SELECT q.key FROM quantities q WHERE q.dimension = ? AND {test}))",
            (dimension, *parameters),
        )

    def _value(self, field: Field) -> tuple[str, tuple[str, ...]]:
        own = OWN.get(str(field))
        return (own, ()) if own else ("json_extract(d.metadata, ?)", (_path(field),))

    def _is_known(self, field: Field) -> bool:
        return field.names[0] in self.fields or str(field) in OWN

    def _require_no_misspelling(self, field: Field) -> None:
        """`prize < 50 USD` would silently ask the texts instead of the field `price`."""
        near = difflib.get_close_matches(field.names[0], self.fields, n=1, cutoff=MISSPELT)
        if near and str(field) != QUANTITY:
            problem = (
                f"no document has a field '{field.names[0]}'; did you mean '{near[0]}'? The quantities in "
                f"the texts are called '{QUANTITY}'"
            )
            raise mistake(self.expression, problem, field.position)

    def _require_known(self, field: Field) -> None:
        if self._is_known(field):
            if not all(map(_is_plain, field.names)):
                problem = "names with quotes, backslashes or control characters cannot be filtered on"
                raise mistake(self.expression, problem, field.position)
            return
        near = difflib.get_close_matches(field.names[0], self.fields, n=1)
        known = ", ".join(sorted(self.fields)[:20]) or "no metadata at all"
        suggestion = f"did you mean '{near[0]}'?" if near else f"documents have: {known}"
        raise mistake(
            self.expression, f"no document has a field '{field.names[0]}'; {suggestion}", field.position
        )


def _number_test(
    number: str, parameters: tuple[str, ...], node: Compare, asked: Quantity, unit: UnitInfo
) -> tuple[str, tuple[object, ...]]:
    """A number in `unit` against the threshold; one that had to be converted may be off by its rounding."""
    if unit.name == asked.unit:
        return f"{number} {node.operator} ?", (*parameters, asked.value)
    target = unit.from_base(asked.base_value)
    slack = 1e-9 * abs(target)
    match node.operator:
        case "=":
            return f"abs({number} - ?) <= ?", (*parameters, target, slack)
        case "<" | ">=":
            return f"{number} {node.operator} ?", (*parameters, target - slack)
        case _:
            return f"{number} {node.operator} ?", (*parameters, target + slack)


def _path(field: Field) -> str:
    """`seller.country` as SQLite's JSON path. Quoted, so that any name is one step."""
    return "$" + "".join(f'."{name}"' for name in field.names)


def _is_plain(name: str) -> bool:
    """Whether JSON writes the name as it is: SQLite compares names as they are written."""
    return json.dumps(name, ensure_ascii=False) == f'"{name}"'
