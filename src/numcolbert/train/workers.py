"""Worker processes that make batches ahead of the training loop. No torch here: a worker starts fast.

Batch number k always comes from worker k modulo the number of workers, so a run sees the same batches in
the same order however fast each process is.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
import threading
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from numcolbert.errors import NumColBERTError
from numcolbert.train.packing import BatchMaker, PackSettings
from numcolbert.train.sources import DataSettings, open_source
from numcolbert.train.text_reader import TextSettings
from numcolbert.train.transport import Block, to_block

START_SECONDS = 600.0
"""How long a worker may take for its first batch: it loads its pools before."""


@dataclass(frozen=True)
class FeedSettings:
    data: DataSettings
    text: TextSettings
    batch: int
    seed: int
    first: int = 0
    """Number of the first batch wanted; a resumed run continues where the old one stopped."""
    rank: int = 0
    """Which of several training processes this is; each has its own workers and its own triples."""
    kind: type[BatchMaker] = BatchMaker
    """What makes the batches; its module must not import torch either."""

    def maker(self) -> BatchMaker:
        return self.kind(self.text, PackSettings(self.data.token_multiple, self.data.quantities))


class WorkerFailedError(NumColBERTError):
    """A process that makes batches stopped."""


def batches_of(settings: FeedSettings, worker: int, workers: int) -> Iterator[Block]:
    """All batches of one worker, endlessly."""
    done = max(0, -(-(settings.first - worker) // workers))  # batches k < first with k % workers == worker
    stream = settings.rank * 1000 + worker
    source = open_source(settings.data, settings.seed, stream, start=done * settings.batch)
    maker = settings.maker()
    while True:
        yield to_block(maker.make(source.next_block(settings.batch)))


def _end_with_parent() -> None:
    """A killed training closes nothing: its workers would wait for room in their queues for ever."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True, name="parent").start()


def _work(settings: FeedSettings, worker: int, workers: int, results: Any) -> None:
    _end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process decides when to stop
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one process, one core
    try:
        for block in batches_of(settings, worker, workers):
            results.put(block)
    except NumColBERTError as error:
        results.put((error.message, error.hint))
    except Exception:  # noqa: BLE001  it must reach the main process, whatever it is
        results.put((traceback.format_exc(), "this is a defect: please report it"))


class Feed:
    """Iterates over the blocks of all workers in their fixed order; `close` ends the processes."""

    def __init__(self, settings: FeedSettings) -> None:
        self.settings = settings
        self.workers = settings.data.workers
        self._next = settings.first
        self._processes: list[Any] = []
        self._queues: list[Any] = []
        self._inline: Iterator[Block] | None = None
        if self.workers == 0:
            self._inline = batches_of(settings, 0, 1)
            return
        context = multiprocessing.get_context("spawn")
        for worker in range(self.workers):
            results = context.Queue(settings.data.prefetch)
            process = context.Process(
                target=_work,
                args=(settings, worker, self.workers, results),
                daemon=True,
                name=f"feed-{worker}",
            )
            process.start()
            self._processes.append(process)
            self._queues.append(results)

    def __iter__(self) -> Feed:
        return self

    def __next__(self) -> Block:
        if self._inline is not None:
            return next(self._inline)
        worker = self._next % self.workers
        self._next += 1
        answer = self._receive(worker)
        if isinstance(answer, Block):
            return answer
        message, hint = answer
        raise WorkerFailedError(f"Worker {worker} failed: {message}", hint=hint)

    def _receive(self, worker: int) -> Any:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                return self._queues[worker].get(timeout=2.0)
            except queue.Empty:
                if not self._processes[worker].is_alive():
                    with contextlib.suppress(queue.Empty):
                        return self._queues[worker].get(timeout=1.0)  # its last words came just now
                    code = self._processes[worker].exitcode
                    raise WorkerFailedError(
                        f"Worker {worker} ended with exit code {code}.",
                        hint="it may have run out of memory: set a smaller data.workers",
                    ) from None
                if time.monotonic() > deadline:
                    raise WorkerFailedError(
                        f"Worker {worker} made no batch in {START_SECONDS:.0f} s.",
                        hint="try data.workers = 0 to see what it does",
                    ) from None

    def close(self) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.join(timeout=5)
        for results in self._queues:
            results.close()
            results.cancel_join_thread()
        self._processes, self._queues = [], []
