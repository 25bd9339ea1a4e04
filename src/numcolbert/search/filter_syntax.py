"""The language of `--where`: text to a tree.

    filter     = or
    or         = and { "or" and }
    and        = not { "and" not }
    not        = "not" not | "(" or ")" | test
    test       = field                                   true
               | field ( = | != | < | <= | > | >= ) value
               | field [ "not" ] "in" "(" value { "," value } ")"
               | field [ "not" ] "contains" value
               | field "is" [ "not" ] "null"
    field      = name { "." name } | "`" any characters "`"
    value      = 'text' | "text" | number | quantity | true | false | null

A quantity is a number with a unit, written as people write it: 500 USD, $1.5 billion, 12 km/h, 5 %. It ends
at `and`, `or`, a closing parenthesis or the end; in a list also at a comma.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal, NoReturn

from numcolbert.errors import UsageError
from numcolbert.index.inputs import is_unicode
from numcolbert.types import Quantity

Comparison = Literal["=", "!=", "<", "<=", ">", ">="]
Value = str | float | bool | Quantity | None

LONGEST = 10_000
DEEPEST = 50
MOST_TESTS = 200
"""Together these keep the SQL far below SQLite's own limits."""


@dataclass(frozen=True, slots=True)
class Field:
    names: tuple[str, ...]
    """More than one for a value inside an object: `seller.country`."""
    position: int

    def __str__(self) -> str:
        return ".".join(self.names)


@dataclass(frozen=True, slots=True)
class Compare:
    field: Field
    operator: Comparison
    value: Value


@dataclass(frozen=True, slots=True)
class Contains:
    field: Field
    value: Value


@dataclass(frozen=True, slots=True)
class IsNull:
    field: Field


@dataclass(frozen=True, slots=True)
class IsTrue:
    field: Field


@dataclass(frozen=True, slots=True)
class Not:
    part: Node


@dataclass(frozen=True, slots=True)
class AllOf:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: tuple[Node, ...]


Node = Compare | Contains | IsNull | IsTrue | Not | AllOf | AnyOf

