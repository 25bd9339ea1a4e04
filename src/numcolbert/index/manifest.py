"""`manifest.json`: what an index is, and what its files must look like."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import Any

from numcolbert.config import settings_from
from numcolbert.errors import DamagedIndexError, ModelError, NotFoundError, UsageError
from numcolbert.files import replacing_file, storage_errors

FORMAT = 1
NAME = "manifest.json"


@dataclass(frozen=True, slots=True)
class Checksum:
    """Of the first `bytes` bytes: a file that has only grown since still fits."""

    bytes: int
    crc32: int


@dataclass(frozen=True, slots=True)
class Manifest:
    format: int
    uid: str
    """Random, new for every build: two indexes at the same path are told apart by it."""
    model: str
    """What loads the model again: 'default', a folder or a model id."""
    model_fingerprint: str
    dim: int
    engine: str
    documents: int
    vectors: int
    generation: int
    """Of the store, when this manifest was written."""
    created: str
    updated: str
    numcolbert: str
    settings: dict[str, Any] = field(default_factory=dict)
    files: dict[str, Any] = field(default_factory=dict)
    """Path below the index folder to `Checksum`."""

    def checksum(self, name: str) -> Checksum:
        return settings_from(Checksum, self.files[name], f"the manifest's entry for '{name}'")

    def require_model(self, name: str, fingerprint: str, folder: Path) -> None:
        if fingerprint == self.model_fingerprint:
            return
        if name == self.model:
            raise ModelError(
                f"The model '{name}' is no longer the one that the index '{folder}' was built with.",
                hint="put the former model back, or build the index again",
            )
        raise ModelError(
            f"The index '{folder}' was built with the model '{self.model}' "
            f"({self.model_fingerprint[:12]}), not with '{name}' ({fingerprint[:12]}).",
            hint=f"open it with --model {self.model}, or build it again with the model you want",
        )


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def write_manifest(folder: Path, manifest: Manifest) -> None:
    with replacing_file(folder / NAME) as aside:
        aside.write_text(json.dumps(asdict(manifest), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> Manifest:
    path = folder / NAME
    if not path.is_file():
        raise _missing(folder)
    try:
        with storage_errors(path):
            values = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DamagedIndexError(
            f"'{path}' is not valid JSON: {error}.", hint="copy the index again, or build it again"
        ) from error
    version = values.get("format") if isinstance(values, dict) else None
    if not isinstance(version, int):
        raise DamagedIndexError(f"'{path}' names no format.", hint="copy the index again, or build it again")
    if version > FORMAT:
        raise DamagedIndexError(
            f"The index '{folder}' has format {version}; this version of numcolbert reads up to {FORMAT}.",
            hint="pip install --upgrade numcolbert",
        )
    try:
        return settings_from(Manifest, values, f"'{path}'")
    except UsageError as error:
        raise DamagedIndexError(error.message, hint="copy the index again, or build it again") from error


def _missing(folder: Path) -> NotFoundError:
    if not folder.exists():
        return NotFoundError(
            f"There is no index '{folder}'.",
            hint=f"build one: numcolbert index build DOCS -o {quote(str(folder))}",
        )
    if not folder.is_dir():
        return NotFoundError(f"'{folder}' is a file, not an index.", hint="name the index folder")
    return NotFoundError(
        f"The folder '{folder}' is not an index: it has no {NAME}.",
        hint="name the folder that 'numcolbert index build' wrote, or copy it again if it is incomplete",
    )


def checksum(path: Path, upto: int | None = None, known: Checksum | None = None) -> Checksum:
    """Of the first `upto` bytes of a file; `known`, a checksum of its beginning, saves reading that again."""
    with storage_errors(path):
        size = path.stat().st_size
        end = size if upto is None else min(upto, size)
        start, crc = (known.bytes, known.crc32) if known is not None and known.bytes <= end else (0, 0)
        with path.open("rb") as file:
            file.seek(start)
            left = end - start
            while left > 0 and (block := file.read(min(left, 1 << 20))):
                crc = zlib.crc32(block, crc)
                left -= len(block)
    return Checksum(end, crc)


def checksums(
    folder: Path, names: Iterable[str], known: Mapping[str, Checksum] | None = None
) -> dict[str, Any]:
    """Of every file in `names`, as the manifest keeps them."""
    known = known or {}
    return {name: asdict(checksum(folder / name, known=known.get(name))) for name in sorted(names)}


def file_problems(folder: Path, manifest: Manifest, names: Iterable[str]) -> list[str]:
    """A sentence for each of these files that is missing, short or changed."""
    found = []
    for name in sorted(names):
        expected, path = manifest.checksum(name), folder / name
        if not path.is_file():
            found.append(f"'{name}' is missing.")
        elif path.stat().st_size < expected.bytes:
            found.append(f"'{name}' has {path.stat().st_size:,} bytes instead of {expected.bytes:,}.")
        elif checksum(path, upto=expected.bytes) != expected:
            found.append(f"'{name}' has changed: its checksum differs from the manifest's.")
    return found


def updated(manifest: Manifest, **changes: Any) -> Manifest:
    return replace(manifest, updated=now(), **changes)
