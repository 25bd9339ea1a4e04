from __future__ import annotations

import threading
from concurrent.futures import Future

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
        self.begun, self.go = threading.Event(), threading.Event()

    def encode_queries(self, texts: list[str]) -> list[QueryEncoding]:
        self.begun.set()
        self.go.wait(30)
        self.batches.append(len(texts))
        if "bad" in texts:
            raise InputError("bad query", hint="none")
        return super().encode_queries(texts)


def test_waiting_queries_share_a_call_and_keep_their_own_answers() -> None:
    slow = Slow()
    encoder = BatchingEncoder(slow)
    texts = [f"query {i}" for i in range(12)]
    pending = [encoder.submit(texts[0])]
    assert slow.begun.wait(30)  # the encoder is busy with the first; the others wait together
    pending += [encoder.submit(text) for text in texts[1:]]
    slow.go.set()
    results = [future.result(30) for future in pending]
    encoder.close()
    assert slow.batches == [1, 11]
    for text, result in zip(texts, results, strict=True):
        np.testing.assert_array_equal(result.vectors, StandIn().encode_queries([text])[0].vectors)


def busy() -> tuple[Slow, BatchingEncoder, Future[QueryEncoding]]:
    """An encoder that is busy with its first query, so that others wait together."""
    slow = Slow()
    encoder = BatchingEncoder(slow)
    first = encoder.submit("first")
    assert slow.begun.wait(30)
    return slow, encoder, first


def test_one_bad_query_does_not_fail_its_neighbours() -> None:
    slow, encoder, first = busy()
    good, bad = encoder.submit("good"), encoder.submit("bad")
    slow.go.set()
    assert (first.result(30).text, good.result(30).text) == ("first", "good")
    with pytest.raises(InputError):
        bad.result(30)
    encoder.close()


def test_a_query_nobody_waits_for_any_more_does_no_harm() -> None:
    slow, encoder, first = busy()
    given_up, next_one = encoder.submit("given up"), encoder.submit("next")
    assert given_up.cancel()  # as when its request is ended
    assert not first.cancel()  # it is being encoded
    slow.go.set()
    assert [first.result(30).text, next_one.result(30).text] == ["first", "next"]
    alone = encoder.submit("alone")
    alone.cancel()
    assert encoder.submit("last").result(30).text == "last"
    encoder.close()