_SPACE = re.compile(r"\s*")
_WORD = re.compile(r"[^\W\d][\w-]*")
_OPERATOR = re.compile(r"==|=|!=|<>|<=|>=|<|>")
_QUOTED = re.compile(r"'((?:[^']|'')*)'|\"((?:[^\"]|\"\")*)\"")
_BACKTICKED = re.compile(r"`([^`]+)`")
_NUMBER = re.compile(r"[+-]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_FIGURE_START = re.compile(r"[^\w\s'\"`(),<>=!]*\s*\d|[+-]?\.\d|\d")
_FIGURE_END = re.compile(r"\s(?:and|or)(?=[\s(]|$)|\s?(?:&|\|)|\)", re.IGNORECASE)
_FIGURE_END_IN_LIST = re.compile(r"[),]")
_FOREIGN = [
    (
        re.compile(r"between\b", re.IGNORECASE),
        "'between' is written as two tests: year >= 2015 and year <= 2020",
    ),
    (re.compile(r"i?like\b", re.IGNORECASE), "'like' is written as 'contains': title contains 'drive'"),
    (re.compile(r"&|\|"), "join tests with the words 'and' and 'or'"),
]
_KEYWORDS = {"and", "or", "not", "in", "is", "contains", "true", "false", "null"}


def parse(expression: str) -> Node:
    return _Parser(expression).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise UsageError(
                f"The filter is of type {type(text).__name__}.",
                hint='write it as a text, such as "year >= 2020"',
            )
        if not text.strip():
            raise UsageError("The filter is empty.", hint='write a condition such as "year >= 2020"')
        if len(text) > LONGEST:
            raise UsageError(
                f"The filter has {len(text):,} characters.", hint=f"keep it below {LONGEST:,} characters"
            )
        if not is_unicode(text):
            raise UsageError("The filter holds bytes that are not valid text.", hint="type it as UTF-8")
        self.text = text
        self.at = 0
        self.depth = 0
        self.tests = 0

    def parse(self) -> Node:
        node = self._or()
        self._skip()
        if self.at < len(self.text):
            self._fail(self._instead() or "expected 'and', 'or' or the end here")
        return node

    def _instead(self) -> str | None:
        """What stands here in other languages, and how it is written in this one."""
        return next((advice for foreign, advice in _FOREIGN if foreign.match(self.text, self.at)), None)

    def _or(self) -> Node:
        parts = [self._and()]
        while self._keyword("or"):
            parts.append(self._and())
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _and(self) -> Node:
        parts = [self._not()]
        while self._keyword("and"):
            parts.append(self._not())
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _not(self) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            self._fail("this is nested too deep")
        try:
            if self._keyword("not"):
                return Not(self._not())
            if self._symbol("("):
                node = self._or()
                if not self._symbol(")"):
                    self._fail("expected ')' here")
                return node
            return self._test()
        finally:
            self.depth -= 1

    def _test(self) -> Node:
        self.tests += 1
        if self.tests > MOST_TESTS:
            self._fail(f"this is test number {MOST_TESTS + 1}, and {MOST_TESTS} is the most")
        field = self._field()
        self._skip()
        if match := _OPERATOR.match(self.text, self.at):
            self.at = match.end()
            operator = {"==": "=", "<>": "!="}.get(match[0], match[0])
            return self._compare(field, operator, match.start())
        if self._keyword("is"):
            negated = self._keyword("not")
            if not self._keyword("null"):
                self._fail("expected 'null' here")
            return Not(IsNull(field)) if negated else IsNull(field)
        negated = self._keyword("not")
        if self._keyword("in"):
            node: Node = AnyOf(tuple(Compare(field, "=", value) for value in self._list()))
        elif self._keyword("contains"):
            node = Contains(field, self._value())
        elif negated:
            self._fail("expected 'in' or 'contains' here")
        else:
            node = IsTrue(field)
        return Not(node) if negated else node

    def _compare(self, field: Field, operator: str, position: int) -> Node:
        value = self._value()
        if value is None:
            if operator == "=":
                return IsNull(field)
            if operator == "!=":
                return Not(IsNull(field))
        if isinstance(value, bool | None) and operator not in ("=", "!="):
            self._fail("only = and != go with true, false and null", position)
        return Compare(field, operator, value)  # type: ignore[arg-type]

    def _list(self) -> list[Value]:
        if not self._symbol("("):
            self._fail("expected '(' here")
        values = [self._value(in_list=True)]
        while self._symbol(","):
            values.append(self._value(in_list=True))
        if not self._symbol(")"):
            self._fail("expected ',' or ')' here")
        self.tests += len(values) - 1
        if self.tests > MOST_TESTS:
            self._fail(f"the filter has more than {MOST_TESTS} tests")
        return values

    def _field(self) -> Field:
        self._skip()
        start, names = self.at, []
        while True:
            if match := _BACKTICKED.match(self.text, self.at):
                names.append(match[1])
            elif match := _WORD.match(self.text, self.at):
                if match[0].lower() in _KEYWORDS and not names:
                    self._fail("expected the name of a field here")
                names.append(match[0])
            else:
                self._fail("expected the name of a field here")
            self.at = match.end()
            if not self.text.startswith(".", self.at):
                return Field(tuple(names), start)
            self.at += 1

    def _value(self, *, in_list: bool = False) -> Value:
        self._skip()
        if match := _QUOTED.match(self.text, self.at):
            self.at = match.end()
            return match[1].replace("''", "'") if match[1] is not None else match[2].replace('""', '"')
        if _FIGURE_START.match(self.text, self.at):
            return self._figure(_FIGURE_END_IN_LIST if in_list else _FIGURE_END)
        for word, value in (("true", True), ("false", False), ("null", None)):
            if self._keyword(word):
                return value
        if _WORD.match(self.text, self.at):
            self._fail("a text stands in quotes: 'like this'")
        return self._fail("expected a value here")

    def _figure(self, stop: re.Pattern[str]) -> Value:
        start = self.at
        end = stop.search(self.text, start)
        raw = self.text[start : end.start() if end else len(self.text)].rstrip()
        self.at = start + len(raw)
        if _NUMBER.fullmatch(raw):
            number = float(raw.replace(",", ""))
            if math.isinf(number):
                self._fail("this number is too large", start)
            return number
        return self._quantity(raw, start)

    def _quantity(self, raw: str, start: int) -> Quantity:
        from numcolbert.quantities import extract

        found = [q for q in extract(raw) if math.isfinite(q.base_value)]
        if len(found) != 1 or raw[: found[0].span[0]].strip() or raw[found[0].span[1] :].strip():
            self._fail("this is neither a number nor a number with a known unit", start)
        if found[0].is_range:
            self._fail("a range cannot be compared with; write two conditions joined by 'and'", start)
        return found[0]

    def _keyword(self, word: str) -> bool:
        self._skip()
        match = _WORD.match(self.text, self.at)
        if match is None or match[0].lower() != word:
            return False
        self.at = match.end()
        return True

    def _symbol(self, symbol: str) -> bool:
        self._skip()
        if not self.text.startswith(symbol, self.at):
            return False
        self.at += len(symbol)
        return True

    def _skip(self) -> None:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def _fail(self, problem: str, position: int | None = None) -> NoReturn:
        raise mistake(self.text, problem, self.at if position is None else position)


def mistake(expression: str, problem: str, position: int) -> UsageError:
    """An error whose hint shows the place."""
    begin = max(0, position - 50)
    shown = "".join(c if c.isprintable() else " " for c in expression[begin : position + 30])
    return UsageError(
        f"The filter cannot be understood at character {position + 1}.",
        hint=f"{problem}\n  {shown}\n  {' ' * (position - begin)}^",
    )
