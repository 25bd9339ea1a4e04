"""One encoder call for the queries that arrive together.

Requests come in on many threads; the encoder is fastest with a batch. Each caller leaves its text with a
single worker, which encodes whatever is waiting in one call. Nobody waits for a batch to fill: an idle worker
starts at once, and a batch forms only while the worker is busy with the one before.
"""

from __future__ import annotations

import queue
import threading
from concurrent.futures import Future

from numcolbert.index.encoding import TextEncoder
from numcolbert.types import DocumentEncoding, QueryEncoding

_Waiting = tuple[str, "Future[QueryEncoding]"]


class BatchingEncoder:
    """A `TextEncoder` whose query side is shared between threads."""

    def __init__(self, encoder: TextEncoder, largest_batch: int = 32) -> None:
        self._encoder = encoder
        self._largest = largest_batch
        self._waiting: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._worker = threading.Thread(target=self._work, name="encoder", daemon=True)
        self._worker.start()

    @property
    def dim(self) -> int:
        return self._encoder.dim

    @property
    def name(self) -> str:
        return self._encoder.name

    @property
    def fingerprint(self) -> str:
        return self._encoder.fingerprint

    def encode_documents(self, texts: list[str], batch_size: int = 32) -> list[DocumentEncoding]:
        return self._encoder.encode_documents(texts, batch_size=batch_size)

    def encode_queries(self, texts: list[str]) -> list[QueryEncoding]:
        return [future.result() for future in [self.submit(text) for text in texts]]

    def submit(self, text: str) -> Future[QueryEncoding]:
        """For callers that can do something else meanwhile."""
        future: Future[QueryEncoding] = Future()
        self._waiting.put((text, future))
        return future

    def close(self) -> None:
        self._waiting.put(None)
        self._worker.join()

    def _work(self) -> None:
        open_ = True
        while open_:
            first = self._waiting.get()
            if first is None:
                return
            batch = [first]
            while len(batch) < self._largest and not self._waiting.empty():
                item = self._waiting.get()
                if item is None:
                    open_ = False
                    break
                batch.append(item)
            # Who was cancelled meanwhile waits for nothing; an answer to it would end this thread.
            self._encode([item for item in batch if item[1].set_running_or_notify_cancel()])

    def _encode(self, batch: list[_Waiting]) -> None:
        if not batch:
            return
        try:
            encodings = self._encoder.encode_queries([text for text, _ in batch])
        except Exception as error:  # noqa: BLE001 - handed to whoever waits
            if len(batch) == 1:
                batch[0][1].set_exception(error)
                return
            for item in batch:  # one bad query must not fail its neighbours
                self._encode([item])
            return
        for (_, future), encoding in zip(batch, encodings, strict=True):
            future.set_result(encoding)
