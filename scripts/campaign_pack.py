"""Packs what is worth keeping of a campaign into a few files of limited size, and unpacks it.

    OUT/campaign.log               what happened, readable as it is
    OUT/campaign.tar.xz.1-of-3     the parts of one archive: cat OUT/campaign.tar.xz.* | tar xJ

Of every run: recipe, logs, results and TREC runs with their notes, cut to a depth, without development
queries and without those that switch the gate off; models where the plan says so. What does not fit is left
out, the least important first: models, then deep runs (in their place the usual depth), then all TREC runs;
of each kind those that stand last in the plan.
"""

from __future__ import annotations

import json
import lzma
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from campaign_log import LOG, PLAN
from campaign_plan import USUAL_DEPTH, Run, read_plan
from numcolbert.errors import ConflictError, InputError, NotFoundError, NumColBERTError
from numcolbert.files import replacing_file, replacing_folder, storage_errors
from numcolbert.train.fingerprint import note_of

ARCHIVE = "campaign.tar.xz"
MANY_QUERIES, DEPTH_OF_MANY = 2000, 10
"""Of a benchmark with more queries than this, only so many hits are kept."""
NOTES = ("recipe.json", "log.jsonl", "results.json", "training.json")
NOT_KEPT = ("state", "trial", "tensorboard")
LOG_BYTES = 100_000
"""Of what a program said, the end is kept."""
BLOCK_BYTES = 8 << 20
"""Compressed at a time, as far as the compressor looks back."""

Kind = Literal["notes", "runs", "deep", "model"]
KINDS: tuple[Kind, ...] = ("notes", "runs", "deep", "model")
"""The most important first."""
Files = Iterator[tuple[Path, bytes]]


@dataclass(frozen=True)
class Piece:
    """Part of the archive that is kept or left out as a whole: a tar without its end, compressed.

    One after the other they are a valid archive again. Empty where there was nothing to pack.
    """

    kind: Kind
    run: str
    data: bytes


@dataclass(frozen=True)
class Limits:
    part_megabytes: float = 15.0
    most_megabytes: float = 60.0


def pack(work: Path, out: Path, say: Callable[[str], None], limits: Limits) -> None:
    if not (work / "logs").is_dir():
        raise NotFoundError(f"'{work}' holds no campaign.", hint="name the folder that its runs lie in")
    make_room(out)
    kept, left_out = fitting(_pieces(work, say), round(limits.most_megabytes * 1e6))
    for piece in left_out:
        say(f"left out, {limits.most_megabytes:g} MB are full: {piece.kind} of {piece.run}")
    whole = b"".join([*(piece.data for piece in kept), lzma.compress(bytes(2 * tarfile.BLOCKSIZE))])
    size = max(1, round(limits.part_megabytes * 1e6))
    starts = range(0, len(whole), size)
    digits = len(str(len(starts)))
    for number, start in enumerate(starts, 1):
        with replacing_file(out / f"{ARCHIVE}.{number:0{digits}}-of-{len(starts)}") as aside:
            aside.write_bytes(whole[start : start + size])
    say(f"packed {len(whole) / 1e6:.1f} MB into '{out}'")
    if (work / LOG).is_file():
        shutil.copyfile(work / LOG, out / LOG)


def make_room(out: Path) -> None:
    """A campaign does this before it starts: better to hear now that nothing can be packed there."""
    with storage_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    if any(out.glob(f"{ARCHIVE}.*")):  # parts of two archives must never lie side by side
        raise ConflictError(f"'{out}' already holds a packed campaign.", hint="choose another folder")


def unpack(out: Path, folder: Path) -> None:
    parts = sorted(out.glob(f"{ARCHIVE}.*"))
    if not parts:
        raise NotFoundError(f"'{out}' holds no packed campaign.", hint=f"it has files {ARCHIVE}.1-of-...")
    count = parts[0].name.rpartition("-of-")[2]
    if count != str(len(parts)):
        raise InputError(f"'{out}' holds {len(parts)} of {count} parts.", hint="fetch the others too")
    with tempfile.TemporaryFile() as joined, replacing_folder(folder) as aside:
        for part in parts:
            with part.open("rb") as file:
                shutil.copyfileobj(file, joined)
        joined.seek(0)
        try:
            with tarfile.open(fileobj=joined, mode="r:xz") as archive:
                archive.extractall(aside, filter="data")  # refuses paths outside, devices and the like
        except (tarfile.TarError, lzma.LZMAError, EOFError) as error:
            raise InputError(f"The archive in '{out}' is damaged: {error}.", hint="pack it again") from error


