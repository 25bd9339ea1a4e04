"""Batches kept in a folder: drawn once, read by any number of runs.

    python -m numcolbert.train.tape RECIPE --set section.key=value ... -o DIR --batches 4000

Runs that differ in their losses, gate or learning rate can train on the very same batches with
`--set data.tape=DIR`, at no cost for drawing them; they may start while the tape is still being written. The
same command goes on with a tape that was broken off, lengthens a shorter one, and leaves a whole one alone.
"""

# No torch at the top: worker processes import the module a program was started with, and should start fast.
from __future__ import annotations

import argparse
import hashlib
import json
import logging
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from numcolbert.config import differing, read_json
from numcolbert.errors import ConflictError, InputError, NotFoundError, UsageError
from numcolbert.files import replacing_file, storage_errors
from numcolbert.program import program
from numcolbert.progress import Progress
from numcolbert.train.transport import Block
from numcolbert.train.workers import START_SECONDS, Feed, FeedSettings, WorkerFailedError

log = logging.getLogger(__name__)

LABEL = "tape.json"
NOT_IN_BATCHES = ("workers", "prefetch", "tape", "mask_known")
"""Settings of the data that change nothing in a batch, or decide in training only."""
LOOK_AGAIN_SECONDS = 0.05
_WRITE_AGAIN = "write the tape again, into another folder"
_DRAW_AGAIN = "remove the file, and write the tape again with the same command: it draws what is missing"


def write_tape(settings: FeedSettings, folder: Path, batches: int) -> None:
    """Write a tape up to `batches`; each appears whole or not at all, so that readers can follow."""
    if batches < 1:
        raise UsageError(f"A tape of {batches} batches is none.", hint="write one batch or more")
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        made_with, workers = _made_with(settings), settings.data.workers
        if (folder / LABEL).exists():
            label = _read_label(folder)
            if other := _other_setting(label, settings):
                raise ConflictError(
                    f"'{folder}' holds a tape with another {other}.", hint="choose another folder"
                )
            # Who draws a batch depends on how many draw.
            workers, batches = label.get("workers", workers), max(batches, label["batches"])
        first = next(number for number in range(batches + 1) if not _path(folder, number).exists())
        label = {"batches": batches, "workers": workers, "made_with": made_with}
        with replacing_file(folder / LABEL) as aside:
            aside.write_text(json.dumps(label, indent=1), encoding="utf-8")
        if first < batches:
            data = replace(settings.data, workers=workers)
            _draw(replace(settings, data=data, first=first), folder, batches)


def _draw(settings: FeedSettings, folder: Path, batches: int) -> None:
    feed = Feed(settings)
    try:
        with Progress("write batches", batches - settings.first, "batches") as progress:
            for number in range(settings.first, batches):
                _write(_path(folder, number), next(feed))
                progress.advance()
    finally:
        feed.close()


class TapeReader:
    """Reads the batches of a tape in order, from the beginning again after its end."""

    def __init__(self, settings: FeedSettings, patience: float = START_SECONDS) -> None:
        """Args:
        patience: Seconds to wait for a batch that is not written yet.
        """
        folder = settings.data.tape
        if folder is None or not (folder / LABEL).is_file():
            raise NotFoundError(
                f"There is no tape of batches in '{folder}'.",
                hint="write one with python -m numcolbert.train.tape",
            )
        if settings.rank:
            raise UsageError(
                "A tape of batches serves one process, not several.",
                hint="leave data.tape out, or use one GPU",
            )
        label = _read_label(folder)
        if other := _other_setting(label, settings):
            raise InputError(
                f"The tape '{folder}' was written with another {other}.",
                hint="train with the settings of the tape, or write a new one",
            )
        self._folder, self._batches, self._patience = folder, int(label["batches"]), patience
        self._next = settings.first

    def __iter__(self) -> Iterator[Block]:
        return self

    def __next__(self) -> Block:
        if self._next == self._batches:
            log.warning("all %s batches of the tape are used; they come again", f"{self._batches:,}")
        path = _path(self._folder, self._next % self._batches)
        deadline = time.monotonic() + self._patience
        while not path.exists():
            if time.monotonic() > deadline:
                raise WorkerFailedError(
                    f"The tape '{self._folder}' has no batch {self._next % self._batches:,}, and none came.",
                    hint="is it still being written? set run.steps to what it holds, or write a new one",
                )
            time.sleep(LOOK_AGAIN_SECONDS)
        self._next += 1
        return _read(path)

    def close(self) -> None:
        """Nothing is held open."""


