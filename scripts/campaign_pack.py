"""Packs what is worth keeping of a campaign into a few files of limited size, and unpacks it.

    OUT/campaign.log               what happened, readable as it is
    OUT/campaign.tar.xz.1-of-3     the parts of one archive: cat OUT/campaign.tar.xz.* | tar xJ

Of every run: recipe, logs, results and TREC runs with their notes, cut to a depth, without those that switch
the gate off; models where the plan says so. A run is packed when it ends: what is in OUT is always whole, and
may be fetched while others go on. What does not fit is left out, the least important first: models, then deep
runs (in their place the usual depth), then all TREC runs; of each kind those that stand last in the plan.
"""

from __future__ import annotations

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
from numcolbert.files import replacing_folder, storage_errors
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

CAMPAIGN = "the campaign"
"""In place of a run's name: what was said, and the plan."""

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
    """A campaign that is over."""
    if not (work / "logs").is_dir():
        raise NotFoundError(f"'{work}' holds no campaign.", hint="name the folder that its runs lie in")
    Packer(work, out, say, limits).finish()


class Packer:
    """Packs runs as they end: `out` always holds all that is over, and nobody need wait for the end."""

    def __init__(self, work: Path, out: Path, say: Callable[[str], None], limits: Limits) -> None:
        make_room(out)
        self.work, self.out, self.say, self.limits = work, out, say, limits
        self._pieces: dict[tuple[str, Kind], Piece] = {}
        self._refused = set[tuple[str, Kind]]()
        self._told = set[tuple[str, Kind]]()
        self._worker = ThreadPoolExecutor(1)  # one archive at a time
        # The compressor works outside of Python's lock: threads keep all cores busy.
        self._compressors = ThreadPoolExecutor()

    def add(self, name: str) -> None:
        """Pack a run that has ended, while others go on."""
        self._worker.submit(self._try, name)

    def finish(self) -> None:
        """Pack what is not yet packed, and wait for it."""
        self._worker.submit(self._add, None).result()
        for threads in (self._worker, self._compressors):
            threads.shutdown()

    def _try(self, name: str) -> None:
        try:
            self._add([name])
        except NumColBERTError as error:  # there is another chance at the end
            self.say(f"'{name}' cannot be packed now: {error}")

    def _add(self, names: Sequence[str] | None) -> None:
        known = {*self._pieces, *self._refused}
        wanted = [
            (kind, run)
            for kind, run in _wanted(self.work)
            if run is None or ((names is None or run.name in names) and (run.name, kind) not in known)
        ]
        making = []
        for kind, run in wanted:
            name = run.name if run else CAMPAIGN
            try:
                tar = b"".join(
                    _in_tar(path, self.work, data) for path, data in _files_of(self.work, kind, run)
                )
            except (OSError, ValueError, LookupError) as error:  # must not cost the others
                self.say(f"cannot be packed: {kind} of {name}: {error!r}")
                self._refused.add((name, kind))
                continue
            starts = range(0, len(tar), BLOCK_BYTES)
            blocks = [self._compressors.submit(lzma.compress, tar[at : at + BLOCK_BYTES]) for at in starts]
            making.append((kind, name, blocks))
        for kind, name, blocks in making:
            self._pieces[name, kind] = Piece(kind, name, b"".join(block.result() for block in blocks))
        self._write(is_last=names is None)

    def _write(self, *, is_last: bool) -> None:
        order = [(run.name if run else CAMPAIGN, kind) for kind, run in _wanted(self.work)]
        pieces = [self._pieces[key] for key in order if key in self._pieces]
        kept, left_out = fitting(pieces, round(self.limits.most_megabytes * 1e6))
        for piece in left_out:
            if (piece.run, piece.kind) not in self._told:
                most = f"{self.limits.most_megabytes:g} MB are full"
                self.say(f"left out, {most}: {piece.kind} of {piece.run}")
                self._told.add((piece.run, piece.kind))
        whole = b"".join([*(piece.data for piece in kept), lzma.compress(bytes(2 * tarfile.BLOCKSIZE))])
        if is_last:
            self.say(f"packed {len(whole) / 1e6:.1f} MB into '{self.out}'")
        size = max(1, round(self.limits.part_megabytes * 1e6))
        starts = range(0, len(whole), size)
        digits = len(str(len(starts)))
        # As a whole folder: who fetches it meanwhile gets the parts of one archive.
        with replacing_folder(self.out, overwrite=True) as aside:
            for number, start in enumerate(starts, 1):
                part = aside / f"{ARCHIVE}.{number:0{digits}}-of-{len(starts)}"
                part.write_bytes(whole[start : start + size])
            if (self.work / LOG).is_file():
                shutil.copyfile(self.work / LOG, aside / LOG)


def make_room(out: Path) -> None:
    """A campaign does this before it starts: better to hear now that nothing can be packed there."""
    with storage_errors(out):
        out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):  # it is replaced as a whole whenever a run ends
        what = "a packed campaign" if any(out.glob(f"{ARCHIVE}.*")) else "other files"
        raise ConflictError(f"'{out}' already holds {what}.", hint="choose another folder, or an empty one")


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
        yield path, cut(path.read_bytes(), depth)
        yield note, note.read_bytes()


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not set(NOT_KEPT) & set(path.relative_to(folder).parts):
            yield path


def cut(run: bytes, depth: int) -> bytes:
    """The lines of a TREC run down to a rank."""
    kept: list[tuple[int, bytes]] = []
    for line in run.splitlines(keepends=True):
        rank = int(line.split(maxsplit=4)[3])
        if rank <= depth:
            kept.append((rank, line))
    if sum(rank == 1 for rank, _ in kept) > MANY_QUERIES:
        depth = DEPTH_OF_MANY
    return b"".join(line for rank, line in kept if rank <= depth)


def _in_tar(path: Path, work: Path, data: bytes) -> bytes:
    header = tarfile.TarInfo(path.relative_to(work).as_posix())
    header.size, header.mtime = len(data), int(path.stat().st_mtime)
    return header.tobuf() + data + bytes(-len(data) % tarfile.BLOCKSIZE)
