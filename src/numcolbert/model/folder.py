"""The model folder the core runs on: `model.onnx`, `tokenizer.json`, and the `config.json` of both."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from numcolbert.errors import ModelError
from numcolbert.files import sha256

FORMAT = 1
GRAPH_FILE, TOKENIZER_FILE, CONFIG_FILE = "model.onnx", "tokenizer.json", "config.json"


@dataclass(frozen=True, slots=True)
class Expansion:
    """ColBERT's query expansion: short queries are filled up, and the filling is scored."""

    token_id: int
    length: int
    attend: bool
    fixed: bool
    """Longer queries are cut to `length` too."""


@dataclass(frozen=True, slots=True)
class ModelConfig:
    dim: int
    query_marker: int
    document_marker: int
    query_length: int
    document_length: int
    first_token: int
    """[CLS]"""
    last_token: int
    """[SEP]"""
    pad_token: int
    gate: dict[str, Any] | None
    """Settings of the gate, for people to read; the arithmetic is in the graph. None for a plain ColBERT."""
    files: dict[str, str]
    """sha256 of each file beside this one."""
    skipped_tokens: tuple[int, ...] = ()
    """Document tokens that are not indexed."""
    expansion: Expansion | None = None
    precision: str = "int8"
    name: str = "numcolbert"
    format: int = FORMAT
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Equal for two folders exactly when their vectors may be compared."""
        what = {k: v for k, v in asdict(self).items() if k not in ("name", "notes", "gate")}
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]


def write_config(folder: Path, config: ModelConfig) -> None:
    (folder / CONFIG_FILE).write_text(json.dumps(asdict(config), indent=2) + "\n", encoding="utf-8")


def read_config(folder: Path) -> ModelConfig:
    """Read and check a model folder: all files there, and unchanged since it was written."""
    if not folder.is_dir():
        wrong = "is a file" if folder.exists() else "does not exist"
        raise ModelError(f"The model folder '{folder}' {wrong}.", hint="check the path")
    file = folder / CONFIG_FILE
    if not file.is_file() or not (folder / GRAPH_FILE).is_file():
        trained = (folder / "modules.json").is_file()
        raise ModelError(
            f"'{folder}' is not an exported model: it has no {GRAPH_FILE}."
            if file.is_file()
            else f"'{folder}' is not a model folder: it has no {CONFIG_FILE}.",
            hint=f"export it: python -m numcolbert.model.export '{folder}'"
            if trained
            else "name a folder written by numcolbert",
        )
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        if values["format"] > FORMAT:
            raise ModelError(
                f"The model '{folder}' was saved by a newer version (format {values['format']}, "
                f"this one reads {FORMAT}).",
                hint="pip install --upgrade numcolbert",
            )
        expansion = values.pop("expansion")
        skipped = values.pop("skipped_tokens")
        config = ModelConfig(
            **values,
            skipped_tokens=tuple(skipped),
            expansion=Expansion(**expansion) if expansion else None,
        )
        files = dict(config.files)
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"'{file}' cannot be read: {error}.", hint="the file is damaged; copy or download the model again"
        ) from error
    for name, expected in files.items():
        path = folder / name
        if not path.is_file():
            raise ModelError(f"The model '{folder}' lacks {name}.", hint="copy or download it again")
        if sha256(path) != expected:
            raise ModelError(
                f"'{path}' is not the file the model was saved with.",
                hint="it is cut off or was changed; copy or download the model again",
            )
    return config
