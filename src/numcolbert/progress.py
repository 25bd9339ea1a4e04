"""Progress with rate and time left.

Code that takes long reports through `Progress`; who listens is decided outside. The library is silent, the
command line installs a terminal listener, the server one that feeds its job stream.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Update:
    label: str
    done: int
    total: int | None
    unit: str
    seconds: float
    finished: bool

    @property
    def rate(self) -> float:
        return self.done / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        if self.total is None or not self.rate:
            return None
        return max(0.0, (self.total - self.done) / self.rate)


Listener = Callable[[Update], None]
_listener: ContextVar[Listener | None] = ContextVar("numcolbert_progress", default=None)


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Send every update from the enclosed code to `listener`."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


class Progress:
    """Counts finished items and tells the listener, at most every `interval` seconds."""

    def __init__(
        self, label: str, total: int | None = None, unit: str = "items", interval: float = 0.2
    ) -> None:
        self.label, self.unit, self.interval = label, unit, interval
        self.total = None if total is None else max(total, 0)  # less than nothing may be left to do
        self.done = 0
        self._listener = _listener.get()
        self._start = self._last = time.monotonic()

    def advance(self, count: int = 1) -> None:
        self.done += count
        if self._listener and time.monotonic() - self._last >= self.interval:
            self._report(finished=False)

    def _report(self, *, finished: bool) -> None:
        self._last = time.monotonic()
        if self._listener:
            elapsed = self._last - self._start
            self._listener(Update(self.label, self.done, self.total, self.unit, elapsed, finished))

    def __enter__(self) -> Progress:
        self._report(finished=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._report(finished=True)


def track(items: Iterable[T], label: str, total: int | None = None, unit: str = "items") -> Iterator[T]:
    """Iterate over `items` and report."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    with Progress(label, total, unit) as progress:
        for item in items:
            yield item
            progress.advance()


def clock(seconds: float) -> str:
    """75 -> '1:15', 3700 -> '1:01:40'."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def describe(update: Update) -> str:
    """One line for a person: 'encode  1,200/5,000 documents  240/s  0:16 left'."""
    counted = f"{update.done:,}" if update.total is None else f"{update.done:,}/{update.total:,}"
    # "0/s" would look like standing still: a step of training may take seconds.
    rate = f"{update.rate:,.0f}" if update.rate >= 10 or not update.done else f"{update.rate:.2g}"
    line = f"{update.label}  {counted} {update.unit}  {rate}/s"
    if update.finished:
        return f"{line}  in {clock(update.seconds)}"
    return line if update.seconds_left is None else f"{line}  {clock(update.seconds_left)} left"


class TerminalListener:
    """Rewrites one line on a terminal; writes a line every ten seconds to a file or pipe."""

    def __init__(self) -> None:
        self._stream = sys.stderr
        self._live = self._stream.isatty()
        self._last_line = time.monotonic()

    def __call__(self, update: Update) -> None:
        if self._live:
            self._stream.write(f"\r\033[2K{describe(update)}" + ("\n" if update.finished else ""))
            self._stream.flush()
        elif update.finished or time.monotonic() - self._last_line >= 10:
            self._last_line = time.monotonic()
            self._stream.write(describe(update) + "\n")
            self._stream.flush()
