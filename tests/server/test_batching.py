from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.standin import StandIn

from numcolbert.errors import InputError
from numcolbert.server.batching import BatchingEncoder
from numcolbert.types import QueryEncoding


class Slow(StandIn):
    """Holds the first call until others have queued up, and counts calls."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[int] = []
        self.go = threading.Event()

    def encode_queries(self, texts: list[str]) -> list[QueryEncoding]:
        self.go.wait(5)
        self.batches.append(len(texts))
        if "bad" in texts:
            raise InputError("bad query", hint="none")
        return super().encode_queries(texts)


def test_waiting_queries_share_a_call_and_keep_their_own_answers() -> None:
    slow = Slow()
    encoder = BatchingEncoder(slow)
    texts = [f"query {i}" for i in range(12)]
    with ThreadPoolExecutor(12) as pool:
        pending = [pool.submit(encoder.encode_queries, [text]) for text in texts]
        while encoder._waiting.qsize() < 11:
            pass
        slow.go.set()
        results = [future.result()[0] for future in pending]
    encoder.close()
    assert slow.batches == [1, 11]
    for text, result in zip(texts, results, strict=True):
        np.testing.assert_array_equal(result.vectors, StandIn().encode_queries([text])[0].vectors)


def test_one_bad_query_does_not_fail_its_neighbours() -> None:
    slow = Slow()
    encoder = BatchingEncoder(slow)
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(encoder.encode_queries, ["first"])
        good, bad = (
            pool.submit(encoder.encode_queries, ["good"]),
            pool.submit(encoder.encode_queries, ["bad"]),
        )
        while encoder._waiting.qsize() < 2:
            pass
        slow.go.set()
        assert first.result()[0].text == "first"
        assert good.result()[0].text == "good"
        with pytest.raises(InputError):
            bad.result()
    encoder.close()
