"""What every engine of ours promises (`index/base.py`), for flat and for plaid with every number of bits."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from numcolbert.errors import (
    ConflictError,
    DamagedIndexError,
    InputError,
    NotFoundError,
    NumColBERTError,
    StorageError,
    UsageError,
)
from numcolbert.index import columns
from numcolbert.index.flat import FlatEngine
from numcolbert.index.plaid import PlaidEngine
from numcolbert.index.plaid_settings import PlaidSettings

DIM = 32
KINDS = ["flat", "plaid-1", "plaid-2", "plaid-4", "plaid-8"]
Make = Callable[..., Any]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def create(kind: str, folder: Path, dim: int = DIM) -> FlatEngine | PlaidEngine:
    name, _, bits = kind.partition("-")
    return (
        FlatEngine.create(folder, dim)
        if name == "flat"
        else PlaidEngine.create(folder, dim, PlaidSettings(int(bits)))
    )


def reopen(kind: str, folder: Path) -> FlatEngine | PlaidEngine:
    return FlatEngine.open(folder) if kind == "flat" else PlaidEngine.open(folder)


def content(engine: Any) -> list[tuple[int, list[list[float]]]]:
    return [(key, engine.vectors(key).tolist()) for key in engine.keys().tolist()]


def test_scores_are_maxsim_over_the_vectors_the_engine_holds(
    kind: str, tmp_path: Path, random_passages: Make, maxsim: Make
) -> None:
    passages = random_passages(60)
    engine = create(kind, tmp_path)
    engine.add(range(60), passages)
    query = 3 * random_passages(1, longest=20, seed=5)[0]
    found = engine.search(query, 60)
    expected = {key: maxsim(query, engine.vectors(key)) for key in range(60)}
    assert set(found.keys.tolist()) == set(range(60))
    for key, score in zip(found.keys.tolist(), found.scores.tolist(), strict=True):
        assert score == pytest.approx(expected[key], rel=1e-4, abs=1e-4)
    assert (np.diff(found.scores) <= 0).all()


def test_token_scores_add_up_to_the_score(kind: str, tmp_path: Path, random_passages: Make) -> None:
    engine = create(kind, tmp_path)
    engine.add(range(20), random_passages(20))
    query = random_passages(1, seed=5)[0]
    best = engine.search(query, 1)
    matrix = engine.token_scores(query, int(best.keys[0]))
    assert matrix.shape == (len(query), len(engine.vectors(int(best.keys[0]))))
    assert matrix.max(axis=1).sum() == pytest.approx(float(best.scores[0]), rel=1e-4)


def test_a_token_of_weight_five_counts_five_times(kind: str, tmp_path: Path, random_passages: Make) -> None:
    engine = create(kind, tmp_path)
    engine.add(range(50), random_passages(50))
    query = random_passages(1, longest=8, seed=5)[0]
    gated = query.copy()
    gated[0] *= 5
    plain = engine.search(query, 50)
    heavy = engine.search(gated, 50)
    first = engine.search(query[:1], 50)
    by_key = [dict(zip(s.keys.tolist(), s.scores.tolist(), strict=True)) for s in (plain, heavy, first)]
    for key in range(50):
        assert by_key[1][key] == pytest.approx(by_key[0][key] + 4 * by_key[2][key], rel=1e-4, abs=1e-4)


def test_ties_go_by_key_whatever_the_order_of_arrival(
    kind: str, tmp_path: Path, random_passages: Make
) -> None:
    same = random_passages(1, seed=1)[0]
    others = random_passages(40, seed=2)
    keys = np.random.default_rng(0).permutation(60)
    engine = create(kind, tmp_path)
    engine.add(keys[:40].tolist(), others)
    engine.add(keys[40:].tolist(), [same] * 20)
    found = engine.search(10 * same, 7)
    assert found.keys.tolist() == sorted(keys[40:].tolist())[:7]
    assert len(set(found.scores.tolist())) == 1


def test_no_passage_one_passage_and_more_wanted_than_there_are(
    kind: str, tmp_path: Path, random_passages: Make
) -> None:
    engine = create(kind, tmp_path)
    query = random_passages(1, seed=5)[0]
    assert len(engine.search(query, 10).keys) == 0
    assert (engine.count, engine.keys().tolist()) == (0, [])
    engine.add([], [])
    engine.compact()
    engine.add([17], random_passages(1))
    assert engine.search(query, 10).keys.tolist() == [17]
    engine.delete([17])
    assert len(engine.search(query, 10).keys) == 0
    engine.compact()
    engine.commit()
    assert len(reopen(kind, tmp_path).search(query, 10).keys) == 0


def test_one_token_and_512_token_passages_live_together(
    kind: str, tmp_path: Path, random_passages: Make, maxsim: Make
) -> None:
    generator = np.random.default_rng(3)
    long = [
        rows / np.linalg.norm(rows, axis=1, keepdims=True)
        for rows in generator.standard_normal((3, 512, DIM))
    ]
    short = [rows[:1] for rows in random_passages(30)]
    passages = [rows.astype(np.float32) for rows in [*short, *long]]
    engine = create(kind, tmp_path)
    engine.add(range(33), passages)
    query = random_passages(1, longest=40, seed=5)[0]
    found = engine.search(query, 33)
    assert set(found.keys[:3].tolist()) == {30, 31, 32}  # 512 chances a token
    for key, score in zip(found.keys.tolist(), found.scores.tolist(), strict=True):
        assert score == pytest.approx(maxsim(query, engine.vectors(key)), rel=1e-4, abs=1e-4)


def test_only_allowed_keys_are_found(kind: str, tmp_path: Path, random_passages: Make) -> None:
    engine = create(kind, tmp_path)
    engine.add(range(100, 400), random_passages(300))
    engine.delete([104])
    query = random_passages(1, seed=5)[0]
    found = engine.search(query, 10, allowed=np.array([399, 104, 101, 7, 250]))
    assert set(found.keys.tolist()) == {101, 250, 399}
    everything = engine.search(query, 300)
    order = [key for key in everything.keys.tolist() if key in (101, 250, 399)]
    assert found.keys.tolist() == order
    assert len(engine.search(query, 10, allowed=np.array([], np.int64)).keys) == 0


def test_deleted_documents_are_gone_before_and_after_compaction(
    kind: str, tmp_path: Path, random_passages: Make
) -> None:
    passages = random_passages(40)
    engine = create(kind, tmp_path)
    engine.add(range(40), passages)
    engine.commit()
    engine.delete(list(range(0, 40, 2)))
    assert engine.stats()["deleted"] == 20
    left = content(engine)
    assert [key for key, _ in left] == list(range(1, 40, 2))
    engine.compact()
    assert content(engine) == left
    engine.commit()
    assert engine.stats()["deleted"] == 0
    assert engine.stats()["vectors"] == sum(map(len, passages[1::2]))
    assert content(reopen(kind, tmp_path)) == left
    assert {path.name for path in tmp_path.iterdir()} == set(engine.files())
    with pytest.raises(NotFoundError, match="key 2"):
        engine.delete([1, 2])
    assert content(engine) == left


def test_what_was_committed_is_there_after_reopening_and_nothing_else(
    kind: str, tmp_path: Path, random_passages: Make
) -> None:
    passages = random_passages(30)
    engine = create(kind, tmp_path)
    engine.add(range(10), passages[:10])
    engine.delete([3])
    engine.commit()
    committed = content(engine)
    reader = reopen(kind, tmp_path)
    engine.add(range(10, 30), passages[10:])
    engine.delete([4])
    assert engine.count == 28
    assert content(reader) == committed
    assert content(reopen(kind, tmp_path)) == committed
    os.close(engine._columns._lock or -1)  # as a crash would: appended rows stay behind the valid ones
    again = reopen(kind, tmp_path)
    assert content(again) == committed
    again.add([50], passages[:1])
    again.commit()
    assert reopen(kind, tmp_path).keys().tolist() == [0, 1, 2, 4, 5, 6, 7, 8, 9, 50]
    for name, size in again.files().items():
        assert (tmp_path / name).stat().st_size == size


def test_a_reader_keeps_its_state_through_compaction(
    kind: str, tmp_path: Path, random_passages: Make
) -> None:
    engine = create(kind, tmp_path)
    engine.add(range(20), random_passages(20))
    engine.commit()
    reader = reopen(kind, tmp_path)
    query = random_passages(1, seed=5)[0]
    before = reader.search(query, 20)
    engine.delete(list(range(15)))
    engine.compact()
    engine.commit()
    after = reader.search(query, 20)
    assert after.keys.tolist() == before.keys.tolist()
    assert reopen(kind, tmp_path).count == 5


def test_what_was_not_committed_takes_no_space_after_closing(
    kind: str, tmp_path: Path, random_passages: Make
) -> None:
    engine = create(kind, tmp_path)
    engine.add(range(10), random_passages(10))
    engine.commit()
    committed, reader = content(engine), reopen(kind, tmp_path)
    engine.add(range(10, 90), random_passages(80, seed=2))
    engine.delete([3])
    engine.compact()
    engine.add([99], random_passages(1, seed=3))
    engine.close()
    assert content(reader) == committed == content(reopen(kind, tmp_path))
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert sizes == reader.files()


def test_closing_after_an_interrupted_commit_takes_nothing_away(
    kind: str, tmp_path: Path, random_passages: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state is replaced, and the interruption comes before the engine knows."""
    engine = create(kind, tmp_path)
    engine.add(range(5), random_passages(5))

    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(columns.Columns, "_remember_commit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            engine.commit()
    engine.close()
    assert reopen(kind, tmp_path).count == 5


def test_closing_leaves_the_rows_of_another_writer_alone(
    kind: str, tmp_path: Path, random_passages: Make
) -> None:
    first = create(kind, tmp_path)
    first.add(range(5), random_passages(5))
    first.commit()
    first.close()
    late = reopen(kind, tmp_path)
    second = reopen(kind, tmp_path)
    second.add(range(5, 20), random_passages(15, seed=2))
    second.commit()
    second.close()
    with pytest.raises(ConflictError, match="was changed after"):
        late.add([30], random_passages(1))
    late.close()
    assert reopen(kind, tmp_path).count == 20


@pytest.mark.parametrize("moment", ["append", "sync", "state"])
def test_a_full_disk_leaves_everything_as_it_was(
    kind: str, moment: str, tmp_path: Path, random_passages: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = create(kind, tmp_path)
    engine.add(range(10), random_passages(10))
    engine.commit()
    before = content(engine)

    def full(*arguments: Any, **options: Any) -> Any:
        raise OSError(28, "No space left on device")

    if moment == "append":
        monkeypatch.setattr(columns, "_write", full)
        with pytest.raises(StorageError, match="full"):
            engine.add([99], random_passages(1, seed=7))
        assert content(engine) == before
    else:
        engine.add([99], random_passages(1, seed=7))
        monkeypatch.setattr(*((columns, "_sync") if moment == "sync" else (json, "dump")), full)
        with pytest.raises(StorageError, match="full"):
            engine.commit()
    monkeypatch.undo()
    assert content(reopen(kind, tmp_path)) == before
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize(
    ("keys", "vectors", "says"),
    [
        ([7], [np.full((2, DIM), np.nan)], "Document 7 has a vector with NaN or infinity"),
        ([6, 7], [np.ones((2, DIM)), np.full((1, DIM), np.inf)], "Document 7 has a vector with NaN"),
        ([7], [np.full((1, DIM), 1e6)], "Document 7"),
        ([7], [np.ones((2, DIM + 1))], "Document 7 has vectors of shape"),
        ([7], [np.ones(DIM)], "Document 7 has vectors of shape"),
        ([7], [np.ones((0, DIM))], "Document 7 has no vectors"),
        ([1], [np.ones((1, DIM))], "already is a document with key 1"),
        ([7, 7], [np.ones((1, DIM))] * 2, "key 7 is given twice"),
        ([7, 8], [np.ones((1, DIM))], "2 keys for 1 documents"),
    ],
)
def test_bad_documents_are_refused_and_nothing_changes(
    kind: str, keys: list[int], vectors: list[NDArray[Any]], says: str, tmp_path: Path, random_passages: Make
) -> None:
    engine = create(kind, tmp_path)
    engine.add(range(5), random_passages(5))
    before = content(engine)
    with pytest.raises(NumColBERTError, match=says) as caught:
        engine.add(keys, [rows.astype(np.float32) for rows in vectors])
    assert isinstance(caught.value, InputError | UsageError)
    assert caught.value.hint
    assert content(engine) == before


@pytest.mark.parametrize("shape", [(3, DIM - 1), (DIM,), (0, DIM)])
def test_bad_queries_are_refused(kind: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    engine = create(kind, tmp_path)
    with pytest.raises(InputError, match="shape"):
        engine.search(np.ones(shape, np.float32), 3)
    with pytest.raises(InputError, match="NaN"):
        engine.search(np.full((1, DIM), np.nan, np.float32), 3)
    with pytest.raises(UsageError, match="k is 0"):
        engine.search(np.ones((1, DIM), np.float32), 0)


def test_a_second_writer_is_refused(kind: str, tmp_path: Path, random_passages: Make) -> None:
    first = create(kind, tmp_path)
    first.add([1], random_passages(1))
    first.commit()
    second = reopen(kind, tmp_path)
    with pytest.raises(ConflictError, match="being changed"):
        second.add([2], random_passages(1))
    first.add([3], random_passages(1))
    first.commit()
    first.close()
    with pytest.raises(ConflictError, match="was changed after"):
        second.add([2], random_passages(1))
    third = reopen(kind, tmp_path)
    third.add([2], random_passages(1))
    assert third.keys().tolist() == [1, 2, 3]
    with pytest.raises(ConflictError, match="already holds"):
        create(kind, tmp_path)


def test_damage_is_named(kind: str, tmp_path: Path, random_passages: Make) -> None:
    engine = create(kind, tmp_path)
    engine.add(range(5), random_passages(5))
    engine.commit()
    engine.close()
    (tmp_path / "ends.0").write_bytes(b"short")
    with pytest.raises(DamagedIndexError, match=r"ends\.0' has 5 bytes and should have 40"):
        reopen(kind, tmp_path)
    (tmp_path / "ends.0").unlink()
    with pytest.raises(DamagedIndexError, match="missing"):
        reopen(kind, tmp_path)
    state = tmp_path / "state.json"
    good = json.loads(state.read_text())
    for damaged in ("{", "[]", "{}", json.dumps({**good, "columns": {"keys": 3}})):
        state.write_text(damaged)
        with pytest.raises(DamagedIndexError, match="cannot be read"):
            reopen(kind, tmp_path)
    for name, column in good["columns"].items():
        (tmp_path / "ends.0").write_bytes(bytes(40))
        others = {other: value for other, value in good["columns"].items() if other != name}
        for columns_left in (others, {**others, name: {**column, "dtype": "|S1", "rows": 0}}):
            state.write_text(json.dumps({**good, "columns": columns_left}))
            with pytest.raises(DamagedIndexError, match=f"'{name}'"):
                reopen(kind, tmp_path)
    for name in good["facts"]:
        facts = {other: value for other, value in good["facts"].items() if other != name}
        state.write_text(json.dumps({**good, "facts": facts}))
        with pytest.raises(DamagedIndexError, match=f"'{name}'"):
            reopen(kind, tmp_path)
    state.write_text('{"engine": "other", "format": 1}')
    with pytest.raises(DamagedIndexError, match="'other'"):
        reopen(kind, tmp_path)
    with pytest.raises(NotFoundError, match="holds no engine"):
        reopen(kind, tmp_path / "elsewhere")


@pytest.mark.parametrize(("step", "fix"), [(-1, "build the index again"), (1, "--upgrade")])
def test_another_format_is_refused_with_the_fix(
    kind: str, step: int, fix: str, tmp_path: Path, random_passages: Make
) -> None:
    """Bytes that meant something else would be read without a sign that anything is wrong."""
    engine = create(kind, tmp_path)
    engine.add(range(5), random_passages(5))
    engine.commit()
    engine.close()
    state = json.loads((tmp_path / "state.json").read_text())
    (tmp_path / "state.json").write_text(json.dumps({**state, "format": state["format"] + step}))
    with pytest.raises(DamagedIndexError, match=f"format {state['format'] + step}") as refused:
        reopen(kind, tmp_path)
    assert fix in refused.value.hint


@pytest.mark.parametrize(
    ("kind", "column", "row", "value"),
    [
        ("flat", "ends", 3, 2**40),
        ("flat", "ends", 0, -5),
        ("flat", "deleted", 0, 99),
        ("plaid-4", "ends", 19, 7),
        ("plaid-4", "deleted", 0, -1),
        ("plaid-4", "codes", 5, 60_000),
        ("plaid-4", "list_offsets", 1, 2**40),
        ("plaid-4", "list_passages", 0, 20),
    ],
)
def test_a_wrong_number_in_a_file_is_refused_at_opening(
    kind: str, column: str, row: int, value: int, tmp_path: Path, random_passages: Make
) -> None:
    """A kernel that followed it would read past the end of an array."""
    engine = create(kind, tmp_path)
    engine.add(range(21), random_passages(21))
    engine.delete([4])
    if isinstance(engine, PlaidEngine):
        engine.compact()  # writes the lists
        engine.delete([5])
    engine.commit()
    engine.close()
    state = json.loads((tmp_path / columns.STATE).read_text())["columns"][column]
    numbers = np.memmap(tmp_path / state["file"], state["dtype"], "r+", shape=(state["rows"],))
    numbers[row] = value
    numbers.flush()
    with pytest.raises(DamagedIndexError, match="do not fit"):
        reopen(kind, tmp_path)


def test_threads_search_while_another_changes(
    kind: str, tmp_path: Path, random_passages: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMCOLBERT_THREADS", "2")
    passages = random_passages(400)
    engine = create(kind, tmp_path)
    engine.add(range(300), passages[:300])
    queries = random_passages(8, seed=5)
    fixed = np.arange(200)  # never touched by the writer
    expected = [engine.search(query, 5, allowed=fixed) for query in queries]
    wrong: list[Any] = []

    def read() -> None:
        try:
            for _ in range(5):
                for query, right in zip(queries, expected, strict=True):
                    found = engine.search(query, 5, allowed=fixed)
                    if found.keys.tolist() != right.keys.tolist():
                        wrong.append((found, right))
        except Exception as error:  # noqa: BLE001  (reported by the assertion below)
            wrong.append(error)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for step in range(10):
        engine.add(range(300 + 10 * step, 310 + 10 * step), passages[300 + 10 * step : 310 + 10 * step])
        engine.delete([200 + step])
        if step == 5:
            engine.compact()
        engine.commit()
    for reader in readers:
        reader.join()
    assert not wrong
