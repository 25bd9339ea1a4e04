"""A corpus becomes a pool: sentences, their quantities, and the concept each quantity describes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from numcolbert.data import concepts, mined_units, sampling
from numcolbert.data.concept_table import plural, table
from numcolbert.data.corpora import Reader, read
from numcolbert.data.pipeline import load_pipeline, parse
from numcolbert.data.pool import Concept, Mentions, Pool, Texts
from numcolbert.errors import InputError, UsageError
from numcolbert.progress import Progress
from numcolbert.quantities import extract
from numcolbert.types import Quantity

if TYPE_CHECKING:
    from spacy.tokens import Doc

Parser = Callable[[Iterable[str]], Iterable["Doc"]]

PER_SHARE_BELOW, TOTALS_ABOVE = 1e3, 1e5
"""Money: where half of the values exceed the one, a value below the other is a figure per share."""
OBSERVED = 8
"""Phrases kept of those by which the corpus calls a concept."""
NATIVE_SHARE = 0.1
"""Of the mentions of known concepts: a table with fewer is foreign to the corpus."""

_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class MiningSettings:
    name: str
    limit: int | None = None
    """Sentences to keep, as whole documents, those with many quantities preferred."""
    shortest: int = 30
    longest: int = 400
    """Characters; a sentence outside is left out."""
    rarest: int = 5
    """A concept with fewer mentions is forgotten, for a pair needs five values; 1 keeps all."""
    seed: int = 13
    text_field: str = "text"
    id_field: str = "id"
    skip_bad: bool = False


@dataclass(slots=True)
class _Sentence:
    id: str
    text: str
    quantities: list[Quantity]
    names: list[str | None] = field(default_factory=list)


def mine(paths: Sequence[Path], settings: MiningSettings, parser: Parser | None = None) -> Pool:
    """Read `paths` into a pool. `parser` turns texts into spaCy documents, in order; by default the first
    English pipeline that is installed does."""
    if settings.limit is not None and settings.limit < 1:
        raise UsageError(f"A limit of {settings.limit} keeps no sentence.", hint="give --limit 1 or more")
    if settings.shortest > settings.longest:
        raise UsageError(
            f"No sentence has at least {settings.shortest} and at most {settings.longest} characters.",
            hint="give a --shortest that is not above --longest",
        )
    readers = [
        read(path, text_field=settings.text_field, id_field=settings.id_field, skip_bad=settings.skip_bad)
        for path in paths
    ]
    chosen = None
    if settings.limit is not None:
        chosen = sampling.choose(
            readers, settings.limit, settings.seed, (settings.shortest, settings.longest)
        )
    sentences = list(_sentences(readers, settings, chosen))
    if not sentences and (bad := next((reader for reader in readers if reader.skipped), None)):
        raise InputError(
            f"Nothing is left of '{bad.path}' but {bad.skipped:,} skipped faults: {bad.problems[0]}",
            hint="mend the file, or look at it without --skip-bad",
        )
    if not sentences:
        raise InputError(
            f"'{paths[0]}' holds no sentence of {settings.shortest} to {settings.longest} characters.",
            hint="change --shortest and --longest, or check the text field",
        )
    if parser is None:
        pipeline = load_pipeline()

        def parser(texts: Iterable[str]) -> Iterable[Doc]:
            return parse(texts, pipeline)

    _name(sentences, parser)
    _forget_per_share(sentences)
    pool = _pool(sentences, settings)
    pool.notes = {
        "sources": [path.name for path in paths],
        "settings": {key: getattr(settings, key) for key in MiningSettings.__dataclass_fields__},
        "skipped": sum(reader.skipped for reader in readers),
        "sentences": len(pool.sentences),
        "mentions": len(pool.mentions),
        "described": int((pool.mentions.concept >= 0).sum()),
        "concepts": len(pool.concepts),
        "tables": _native_tables(sentences),
    }
    return pool


def _sentences(
    readers: Sequence[Reader], settings: MiningSettings, chosen: set[str] | None
) -> Iterator[_Sentence]:
    """Every sentence once, with its quantities."""
    seen: set[bytes] = set()
    with Progress("extract quantities", unit="sentences") as progress:
        for reader in readers:
            for document in reader:
                if chosen is not None and sampling.document_key(reader, document) not in chosen:
                    continue
                progress.advance()
                text = _SPACE.sub(" ", document.text).strip()
                if not settings.shortest <= len(text) <= settings.longest:
                    continue
                digest = blake2b(text.lower().encode(), digest_size=12).digest()
                if digest in seen:
                    continue
                seen.add(digest)
                yield _Sentence(document.id, text, extract(text, for_labels=True))


def _name(sentences: Sequence[_Sentence], parser: Parser) -> None:
    """Only sentences with a quantity that has a unit are worth a parse."""
    worth = [s for s in sentences if any(q.unit is not None for q in s.quantities)]
    for sentence in sentences:
        sentence.names = [None] * len(sentence.quantities)
    with Progress("find concepts", len(worth), "sentences") as progress:
        for sentence, doc in zip(worth, parser(s.text for s in worth), strict=True):
            measured = [i for i, q in enumerate(sentence.quantities) if q.unit is not None]
            found = concepts.find(doc, sentence.quantities)
            for position in measured:
                sentence.names[position] = found[position]
            progress.advance()


def _forget_per_share(sentences: Sequence[_Sentence]) -> None:
    """Leave out what is told per share and does not say so: "a gain of 47 cts" among gains of millions."""
    values: dict[tuple[str, str], list[float]] = {}
    for sentence in sentences:
        for name, quantity in zip(sentence.names, sentence.quantities, strict=True):
            if name and quantity.dimension.startswith("currency:"):
                values.setdefault((name, quantity.dimension), []).append(abs(quantity.base_value))
    totals = {
        key
        for key, found in values.items()
        if np.median(found) >= TOTALS_ABOVE and not mined_units.is_per_share(key[0])
    }
    for sentence in sentences:
        for position, quantity in enumerate(sentence.quantities):
            key = (sentence.names[position] or "", quantity.dimension)
            if key in totals and abs(quantity.base_value) < PER_SHARE_BELOW:
                sentence.names[position] = None


def _native_tables(sentences: Sequence[_Sentence]) -> list[str]:
    """The concept tables that fit the corpus: what the others call the same is not the same here."""
    known: Counter[str] = Counter()
    for sentence in sentences:
        for name in sentence.names:
            known.update(table().domains_of(name) if name else ())
    return sorted(domain for domain, count in known.items() if count >= NATIVE_SHARE * known.total())


def _pool(sentences: Sequence[_Sentence], settings: MiningSettings) -> Pool:
    counts = Counter(name for s in sentences for name in s.names if name)
    names = sorted(
        (n for n, count in counts.items() if count >= settings.rarest), key=lambda n: (-counts[n], n)
    )
    position = {name: i for i, name in enumerate(names)}
    units = mined_units.UnitCollector()
    rows: dict[str, list[Any]] = {name: [] for name in Mentions.__dataclass_fields__}
    for number, sentence in enumerate(sentences):
        for quantity, name in zip(sentence.quantities, sentence.names, strict=True):
            rows["sentence"].append(number)
            rows["concept"].append(position.get(name, -1) if name else -1)
            rows["unit"].append(units.add(quantity, sentence.text, name))
            rows["value"].append(quantity.value)
            rows["base_value"].append(quantity.base_value)
            rows["base_low"].append(np.nan if quantity.base_low is None else quantity.base_low)
            rows["base_high"].append(np.nan if quantity.base_high is None else quantity.base_high)
            rows["approximate"].append(quantity.approximate)
            rows["span"].append(quantity.span)
            rows["value_span"].append(quantity.value_span)
            rows["unit_span"].append(quantity.unit_span or (-1, -1))
    mentions = Mentions(**{name: _column(name, values) for name, values in rows.items()})
    return Pool(
        name=settings.name,
        units=units.units(),
        concepts=_concepts(names, sentences),
        sentences=Texts.of([s.text for s in sentences]),
        sentence_ids=Texts.of([s.id for s in sentences]),
        mentions=mentions,
    )


def _column(name: str, values: list[Any]) -> Any:
    if name.endswith("span"):
        return np.array(values, np.int32).reshape(-1, 2)
    kinds = {"sentence": np.int32, "concept": np.int32, "unit": np.int32, "approximate": np.bool_}
    return np.array(values, kinds.get(name, np.float64))


def _concepts(names: Sequence[str], sentences: Sequence[_Sentence]) -> list[Concept]:
    """Each concept with its variants and with those phrases for it that stand in its own sentences."""
    known = table()
    close = {name: _with_plurals(name, known.close_variants(name)) for name in names}
    patterns = {
        name: re.compile(
            r"(?<![\w-])(?:"
            + "|".join(re.escape(p) for p in sorted((name, *close[name]), key=len, reverse=True))
            + r")(?![\w-])",
            re.IGNORECASE,
        )
        for name in names
    }
    seen: dict[str, Counter[str]] = {name: Counter() for name in names}
    for sentence in sentences:
        for name in set(sentence.names):
            if name in seen:
                seen[name].update({m.lower() for m in patterns[name].findall(sentence.text)})
    return [
        Concept(
            name,
            tuple(v for v in dict.fromkeys((*close[name], *known.wide_variants(name))) if v != name),
            # Ties in alphabetical order: a set is in a new order in every process.
            tuple(sorted(seen[name], key=lambda phrase: (-seen[name][phrase], phrase))[:OBSERVED]),
        )
        for name in names
    ]


def _with_plurals(name: str, variants: Sequence[str]) -> tuple[str, ...]:
    first, _, head = name.rpartition(" ")
    if head.isupper() or " of " in name or " per " in name:
        return tuple(variants)
    return (*variants, f"{first} {plural(head)}".strip()) if plural(head) != head else tuple(variants)
