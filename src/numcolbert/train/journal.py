"""The log of a run: one JSON object a line, and TensorBoard where it is asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numcolbert.errors import InputError, MissingDependencyError
from numcolbert.files import replacing_file, require_file, storage_errors


class Journal:
    def __init__(self, folder: Path, *, tensorboard: bool = False, resumed_at: int | None = None) -> None:
        """`resumed_at` goes on with the log of the run that is resumed from the checkpoint of that step."""
        with storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "log.jsonl"
        if resumed_at is not None and self.path.is_file():
            _cut(self.path, resumed_at)
        self._file = self.path.open("w" if resumed_at is None else "a", encoding="utf-8", buffering=1)
        self._board: Any = None
        if tensorboard:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError as error:
                raise MissingDependencyError.for_extra("tensorboard", "train", "run.tensorboard") from error
            self._board = SummaryWriter(
                str(folder / "tensorboard"), purge_step=None if resumed_at is None else resumed_at + 1
            )

    def write(self, event: str, step: int, values: Mapping[str, Any]) -> None:
        line = {"event": event, "step": step, **values}
        self._file.write(json.dumps(line, default=str) + "\n")
        if self._board is not None:
            for name, value in values.items():
                if isinstance(value, int | float):
                    self._board.add_scalar(f"{event}/{name}", value, step)

    def close(self) -> None:
        self._file.close()
        if self._board is not None:
            self._board.close()


def _cut(path: Path, step: int) -> None:
    """Leave out what a killed run did after its last checkpoint: it is done again, and would count twice."""
    kept = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True):
        try:
            if json.loads(line)["step"] <= step:
                kept.append(line)
        except (ValueError, KeyError, TypeError):  # it was killed in the middle of a line
            continue
    with replacing_file(path) as aside:
        aside.write_text("".join(kept), encoding="utf-8")


def read_log(path: Path) -> list[dict[str, Any]]:
    text = require_file(path, "log of a training").read_text(encoding="utf-8")
    try:
        return [json.loads(line) for line in text.splitlines()]
    except ValueError as error:
        raise InputError(
            f"The log '{path}' holds a line that is cut off or damaged.",
            hint="go on with run.resume = true, which mends what a kill has left",
        ) from error
