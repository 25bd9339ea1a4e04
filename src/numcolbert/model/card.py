"""The model card: a README.md made from recorded facts, so that it never says what was not measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numcolbert.config import read_json, settings_from
from numcolbert.errors import InputError
from numcolbert.files import replacing_file

LIMITS = (
    "It ranks; it does not prove. Passages that violate a condition still appear, lower down. Use `--verify` "
    "where only passages that satisfy it will do.",
    "It knows conditions with one threshold (=, >, <, at least, at most) best; two in one query were rare in "
    "training, arithmetic and comparisons between passages were not trained.",
    "It was trained on English sentences. Text is cut after {document_length} tokens, queries after "
    "{query_length}.",
    "Currencies are not converted into one another.",
    "Score with a plain dot product. Query vectors are longer than 1 where the gate acts; an engine that "
    "normalises them (cosine) undoes the gate without a word.",
)


@dataclass(frozen=True, slots=True)
class Source:
    """A body of training text."""

    name: str
    origin: str
    terms: str
    use: str = ""


@dataclass(frozen=True, slots=True)
class CardFacts:
    """Everything the card states. Read from JSON with `read_facts`."""

    name: str
    backbone: str
    backbone_licence: str
    summary: str
    data: list[Source]
    recipe: dict[str, Any]
    """The settings of the run, as recorded by it."""
    results: dict[str, list[dict[str, Any]]]
    """Title of a table -> its rows; the keys of the first row are the columns."""
    licence: str = "apache-2.0"
    base_model: str | None = None
    """Hugging Face id of the backbone."""
    dim: int = 128
    query_length: int = 64
    document_length: int = 256
    limits: list[str] = field(default_factory=list)
    """Beside those every such model has."""


def read_facts(file: Path) -> CardFacts:
    values = read_json(file, "facts file", hint="mend the line it names; see CardFacts for the keys")
    sources = values.pop("data", [])
    facts = settings_from(CardFacts, {**values, "data": []}, f"'{file}'")
    data = [settings_from(Source, source, f"'{file}', data") for source in sources]
    return CardFacts(**{**{name: getattr(facts, name) for name in CardFacts.__slots__}, "data": data})


def write_card(folder: Path, facts: CardFacts) -> Path:
    """Write `README.md` into a model's folder."""
    if not facts.results:
        raise InputError(
            f"There are no results for the card of '{facts.name}'.", hint="evaluate the model first"
        )
    target = folder / "README.md"
    with replacing_file(target) as aside:
        aside.write_text(card(facts), encoding="utf-8")
    return target


def card(facts: CardFacts) -> str:
    numbers = {"query_length": facts.query_length, "document_length": facts.document_length}
    limits = [limit.format(**numbers) for limit in LIMITS] + facts.limits
    parts = [
        _front_matter(facts),
        f"# {facts.name}\n\n{facts.summary}",
        f"A ColBERT of {facts.dim} dimensions a token with a numerical gate on the query side: tokens that a "
        "detector takes for part of a quantity are scaled by a learned gate. Documents are encoded by the "
        "plain encoder, the index is a plain ColBERT index, the score is plain MaxSim.",
        _use(facts),
        "## Data\n\n"
        + _table(
            [{"corpus": s.name, "from": s.origin, "terms": s.terms, "used for": s.use} for s in facts.data]
        ),
        "## Recipe\n\n"
        + f"Started from {facts.backbone} ({facts.backbone_licence}).\n\n"
        + _table([{"setting": name, "value": value} for name, value in _flat(facts.recipe)]),
        "## Results\n\n" + "\n\n".join(f"### {t}\n\n{_table(rows)}" for t, rows in facts.results.items()),
        "## Limits\n\n" + "\n".join(f"- {limit}" for limit in limits),
        "## Licence\n\n"
        + f"The weights are under {facts.licence}; the backbone {facts.backbone} is under "
        + f"{facts.backbone_licence}. The terms of the training texts stand above; none is contained.",
    ]
    return "\n\n".join(parts) + "\n"


def _front_matter(facts: CardFacts) -> str:
    lines = [
        "---",
        "library_name: sentence-transformers",
        f"license: {facts.licence}",
        "language: en",
        "pipeline_tag: feature-extraction",
        "tags: [colbert, late-interaction, multi-vector, numbers, quantities]",
    ]
    if facts.base_model:
        lines.append(f"base_model: {facts.base_model}")
    return "\n".join([*lines, "---"])


def _use(facts: CardFacts) -> str:
    return f"""## Use

```python
import numcolbert
index = numcolbert.open("my-index")          # made with: numcolbert index build docs.jsonl -o my-index
index.search("revenue above 2 billion dollars", k=10)
```

With sentence-transformers alone (the gate's code lies beside the weights):

```python
from sentence_transformers import MultiVectorEncoder
model = MultiVectorEncoder("{facts.name}", trust_remote_code=True)
scores = model.similarity(model.encode_query(queries), model.encode_document(passages))
```"""


def _flat(values: Mapping[str, Any], above: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            found += _flat(value, f"{above}{name}.")
        else:
            found.append((f"{above}{name}", value))
    return found


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return "Nothing recorded."
    columns = list(rows[0])
    lines = [columns, ["---"] * len(columns), *([_cell(row.get(c)) for c in columns] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")
