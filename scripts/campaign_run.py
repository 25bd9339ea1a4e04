"""Runs a campaign unattended: starts what may start, ends what has no time left, and tells of each."""

from __future__ import annotations

import math
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Literal

from campaign_log import PLAN, CampaignLog
from campaign_plan import Plan, Run, commands_of, in_folders, read_plan
from campaign_show import last_words, lines_of
from numcolbert.errors import NotFoundError, NumColBERTError
from numcolbert.files import storage_errors

LOOK_AGAIN_SECONDS = 1.0
STOP_SECONDS = 45.0
"""How long a run that was asked to stop may take to save its checkpoint."""
RANKING_SECONDS = 120.0
"""How long before the campaign's end a training is over at the latest, so that it can still be ranked."""

State = Literal["done", "failed", "stopped", "skipped", "not started"]


@dataclass(frozen=True)
class End:
    """What became of a run."""

    state: State
    why: str = ""
    seconds: float = 0.0


@dataclass
class Started:
    run: Run
    left: list[list[str]]
    """Command lines that follow the one that is running."""
    process: subprocess.Popen[bytes]
    since: float = field(default_factory=time.monotonic)
    asked_to_end: bool = False


class Campaign:
    def __init__(
        self,
        file: Path,
        work: Path,
        slots: int,
        *,
        seconds: float | None = None,
        only: Sequence[str] = (),
        have: Sequence[str] = (),
        changes: Sequence[str] = (),
    ) -> None:
        """Args:
        only: Of the runs in the file, these and those they wait for.
        have: Runs that were made before and lie in `work`; they are not started.
        """
        self.file, self.work, self.slots = file, work, slots
        self._only, self._have, self._changes = only, have, changes
        self._deadline = math.inf if seconds is None else time.monotonic() + seconds
        self._running: dict[str, Started] = {}
        self.ended: dict[str, End] = {}
        self._stopping = False
        self._complaint = ""
        self.when_ended: Callable[[str], None] = lambda _name: None
        """Called with the name of a run that was started and has ended, in whatever way."""
        self.plan = self._read()
        for name in have:
            if not (work / "runs" / name).is_dir():
                raise NotFoundError(
                    f"'{work / 'runs' / name}' does not exist.",
                    hint="put there what was made of the run, or leave it out of --have",
                )
            self.ended[name] = End("done", "made before")
        with storage_errors(work):
            (work / "logs").mkdir(parents=True, exist_ok=True)
        self.log = CampaignLog(work)

    def run(self) -> None:
        """Until all are done, time is up, or someone asks for the end.

        The file is read again all the time, and more runs may be written into it.
        """
        with self._stopping_on_signals():
            try:
                while not self._stopping and not self._is_time_up():
                    self._read_again()
                    self._collect()
                    self._skip()
                    while (run := self._next()) is not None:
                        self._start(run)
                    if not self._waiting() and not self._is_busy():
                        break
                    time.sleep(LOOK_AGAIN_SECONDS)
            finally:
                self._stop()

    def _read(self) -> Plan:
        plan = read_plan(self.file, self._changes)
        return plan.only(self._only, self._have)

    def _read_again(self) -> None:
        """What the file said before holds while it is being written."""
        try:
            self.plan, complaint = self._read(), ""
            shutil.copyfile(self.file, self.work / PLAN)  # says later what to pack
        except (NumColBERTError, FileNotFoundError) as error:
            complaint = str(error)
        if complaint and complaint != self._complaint:
            self.log.say(f"the plan stays as it was: {complaint}")
        self._complaint = complaint

    def _seconds_left(self) -> float:
        return self._deadline - time.monotonic()

    def _is_time_up(self) -> bool:
        return self._seconds_left() <= 0

    def _waiting(self) -> list[Run]:
        return [run for run in self.plan.runs if run.name not in self._running and run.name not in self.ended]

    def _is_busy(self) -> bool:
        """Whether to wait for what is running: for background runs alone only where there are no others."""
        only_background = all(run.background for run in self.plan.runs)
        return any(only_background or not started.run.background for started in self._running.values())

    def _skip(self) -> None:
        """Give up what can no longer start; what waits for that follows the next time."""
        for run in self._waiting():
            for name in run.waits_for:
                end = self.ended.get(name)
                if end and end.state != "done":
                    self._end(run.name, End("skipped", f"'{name}': {end.state}"))
                    break
            else:
                if run.minutes * 60 > self._seconds_left():
                    self._end(run.name, End("not started", f"its {run.minutes:g} minutes no longer fit"))

    def _next(self) -> Run | None:
        """The first run that may start now."""
        taken = sum(not started.run.background for started in self._running.values())
        if any(started.run.alone for started in self._running.values()):
            return None
        for run in filter(self._is_ready, self._waiting()):
            if run.alone:
                # None of those behind it may start before, or the machine would never be free for it.
                return None if self._running else run
            if run.background or taken < self.slots:
                return run
        return None

    def _is_ready(self, run: Run) -> bool:
        if not {*filter(None, (run.after, *run.needs))} <= {*self.ended}:
            return False
        if not run.beside or run.beside in self.ended:
            return True
        other = self._running.get(run.beside)
        if other is None or not other.run.ready:
            return other is not None
        return Path(in_folders(other.run.ready, other.run, self.work)).exists()

    def _start(self, run: Run) -> None:
        seconds = self._seconds_left() - RANKING_SECONDS
        first, *left = commands_of(run, self.plan, self.work, seconds)
        self.log_of(run.name).unlink(missing_ok=True)
        self._running[run.name] = Started(run, left, self._process(run.name, first))

    def _process(self, name: str, command: list[str]) -> subprocess.Popen[bytes]:
        self.log.say(f"{name} starts: {shlex.join(command)}")
        with self.log_of(name).open("ab") as log:
            # A session of its own: Ctrl-C reaches the campaign alone, which then ends its runs in order.
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def log_of(self, name: str) -> Path:
        return self.work / "logs" / f"{name}.log"

    def _collect(self) -> None:
        """See who has ended, and start what follows in the same run."""
        for name, started in list(self._running.items()):
            code = started.process.poll()
            if code is None:
                continue
            _end_group(started.process)
            if code == 0 and started.left and not self._stopping:
                started.process = self._process(name, started.left.pop(0))
                continue
            del self._running[name]
            self._end(name, self._judged(started, code))
            self.when_ended(name)

    def _judged(self, started: Started, code: int) -> End:
        name, seconds = started.run.name, time.monotonic() - started.since
        steps = [line for line in lines_of(self.work / "runs" / name) if "step" in line]
        # A training that is asked to stop ends with 0 as well: its log knows.
        interrupted = bool(steps and steps[-1].get("interrupted"))
        if code == 0 and not interrupted and not started.left:
            return End("done", seconds=seconds)
        if code == 0 or interrupted or started.asked_to_end:
            return End("stopped", f"at step {steps[-1]['step']:,}" if steps else "", seconds)
        return End("failed", last_words(self.log_of(name)) or f"ended with {code}", seconds)

    def _end(self, name: str, end: End) -> None:
        self.ended[name] = end
        self.log.say(f"{name} {end.state} {end.why}".rstrip())

    def _stop(self) -> None:
        """End what is running in order, those in the background last: the others may be reading from them."""
        self._stopping = True
        for background in (False, True):
            self._ask_to_end([s for s in self._running.values() if s.run.background == background])
        for run in self._waiting():
            self._end(run.name, End("not started", "the time was up" if self._is_time_up() else ""))

    def _ask_to_end(self, asked: Sequence[Started]) -> None:
        for started in asked:
            started.asked_to_end = started.process.poll() is None
            started.process.terminate()  # a training then saves a checkpoint
        patience = time.monotonic() + STOP_SECONDS
        while any(s.process.poll() is None for s in asked) and time.monotonic() < patience:
            time.sleep(0.05)
        for started in asked:
            _end_group(started.process)
            started.process.wait()
        self._collect()

    @contextmanager
    def _stopping_on_signals(self) -> Iterator[None]:
        def ask(number: int, _frame: FrameType | None) -> None:
            self._stopping = True
            sys.stderr.write(f"{signal.Signals(number).name}: the runs are being stopped\n")

        before = {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def table(self) -> str:
        width = max(map(len, self.ended), default=0)
        rows = [f"{'run':{width}}  {'state':11}  seconds"]
        for name in dict.fromkeys([*(run.name for run in self.plan.runs), *self.ended]):
            end = self.ended.get(name, End("failed", "the campaign broke off"))
            rows.append(f"{name:{width}}  {end.state:11}  {end.seconds:7.0f}  {end.why}".rstrip())
        return "\n".join(rows) + "\n"


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End a run with all it started: processes that make batches outlive one that was killed."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