def fitting(pieces: Iterable[Piece], most: int) -> tuple[list[Piece], list[Piece]]:
    """What to keep so that it is at most `most` bytes, and what to leave out. Notes are always kept."""
    found = [piece for piece in pieces if piece.data]
    ordered = sorted(found, key=lambda piece: KINDS.index(piece.kind))  # keeps the order of the plan
    left_out: list[Piece] = []
    while sum(len(piece.data) for piece in _needed(ordered)) > most and ordered[-1].kind != "notes":
        left_out.append(ordered.pop())
    return _needed(ordered), left_out


def _needed(pieces: Sequence[Piece]) -> list[Piece]:
    """Without the runs of usual depth where there are deeper ones."""
    deep = {piece.run for piece in pieces if piece.kind == "deep"}
    return [piece for piece in pieces if piece.kind != "runs" or piece.run not in deep]


def _wanted(work: Path) -> Iterator[tuple[Kind, Run | None]]:
    """Which pieces there are, in the order of the plan; without a run: what belongs to the whole campaign."""
    yield "notes", None
    planned: tuple[Run, ...] = ()
    with suppress(NumColBERTError):  # none, or damaged: all the more reason to keep what is there
        planned = read_plan(work / PLAN).runs
    places = {run.name: place for place, run in enumerate(planned)}
    found = [path.name for path in (work / "runs").glob("*") if path.is_dir()]
    for name in sorted(found, key=lambda name: (places.get(name, len(places)), name)):
        run = planned[places[name]] if name in places else Run(name)
        yield "notes", run
        yield "runs", run
        if run.keep_depth > USUAL_DEPTH:
            yield "deep", run
        if run.keep_model:
            yield "model", run


def _pieces(work: Path, say: Callable[[str], None]) -> list[Piece]:
    # The compressor works outside of Python's lock: threads keep all cores busy.
    with ThreadPoolExecutor() as threads:
        making = []
        for kind, run in _wanted(work):
            name = run.name if run else "the campaign"
            try:
                tar = b"".join(_in_tar(path, work, data) for path, data in _files_of(work, kind, run))
            except (OSError, ValueError, LookupError) as error:  # must not cost the others
                say(f"cannot be packed: {kind} of {name}: {error!r}")
                continue
            starts = range(0, len(tar), BLOCK_BYTES)
            blocks = [threads.submit(lzma.compress, tar[start : start + BLOCK_BYTES]) for start in starts]
            making.append((kind, name, blocks))
        return [Piece(kind, name, b"".join(b.result() for b in blocks)) for kind, name, blocks in making]


def _files_of(work: Path, kind: Kind, run: Run | None) -> Files:
    if run is None:
        return _said(work)
    folder = work / "runs" / run.name
    match kind:
        case "notes":
            return _notes(folder)
        case "runs":
            return _trec_runs(folder, min(run.keep_depth, USUAL_DEPTH))
        case "deep":
            return _trec_runs(folder, run.keep_depth)
        case "model":
            return _model(folder)


def _said(work: Path) -> Files:
    for path in (work / LOG, work / PLAN, *sorted((work / "logs").glob("*.log"))):
        if path.is_file():
            yield path, path.read_bytes()[-LOG_BYTES:]


def _notes(folder: Path) -> Files:
    for path in _files(folder):
        if path.name in NOTES:
            yield path, path.read_bytes()


def _model(folder: Path) -> Files:
    for path in _files(folder / "model"):
        if path.name not in NOTES:
            yield path, path.read_bytes()


def _trec_runs(folder: Path, depth: int) -> Files:
    for path in _files(folder):
        note = note_of(path)
        # The note is written when the run is whole: one without was cut off.
        if path.suffix != ".trec" or path.name.endswith(".ungated.trec") or not note.is_file():
            continue
        if not _is_development(note):
            yield path, cut(path.read_bytes(), depth)
            yield note, note.read_bytes()


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not set(NOT_KEPT) & set(path.relative_to(folder).parts):
            yield path


def _is_development(note: Path) -> bool:
    """By the name of the benchmark: the tables show 'msmarco-dev', but not 'openfinquant/dev'."""
    return str(json.loads(note.read_text(encoding="utf-8"))["benchmark"]).split("/")[-1] == "dev"


def cut(run: bytes, depth: int) -> bytes:
    """The lines of a TREC run down to a rank."""
    rows = [(line, line.split()) for line in run.splitlines(keepends=True)]
    if len({columns[0] for _, columns in rows}) > MANY_QUERIES:
        depth = min(depth, DEPTH_OF_MANY)
    return b"".join(line for line, columns in rows if int(columns[3]) <= depth)


def _in_tar(path: Path, work: Path, data: bytes) -> bytes:
    header = tarfile.TarInfo(path.relative_to(work).as_posix())
    header.size, header.mtime = len(data), int(path.stat().st_mtime)
    return header.tobuf() + data + bytes(-len(data) % tarfile.BLOCKSIZE)
