"""JSON lines: one document a line, or one document of many sentences a line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from numcolbert.data.readers.faults import SKIP_HINT, Faults
from numcolbert.types import Document


@dataclass(frozen=True, slots=True)
class Fields:
    """Where a record keeps its text and its id."""

    text: str = "text"
    id: str = "id"

    @property
    def ids(self) -> tuple[str, ...]:
        """The id field and, for the usual layouts, the names it has elsewhere."""
        return (self.id, "_id", "doc_id", "doc") if self.id == "id" else (self.id,)


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def parsed(line: str) -> Any:
    """The value of a line; raises what `reason` puts into words."""
    record = json.loads(line)
    if _SURROGATE.search(line):
        json.dumps(record, ensure_ascii=False).encode()  # half a character cannot be stored
    return record


def reason(error: ValueError | RecursionError) -> str:
    match error:
        case json.JSONDecodeError():
            return error.msg
        case UnicodeEncodeError():
            return "half of a surrogate pair"
        case RecursionError():
            return "nested too deep"
        case _:  # Python refuses integers of thousands of digits
            return "a number is too long"


ARRAY_HINT = "write one object a line, for example: jq -c '.[]' OLD > NEW"


def documents(
    lines: Iterable[tuple[int, str]], fields: Fields, faults: Faults
) -> Iterator[tuple[int, bool, Document]]:
    """Yield (line number, whether the id stands in the file, document)."""
    for number, line in lines:
        if not line.strip():
            continue
        try:
            record = parsed(line)
        except (ValueError, RecursionError) as error:
            if number == 1 and line.lstrip().startswith("["):
                faults.at(number, "begins a JSON array", hint=ARRAY_HINT, cause=error)
                continue
            faults.at(number, f"is not valid JSON ({reason(error)})", hint=SKIP_HINT, cause=error)
            continue
        if not isinstance(record, dict):
            hint = ARRAY_HINT if isinstance(record, list) else 'write one {"id": ..., "text": ...} a line'
            faults.at(number, "is not a JSON object", hint=hint)
        elif isinstance(record.get("sentences"), list) and fields.text not in record:
            yield from _sentences(number, record, fields)
        else:
            yield from _document(number, record, fields, faults)


def _document(
    number: int, record: dict[str, Any], fields: Fields, faults: Faults
) -> Iterator[tuple[int, bool, Document]]:
    text = record.get(fields.text)
    if not isinstance(text, str):
        problem = "has no text in its field" if fields.text in record else "has no field"
        faults.at(
            number,
            f"{problem} '{fields.text}'; it has {', '.join(map(repr, record)) or 'none'}",
            hint="name the field that holds the text with --text-field",
        )
        return
    key = _id_field(record, fields)
    if key and isinstance(record[key], dict | list | bool):
        told = json.dumps(record[key], ensure_ascii=False)
        faults.at(
            number,
            f"has the id {told if len(told) < 60 else told[:57] + '...'} in its field '{key}'",
            hint="an id is a text or a number; name the field that holds it with --id-field",
        )
        return
    rest = {k: v for k, v in record.items() if k not in (fields.text, key)}
    if isinstance(nested := rest.get("metadata"), dict):  # as the HTTP interface writes a document
        rest = {k: v for k, v in rest.items() if k != "metadata"} | nested
    yield number, key is not None, Document(str(record[key]) if key else str(number), text, rest)


def _id_field(record: dict[str, Any], fields: Fields) -> str | None:
    return next((name for name in fields.ids if record.get(name) is not None), None)


def _sentences(number: int, record: dict[str, Any], fields: Fields) -> Iterator[tuple[int, bool, Document]]:
    key = _id_field(record, fields)
    name = str(record[key]) if key else str(number)
    rest = {k: v for k, v in record.items() if k not in ("sentences", key)}
    for position, sentence in enumerate(record["sentences"]):
        if isinstance(sentence, str):
            metadata = {**rest, "doc": name, "position": position}
            yield number, key is not None, Document(f"{name}#{position}", sentence, metadata)
