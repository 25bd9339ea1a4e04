"""The model folder the core runs on: `model.onnx`, `tokenizer.json`, and the `config.json` of both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from numcolbert.config import settings_from
from numcolbert.errors import ModelError, UsageError
from numcolbert.files import sha256

FORMAT = 1
GRAPH_FILE, TOKENIZER_FILE, CONFIG_FILE = "model.onnx", "tokenizer.json", "config.json"
CHANGED = "it was changed or is damaged; copy or download the model again"
_SHORTEST, _LONGEST = 4, 1 << 16
"""Tokens of a text: two special ones, the marker and a word at least; and more than any backbone reads."""


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
    skipped_tokens: tuple[int, ...]
    """Document tokens that are not indexed."""
    expansion: Expansion | None
    precision: str = "int8"
    name: str = "numcolbert"
    format: int = FORMAT
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Equal for two folders exactly when their vectors may be compared."""
        what = {k: v for k, v in asdict(self).items() if k not in ("name", "notes", "gate")}
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def tokens(self) -> dict[str, int]:
        """The tokens that are put around or behind the words of a text, or left out of it."""
        named = {
            name: getattr(self, name)
            for name in ("query_marker", "document_marker", "first_token", "last_token", "pad_token")
        }
        if self.expansion is not None:
            named["expansion.token_id"] = self.expansion.token_id
        return named | {f"skipped_tokens[{i}]": token for i, token in enumerate(self.skipped_tokens)}


def write_config(folder: Path, config: ModelConfig) -> None:
    (folder / CONFIG_FILE).write_text(json.dumps(asdict(config), indent=2) + "\n", encoding="utf-8")


@contextmanager
def access_errors(folder: Path) -> Iterator[None]:
    """A name that is too long, a folder that must not be read."""
    try:
        yield
    except OSError as error:
        raise ModelError(
            f"The model folder '{folder}' cannot be read: {error.strerror or error}.",
            hint="check the path and its permissions",
        ) from error


def graph_folder(path: Path) -> Path:
    """Where the graph of a model lies: `path`, or the folder `onnx` of a checkpoint that was exported."""
    with access_errors(path):
        inner = path / "onnx"
        return inner if (inner / GRAPH_FILE).is_file() and not (path / GRAPH_FILE).is_file() else path


def read_config(folder: Path) -> ModelConfig:
    """Read and check a model folder: all files there, and unchanged since it was written."""
    with access_errors(folder):
        _require_model(folder)
        config = _config_of(folder)
        for name, expected in config.files.items():
            path = folder / name
            if not path.is_file():
                raise ModelError(f"The model '{folder}' lacks {name}.", hint="copy or download it again")
            if sha256(path) != expected:
                raise ModelError(
                    f"'{path}' is not the file the model was saved with.",
                    hint="it is cut off or was changed; copy or download the model again",
                )
    return config


def _require_model(folder: Path) -> None:
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


def _config_of(folder: Path) -> ModelConfig:
    file = folder / CONFIG_FILE
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        newer = values["format"] > FORMAT
    except (ValueError, KeyError, TypeError) as error:
        raise ModelError(f"'{file}' cannot be read: {error}.", hint=CHANGED) from error
    if newer:
        raise ModelError(
            f"The model '{folder}' was saved by a newer version (format {values['format']}, "
            f"this one reads {FORMAT}).",
            hint="pip install --upgrade numcolbert",
        )
    try:
        config = settings_from(ModelConfig, values, "the model's settings")
    except UsageError as error:
        raise ModelError(f"'{file}' cannot be read: {error.message}", hint=CHANGED) from error
    lengths = {name: getattr(config, name) for name in ("query_length", "document_length")}
    if config.expansion is not None:
        lengths["expansion.length"] = config.expansion.length
    for name, length in lengths.items():
        if not _SHORTEST <= length <= _LONGEST:
            raise ModelError(
                f"In '{file}' {name} is {length}, not between {_SHORTEST} and {_LONGEST}.", hint=CHANGED
            )
    return config