def open_feed(settings: FeedSettings) -> Feed | TapeReader:
    """Where a run's batches come from."""
    return TapeReader(settings) if settings.data.tape is not None else Feed(settings)


def _read_label(folder: Path) -> dict[str, Any]:
    label = read_json(folder / LABEL, "label of the tape", hint=_WRITE_AGAIN)
    batches = label.get("batches")
    if type(batches) is not int or batches < 1 or not isinstance(label.get("made_with"), dict):
        raise InputError(f"'{folder / LABEL}' does not say what is on the tape.", hint=_WRITE_AGAIN)
    return label


def _other_setting(label: dict[str, Any], settings: FeedSettings) -> str:
    """The name of a setting in which a tape differs from what is wanted, or nothing."""
    return min(differing(label["made_with"], _made_with(settings)), default="")


def _path(folder: Path, number: int) -> Path:
    return folder / f"{number:07d}.batch"


def _write(path: Path, block: Block) -> None:
    entries = json.dumps(block.entries).encode()
    with replacing_file(path) as aside:  # of this process alone: another may be writing the same tape
        aside.write_bytes(len(entries).to_bytes(8, "little") + entries + block.data)


def _read(path: Path) -> Block:
    raw = path.read_bytes()
    end = 8 + int.from_bytes(raw[:8], "little")
    try:
        listed = json.loads(raw[8:end])
        entries = tuple((name, kind, tuple(shape), first, size) for name, kind, shape, first, size in listed)
        needed = max(first + size for *_, first, size in entries)
    except (ValueError, TypeError) as error:
        raise InputError(f"The batch '{path}' is damaged.", hint=_DRAW_AGAIN) from error
    block = Block(entries, bytearray(raw[end:]))
    if block.size < needed:
        raise InputError(f"The batch '{path}' is cut off.", hint=_DRAW_AGAIN)
    return block


def _made_with(settings: FeedSettings) -> dict[str, Any]:
    """All that decides what is in a batch, by the names of the recipe."""
    data = {key: value for key, value in asdict(settings.data).items() if key not in NOT_IN_BATCHES}
    text = asdict(settings.text)
    text["tokenizer"] = hashlib.sha256(text["tokenizer"].encode()).hexdigest()
    made = {"data": data, "text": text, "optimiser.batch": settings.batch, "run.seed": settings.seed}
    plain: dict[str, Any] = json.loads(json.dumps(made, default=str))
    return plain


@program
def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m numcolbert.train.tape", description=__doc__)
    parser.add_argument("recipe", help="path of a recipe, or the name of a built-in one")
    parser.add_argument("--set", dest="changes", action="append", default=[], metavar="section.key=value")
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--batches", type=int, required=True)
    chosen = parser.parse_args(arguments)
    from numcolbert.train.model_setup import build_model, choose_device, text_settings
    from numcolbert.train.recipe import load_recipe

    recipe = load_recipe(chosen.recipe, chosen.changes)
    text = text_settings(build_model(recipe.model, choose_device("cpu")))
    feed = FeedSettings(recipe.data, text, recipe.optimiser.batch, recipe.run.seed)
    write_tape(feed, chosen.out, chosen.batches)
    return 0


if __name__ == "__main__":
    sys.exit(main())
