from __future__ import annotations

import multiprocessing
import time
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest

from numcolbert.data.triple import OPERATORS, Triple
from numcolbert.data.triple_files import read_triples
from numcolbert.model.checkpoint import ColBERTSettings, build_colbert
from numcolbert.train.model_setup import text_settings
from numcolbert.train.packing import BatchMaker, PackSettings, pack
from numcolbert.train.sources import DataSettings, FileSource
from numcolbert.train.transport import from_block, to_block
from numcolbert.train.workers import Feed, FeedSettings, WorkerFailedError


@pytest.fixture(scope="module")
def feed(backbone: Path, triples_file: Path) -> FeedSettings:
    model = build_colbert(backbone, ColBERTSettings(dim=16, query_length=16, document_length=24))
    data = DataSettings(triples=triples_file, workers=2, token_multiple=64, prefetch=2)
    return FeedSettings(data, text_settings(model), batch=8, seed=3)


def take(settings: FeedSettings, count: int) -> list[bytes]:
    stream = Feed(settings)
    try:
        return [bytes(next(stream).data) for _ in range(count)]
    finally:
        stream.close()


def test_workers_give_the_same_batches_every_time_and_go_on_where_they_stopped(feed: FeedSettings) -> None:
    first = take(feed, 7)
    assert take(feed, 7) == first
    assert len(set(first)) == 7
    assert take(replace(feed, first=3), 4) == first[3:]


def test_another_seed_or_rank_gives_other_batches(feed: FeedSettings) -> None:
    inline = replace(feed, data=replace(feed.data, workers=0))
    batches = [take(s, 2) for s in (inline, replace(inline, seed=4), replace(inline, rank=1))]
    assert len({batch for some in batches for batch in some}) == 6


def test_a_worker_that_fails_says_why(feed: FeedSettings) -> None:
    broken = replace(feed, data=replace(feed.data, triples=Path("nowhere.npz"), workers=1))
    with pytest.raises(WorkerFailedError, match=r"nowhere\.npz"):
        take(broken, 1)


def _feed_and_wait(settings: FeedSettings, told: Connection) -> None:
    stream = Feed(settings)
    next(stream)
    told.send([process.pid for process in stream._processes])
    time.sleep(600)


def _lives(pid: int) -> bool:
    """A process that has ended may stay in the table until someone asks for its exit code."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes as Linux shows them")
def test_workers_end_with_a_training_that_is_killed(feed: FeedSettings) -> None:
    context = multiprocessing.get_context("spawn")
    heard, told = context.Pipe(duplex=False)
    training = context.Process(target=_feed_and_wait, args=(feed, told))
    training.start()
    assert heard.poll(120)
    workers = heard.recv()
    assert len(workers) == 2
    training.kill()
    training.join()
    deadline = time.monotonic() + 20
    while any(map(_lives, workers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(_lives, workers))


def test_a_batch_holds_what_its_triples_say(feed: FeedSettings, triples: list[Triple]) -> None:
    maker = BatchMaker(feed.text, PackSettings(token_multiple=64, quantities=4))
    arrays = maker.make(triples)
    starts, ids = arrays["starts"], arrays["ids"]
    assert len(ids) % 64 == 0
    assert starts[-1] == len(ids)
    texts = [t.positive.text for t in triples] + [t.negative.text for t in triples]
    for row, expected in enumerate(maker.reader.documents(texts)):
        begin, end = starts[len(triples) + row], starts[len(triples) + row + 1]
        assert ids[begin:end].tolist() == expected
        assert arrays["positions"][begin:end].tolist() == list(range(len(expected)))
    for row, triple in enumerate(triples):
        condition = triple.conditions[0]
        assert arrays["condition_query"][row] == row
        assert OPERATORS[arrays["condition_operator"][row]] == condition.operator
        assert arrays["condition_base_value"][row] == condition.base_value
        assert arrays["quantity_base_value"][row, 0] == triple.positive.quantities[0].base_value
        assert not (arrays["condition_mention"][row] & ~arrays["word_mask"][row]).any()
        assert arrays["condition_mention"][row].sum() >= 2  # the value and its unit


def test_packing_covers_every_token_and_keeps_the_number_of_sequences() -> None:
    for total in (1, 63, 64, 65, 100):
        arrays = pack([[7] * total], multiple=64, longest=24)
        assert len(arrays["ids"]) % 64 == 0
        assert len(arrays["starts"]) == 1 + 1 + 3
        lengths = np.diff(arrays["starts"])
        assert lengths.sum() == len(arrays["ids"])
        assert lengths[1:].max() <= 24


def test_blocks_keep_arrays_as_they_are() -> None:
    arrays = {
        "a": np.arange(5, dtype=np.int32),
        "b": np.array([[True], [False]]),
        "c": np.zeros((0, 3)),
        "d": np.array([1.5]),
    }
    back = from_block(to_block(arrays))
    assert set(back) == set(arrays)
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        assert np.array_equal(back[name], array)


def test_a_file_is_gone_through_whole_before_it_repeats(triples_file: Path) -> None:
    source = FileSource(triples_file, seed=1, worker=0)
    count = len(read_triples(triples_file).triples)
    seen = [t for _ in range(4) for t in source.next_block(count // 4)]
    assert len({id(t) for t in seen}) == count
    later = FileSource(triples_file, seed=1, worker=0, start=count // 4)
    assert [t.query for t in later.next_block(30)] == [t.query for t in seen[count // 4 :][:30]]
