"""Long work beside the requests: one job at a time, each with progress that clients can follow."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from numcolbert.errors import NotFoundError, NumColBERTError
from numcolbert.progress import Update, listening
from numcolbert.server.schemas import JobOut

LOOK_EVERY = 0.1
"""Seconds between looks of those who follow a job."""
KEPT = 100
"""Finished jobs that can still be asked about."""


class Job:
    """The state of one piece of work."""

    def __init__(self, label: str) -> None:
        self.id = uuid.uuid4().hex[:12]
        self._state = JobOut(
            id=self.id, state="waiting", label=label, done=0, total=None, rate=0, seconds_left=None
        )

    def set(self, **fields: Any) -> None:
        """Called from the job's own thread only; readers see the old state or the new one."""
        self._state = self._state.model_copy(update=fields)

    def listen(self, update: Update) -> None:
        self.set(
            label=update.label,
            done=update.done,
            total=update.total,
            rate=round(update.rate, 1),
            seconds_left=None if update.seconds_left is None else round(update.seconds_left, 1),
        )

    @property
    def state(self) -> JobOut:
        return self._state

    @property
    def finished(self) -> bool:
        return self._state.state in ("done", "failed")

    async def follow(self, patience: float = 10.0) -> AsyncIterator[JobOut | None]:
        """Yield each state until the job ends; None where nothing happened for `patience` seconds.

        It looks ten times a second and holds no thread: followers must not take threads from searches.
        """
        seen, quiet = None, 0.0
        while True:
            state = self._state
            if state is not seen:
                seen, quiet = state, 0.0
                yield state
                if state.state in ("done", "failed"):
                    return
            elif quiet >= patience:
                quiet = 0.0
                yield None
            await asyncio.sleep(LOOK_EVERY)
            quiet += LOOK_EVERY


class Jobs:
    """Runs jobs in the order in which they came."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="job")
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, label: str, work: Callable[[], dict[str, Any]]) -> Job:
        job = Job(label)
        with self._lock:
            self._jobs[job.id] = job
            finished = [id for id, known in self._jobs.items() if known.finished]
            for id in finished[: max(0, len(self._jobs) - KEPT)]:
                del self._jobs[id]
        self._pool.submit(self._run, job, work)
        return job

    def get(self, id: str) -> Job:
        with self._lock:
            job = self._jobs.get(id)
        if job is None:
            raise NotFoundError(f"There is no job '{id}'.", hint="GET /v1/jobs lists those that are known")
        return job

    def all(self) -> list[JobOut]:
        with self._lock:
            return [job.state for job in reversed(self._jobs.values())]

    def close(self) -> None:
        """Let the running job end and drop those that wait."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    @staticmethod
    def _run(job: Job, work: Callable[[], dict[str, Any]]) -> None:
        job.set(state="running")
        try:
            with listening(job.listen):
                result = work()
        except NumColBERTError as error:
            job.set(state="failed", error=error.as_dict())
        except Exception as error:  # noqa: BLE001 - a job must not die silently
            message = f"The job stopped on an unexpected {type(error).__name__}: {error}."
            job.set(
                state="failed", error={"code": "failed", "message": message, "hint": "see the server's log"}
            )
        else:
            job.set(state="done", result=result)
