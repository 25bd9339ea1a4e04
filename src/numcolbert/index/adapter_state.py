"""The small file by which an adapter to another engine finds its vectors again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from numcolbert.errors import DamagedIndexError, NotFoundError
from numcolbert.files import replacing_file, size_of, storage_errors
from numcolbert.index.columns import STATE


def write_state(folder: Path, kind: str, **facts: Any) -> None:
    """Replace it in one step."""
    with replacing_file(folder / STATE) as aside:
        aside.write_text(json.dumps({"kind": kind, **facts}), encoding="utf-8")


def read_state(folder: Path, kind: str, *names: str) -> dict[str, Any]:
    """The facts `names`, all of which must be there."""
    path = folder / STATE
    try:
        with storage_errors(path):
            state = json.loads(path.read_text(encoding="utf-8"))
        if state["kind"] == kind:
            return {name: state[name] for name in names}
    except FileNotFoundError as error:
        raise NotFoundError(f"'{folder}' holds no engine.", hint="check the path") from error
    except (ValueError, KeyError, TypeError):
        pass
    raise DamagedIndexError(f"'{path}' is damaged.", hint="copy the folder again or rebuild it")


def state_bytes(folder: Path) -> int:
    return size_of(folder / STATE)
