"""Documents from whatever a caller hands in."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from numcolbert.errors import InputError, UsageError
from numcolbert.types import Document

Item = TypeVar("Item")

DocumentLike = Document | Mapping[str, Any] | str
"""A document, a mapping with `text` and perhaps `id` (what else it holds is metadata), or a text alone."""

LONGEST_ID = 1000


def as_document(item: DocumentLike, fallback_id: str) -> Document:
    """`item` as a document that can be stored; anything else is refused by name."""
    id: Any
    text: Any
    metadata: Mapping[str, Any]
    if isinstance(item, str):
        id, text, metadata = fallback_id, item, {}
    elif isinstance(item, Document):
        id, text, metadata = item.id, item.text, item.metadata
    elif isinstance(item, Mapping):
        id, text = item.get("id", fallback_id), item.get("text")
        metadata = fields_of(item)
    else:
        raise InputError(
            f"A document is of type {type(item).__name__}.",
            hint="hand in a Document, a mapping with 'text', or a string",
        )
    if isinstance(id, int) and not isinstance(id, bool):
        id = str(id)
    if not isinstance(id, str) or not id or len(id) > LONGEST_ID:
        given = ascii(id) if len(ascii(id)) < 60 else ascii(id)[:57] + "..."
        raise InputError(
            f"A document has the id {given}.", hint=f"an id is a string of 1 to {LONGEST_ID} characters"
        )
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"The document {shown(id)} has no text.", hint="give it a text, or leave it out")
    document = Document(id, text, metadata)
    if not is_unicode(f"{id}{text}{encode_metadata(document)}"):
        raise InputError(
            f"The document {id!a} holds half a Unicode character.", hint="re-encode the input as UTF-8"
        )
    return document


def fields_of(item: Mapping[str, Any]) -> dict[str, Any]:
    """All that a mapping holds beside id and text, with what lies under `metadata` among it."""
    fields = {name: value for name, value in item.items() if name not in ("id", "text")}
    if fields.get("metadata", fields) is None:  # as good as left out
        del fields["metadata"]
    elif isinstance(fields.get("metadata"), Mapping):
        fields |= fields.pop("metadata")
    return fields


def several(items: Iterable[Item], what: str) -> Iterable[Item]:
    """`items`, unless it is a single one, of which Python would take every letter or key for an item."""
    if isinstance(items, str | bytes | Mapping | Document) or not isinstance(items, Iterable):
        raise UsageError(
            f"A list of {what} is expected, not a single {type(items).__name__}.",
            hint="put it into a list: [...]"
            + ("; numcolbert.data.corpora.read(FILE) reads a file" if what == "documents" else ""),
        )
    return items


def as_id(id: object) -> str:
    """An id as it is stored: a whole number counts as its digits, as in a document."""
    if isinstance(id, int) and not isinstance(id, bool):
        return str(id)
    if not isinstance(id, str):
        raise UsageError(f"An id is of type {type(id).__name__}.", hint="hand in the document's id, a text")
    return id


def as_path(path: object) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"A path is of type {type(path).__name__}.", hint="hand in a text or a Path")
    return Path(os.fsdecode(path))


def shown(id: str) -> str:
    """An id for a message, also where it cannot be printed."""
    return f"'{id}'" if is_unicode(id) else ascii(id)


def is_unicode(text: str) -> bool:
    """Whether it can be stored: not with half a character, as invalid bytes on a command line become."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def count_good(documents: Iterable[DocumentLike], *, skip_bad: bool) -> int:
    """How many can be stored; a bad one is refused now, before any work, unless it is to be skipped."""
    count = 0
    for item in documents:
        try:
            as_document(item, "0")
        except InputError:
            if not skip_bad:
                raise
        else:
            count += 1
    return count


def names_itself(item: DocumentLike) -> bool:
    """Whether the caller chose the document's id."""
    return isinstance(item, Document) or (isinstance(item, Mapping) and "id" in item)


def encode_metadata(document: Document) -> str:
    try:
        return json.dumps(dict(document.metadata), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The metadata of the document '{document.id}' cannot be stored: {error}.",
            hint="use strings, finite numbers, booleans, null, and lists or objects of these",
        ) from error
