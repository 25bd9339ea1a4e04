"""The folder in which an index is built before it takes its place.

It lies beside the target as `.NAME.building`, so that the last step is a rename on the same disk, and it
remembers with which arguments it was begun, so that only the same build continues in it.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import uuid
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from numcolbert.errors import ConflictError
from numcolbert.files import storage_errors
from numcolbert.index import lock, manifest

BEGUN = "build.json"


class Aside:
    """Enter to get `folder`, empty or as an earlier run left it; `publish` moves it to the target."""

    def __init__(self, target: Path, arguments: Any, *, resumable: bool, overwrite: bool) -> None:
        self.target = target.absolute()
        self.folder = self.target.with_name(f".{target.name}.building")
        self._begun = {
            "resumable": resumable,
            "arguments": hashlib.sha256(json.dumps(arguments, default=str).encode()).hexdigest(),
        }
        self._overwrite = overwrite
        self._held = ExitStack()

    def __enter__(self) -> Aside:
        self._check_target()
        with storage_errors(self.target.parent):
            self.target.parent.mkdir(parents=True, exist_ok=True)
            self.folder.mkdir(exist_ok=True)
        try:
            self._held.enter_context(lock.writing(self.folder))
            self._settle_begun()
        except ConflictError:  # someone else's work lies there
            self._held.close()
            raise
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def _leave(self) -> None:
        """Keep what can be continued, and nothing else."""
        self._held.close()
        begun = self.folder.is_dir() and any(child.is_dir() for child in self.folder.iterdir())
        if not (begun and self._begun["resumable"]):
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def is_complete(self) -> bool:
        """Whether only publishing is left to do: the manifest is written last."""
        return (self.folder / manifest.NAME).exists()

    def publish(self) -> None:
        """Take the target's place; whoever has the old index open keeps it until they close it."""
        self._check_target()
        with storage_errors(self.target), ExitStack() as held:
            old = self.target.with_name(f".{self.target.name}.{uuid.uuid4().hex[:8]}.old")
            if self.target.exists():
                if (self.target / manifest.NAME).exists():
                    held.enter_context(lock.writing(self.target))
                self.target.rename(old)
            self.folder.rename(self.target)
            for name in (BEGUN, lock.NAME):
                (self.target / name).unlink(missing_ok=True)
            for left in self.target.parent.glob(f".{self.target.name}.*.old"):  # this one, or of a crash
                shutil.rmtree(left, ignore_errors=True)

    def _check_target(self) -> None:
        if not self.target.exists():
            return
        empty = self.target.is_dir() and not any(self.target.iterdir())
        if not empty and not (self.target / manifest.NAME).is_file():
            raise ConflictError(
                f"'{self.target}' exists and is not an index.", hint="choose another folder for the index"
            )
        if not empty and not self._overwrite:
            raise ConflictError(
                f"The index '{self.target}' already exists.",
                hint="pass --overwrite (in Python overwrite=True) or choose another folder",
            )

    def _settle_begun(self) -> None:
        """Continue what the same arguments began, throw away what nobody can continue, refuse the rest."""
        path = self.folder / BEGUN
        try:
            begun = json.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            begun = None
        if begun == self._begun and self._begun["resumable"]:
            return
        if begun and begun.get("resumable") and not self._overwrite:
            raise ConflictError(
                f"'{self.folder}' holds an unfinished build with other arguments or another input.",
                hint="repeat the first call to finish it, or pass --overwrite to start anew",
            )
        for child in self.folder.iterdir():
            if child.is_dir():
                shutil.rmtree(child)
            elif child.name != lock.NAME:
                child.unlink()
        with storage_errors(path):
            path.write_text(json.dumps(self._begun), encoding="utf-8")
