"""What the engines of others promise here: the same scores as ours, and the gate survives."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.standin import StandIn

import numcolbert
from numcolbert.api import NumColBERT
from numcolbert.errors import (
    ConflictError,
    DamagedIndexError,
    InputError,
    MissingDependencyError,
    NotFoundError,
    StorageError,
    UsageError,
)
from numcolbert.index import engines, fastplaid
from numcolbert.index.base import Engine
from numcolbert.index.flat import FlatEngine

DIM = 32
NEEDED = {"qdrant": "qdrant_client", "ray": "ray", "fastplaid": "fast_plaid"}
SETTINGS: dict[str, dict[str, Any]] = {
    "qdrant": {},
    "ray": {"shards": 3, "nbits": 8},
    "fastplaid": {"device": "cpu"},
}
Make = Callable[..., Any]


@pytest.fixture(params=NEEDED)
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    name = str(request.param)
    pytest.importorskip(NEEDED[name])
    yield name
    if name == "ray":
        import ray

        ray.shutdown()


@pytest.fixture
def engine(kind: str, tmp_path: Path) -> Iterator[Engine]:
    made = engines.create_engine(kind, tmp_path / kind, DIM, SETTINGS[kind])
    yield made
    made.close()


def scores(engine: Engine, query: Any, k: int = 500) -> dict[int, float]:
    found = engine.search(query, k)
    return dict(zip(found.keys.tolist(), found.scores.tolist(), strict=True))


def test_scores_are_maxsim_over_the_vectors_the_engine_holds(
    engine: Engine, clustered_passages: Make, maxsim: Make
) -> None:
    passages = clustered_passages(120)
    engine.add(range(120), passages)
    query = 3 * clustered_passages(1, seed=5)[0]
    pending = scores(engine, query)
    engine.commit()
    assert scores(engine, query) == pytest.approx(pending, rel=1e-5)
    assert sorted(pending) == list(range(120))
    for key, score in pending.items():
        assert score == pytest.approx(maxsim(query, engine.vectors(key)), rel=1e-4, abs=1e-4)
        assert engine.token_scores(query, key).max(axis=1).sum() == pytest.approx(score, rel=1e-4, abs=1e-4)


def test_scores_are_those_of_flat(
    kind: str, engine: Engine, tmp_path: Path, clustered_passages: Make
) -> None:
    flat = FlatEngine.create(tmp_path / "flat", DIM)
    for target in (flat, engine):
        target.add(range(400), clustered_passages(400))
        target.commit()
    query = 4 * clustered_passages(1, seed=5)[0]
    exact, found = scores(flat, query, 400), scores(engine, query, 10)
    rounding = 0.01 if kind == "ray" else 0.001  # eight bits a coordinate; half precision
    assert found == pytest.approx({key: exact[key] for key in found}, rel=rounding)
    assert len(set(found) & set(sorted(exact, key=lambda key: -exact[key])[:10])) >= 9
    flat.close()


def test_a_token_of_weight_five_counts_five_times(engine: Engine, clustered_passages: Make) -> None:
    engine.add(range(50), clustered_passages(50))
    engine.commit()
    query = clustered_passages(1, seed=5)[0]
    gated = query.copy()
    gated[0] *= 5
    plain, heavy, first = scores(engine, query), scores(engine, gated), scores(engine, query[:1])
    for key in range(50):
        assert heavy[key] == pytest.approx(plain[key] + 4 * first[key], rel=1e-4, abs=1e-4)


def test_only_allowed_keys_are_found(engine: Engine, clustered_passages: Make) -> None:
    engine.add(range(100, 140), clustered_passages(40))
    engine.delete([104])
    engine.commit()
    query = clustered_passages(1, seed=5)[0]
    for pending in (False, True):
        allowed = np.array([101, 104, 117, 7])
        assert sorted(engine.search(query, 10, allowed=allowed).keys.tolist()) == [101, 117]
        assert len(engine.search(query, 10, allowed=np.array([], np.int64)).keys) == 0
        assert len(engine.search(query, 1, allowed=allowed).keys) == 1
        if not pending:
            engine.add([200], clustered_passages(1, seed=8))


def test_what_is_refused_changes_nothing(engine: Engine, clustered_passages: Make) -> None:
    engine.add(range(10), clustered_passages(10))
    engine.commit()
    bad = clustered_passages(2, seed=3)
    bad[1][0, 0] = np.nan
    with pytest.raises(InputError, match="NaN"):
        engine.add([20, 21], bad)
    with pytest.raises(InputError, match="already is a document with key 3"):
        engine.add([20, 3], clustered_passages(2, seed=3))
    with pytest.raises(NotFoundError, match="key 99"):
        engine.delete([1, 99])
    with pytest.raises(NotFoundError, match="key 99"):
        engine.vectors(99)
    with pytest.raises(InputError, match="shape"):
        engine.search(np.ones((2, DIM + 1), np.float32), 3)
    with pytest.raises(UsageError, match="k is 0"):
        engine.search(np.ones((2, DIM), np.float32), 0)
    assert engine.keys().tolist() == list(range(10))
    assert engine.stats()["documents"] == engine.count == 10


def test_what_was_committed_is_there_again(
    kind: str, engine: Engine, tmp_path: Path, clustered_passages: Make
) -> None:
    engine.add(range(30), clustered_passages(30))
    engine.delete([3, 7])
    engine.compact()
    engine.commit()
    query = clustered_passages(1, seed=5)[0]
    before, vectors, total = scores(engine, query), engine.vectors(5), engine.stats()["vectors"]
    for name, size in engine.files().items():
        assert (tmp_path / kind / name).stat().st_size >= size
    engine.close()
    again = engines.open_engine(kind, tmp_path / kind)
    assert scores(again, query) == pytest.approx(before, rel=1e-5)
    assert np.array_equal(again.vectors(5), vectors)
    assert (again.count, again.dim, again.stats()["vectors"]) == (28, DIM, total)
    again.close()


def test_a_damaged_state_is_told(kind: str, engine: Engine, tmp_path: Path) -> None:
    engine.close()
    (tmp_path / kind / "state.json").write_text('{"kind": "other"}')
    with pytest.raises(DamagedIndexError, match=r"state\.json"):
        engines.open_engine(kind, tmp_path / kind)
    (tmp_path / kind / "state.json").unlink()
    with pytest.raises(NotFoundError, match="holds no engine"):
        engines.open_engine(kind, tmp_path / kind)


def test_an_index_lives_on_it(kind: str, tmp_path: Path) -> None:
    """Build, search, filter, explain, add, delete, compact, verify, reopen: all as with our own engines."""
    texts = [f"Drive {size} holds {size} GB." for size in range(100, 130)]
    model = NumColBERT(StandIn())
    flat = model.index(texts, tmp_path / "flat", engine="flat")
    moved = flat.copy(tmp_path / "moved", engine=kind, **SETTINGS[kind])
    query = "drives that hold 110 GB"
    assert [hit.id for hit in moved.search(query, 3)] == [hit.id for hit in flat.search(query, 3)]
    assert moved.search(query, 3)[0].score == pytest.approx(flat.search(query, 3)[0].score, rel=0.02)
    assert moved.explain(query, "10").score == pytest.approx(moved.search(query, 1)[0].score, rel=0.02)
    assert len(moved.search(query, 30, where="data > 120 GB")) == flat.count("data > 120 GB") == 9
    assert moved.add([{"id": "new", "text": "Drive new holds 110 GB."}]).added == 1
    moved.delete(["10"])
    assert moved.search("Drive new holds 110 GB.", 1)[0].id == "new"
    moved.compact()
    assert moved.verify() == []
    moved.close()
    with numcolbert.open(tmp_path / "moved", model=model.encoder) as again:
        assert again.info()["engine"] == kind
        assert len(again) == len(again.search(query, 40)) == 30
        assert "10" not in again
    built = model.index(texts, tmp_path / "built", engine=kind, **SETTINGS[kind])
    assert [hit.id for hit in built.search(query, 3)] == [hit.id for hit in flat.search(query, 3)]
    built.close()
    flat.close()


@pytest.mark.parametrize("name", NEEDED)
def test_a_missing_package_is_named_before_any_work(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "find_spec", lambda module: None)
    with pytest.raises(MissingDependencyError, match=f"'{name}' needs the package") as raised:
        NumColBERT(StandIn()).index(iter([]), tmp_path / "idx", engine=name)
    assert f"numcolbert[{name}]" in raised.value.hint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "setting", "said"),
    [
        ("qdrant", {"url": "localhost:6333"}, "no address"),
        ("qdrant", {"timeout": 0}, "timeout"),
        ("qdrant", {"colection": "a"}, "colection"),
        ("ray", {"shards": 0}, "shards"),
        ("ray", {"nbits": 3}, "nbits"),
        ("fastplaid", {"nbits": 3}, "nbits"),
        ("fastplaid", {"nprobe": 0}, "nprobe"),
    ],
)
def test_a_wrong_setting_is_refused(
    name: str, setting: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "find_spec", lambda module: object())
    with pytest.raises(UsageError, match=said):
        engines.check_settings(name, setting)


def test_copying_takes_vectors_as_they_are_and_refuses_itself(tmp_path: Path) -> None:
    texts = [{"id": f"d{size}", "text": f"Drive {size} holds {size} GB.", "size": size} for size in range(9)]
    index = NumColBERT(StandIn()).index(texts, tmp_path / "flat")
    index.delete(["d3"])
    with pytest.raises(UsageError, match="onto itself"):
        index.copy(tmp_path / "flat")
    with pytest.raises(ConflictError, match="already exists"):
        index.copy(index.copy(tmp_path / "other").path)
    plaid = index.copy(tmp_path / "other", engine="plaid", nbits=8, overwrite=True)
    assert [d.id for d in plaid.documents()] == [d.id for d in index.documents()]
    assert plaid.get("d4").metadata == {"size": 4}
    assert plaid.info()["engine"] == "plaid"
    assert plaid.search("Drive 5", 1)[0].quantities == index.search("Drive 5", 1)[0].quantities
    assert plaid.verify() == []


# -- Qdrant alone ------------------------------------------------------------------------------------------


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Qdrant's client in its own memory, where the engine believes to speak to a server."""
    client_module = pytest.importorskip("qdrant_client")
    client = client_module.QdrantClient(":memory:")
    monkeypatch.setattr(client, "close", lambda: None)
    monkeypatch.setattr(client_module, "QdrantClient", lambda **_: client)
    return client


def make_collection(
    client: Any, name: str, distance: str = "Dot", size: int = DIM, many: bool = True
) -> None:
    from qdrant_client import models

    several = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM) if many else None
    client.create_collection(
        name,
        vectors_config=models.VectorParams(
            size=size, distance=models.Distance(distance), multivector_config=several
        ),
    )


def create_on(server: Any, folder: Path, **settings: Any) -> Engine:
    return engines.create_engine("qdrant", folder, DIM, {"url": "http://127.0.0.1:6333", **settings})


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"distance": "Cosine"}, "compares by Cosine, which undoes the gate"),
        ({"distance": "Euclid"}, "compares by Euclid"),
        ({"size": 8}, "vectors of 8 numbers"),
        ({"many": False}, "one vector a point"),
    ],
)
def test_an_unsuitable_collection_is_refused(
    server: Any, tmp_path: Path, wrong: dict[str, Any], said: str
) -> None:
    make_collection(server, "mine", **wrong)
    with pytest.raises(UsageError, match=said) as raised:
        create_on(server, tmp_path / "new", collection="mine")
    assert "distance Dot" in raised.value.hint
    create_on(server, tmp_path / "old", collection="later").close()
    server.delete_collection("later")
    make_collection(server, "later", **wrong)
    with pytest.raises(UsageError, match=said):
        engines.open_engine("qdrant", tmp_path / "old")


def test_a_collection_with_points_is_never_taken_over(
    server: Any, tmp_path: Path, clustered_passages: Make
) -> None:
    make_collection(server, "mine")
    first = create_on(server, tmp_path / "first", collection="mine")
    first.add([1], clustered_passages(1))
    first.commit()
    with pytest.raises(ConflictError, match="already holds points"):
        create_on(server, tmp_path / "second", collection="mine")
    assert first.count == 1
    server.delete_collection("mine")
    with pytest.raises(DamagedIndexError, match="no collection 'mine'"):
        engines.open_engine("qdrant", tmp_path / "first")


def test_a_server_filters_itself_and_gets_large_documents_in_parts(
    server: Any, tmp_path: Path, clustered_passages: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("numcolbert.index.qdrant._NUMBERS_A_REQUEST", 20 * DIM)
    engine = create_on(server, tmp_path / "q")
    engine.add(range(30), clustered_passages(30))
    query = clustered_passages(1, seed=5)[0]
    found = engine.search(query, 5, allowed=np.array([2, 4, 99]))
    everything = scores(engine, query)
    assert dict(zip(found.keys.tolist(), found.scores.tolist(), strict=True)) == {
        key: everything[key] for key in (2, 4)
    }
    assert engine.count == 30


def test_a_failure_half_way_leaves_nothing_behind(
    server: Any, tmp_path: Path, clustered_passages: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    from qdrant_client.http.exceptions import ResponseHandlingException

    monkeypatch.setattr("numcolbert.index.qdrant._NUMBERS_A_REQUEST", DIM)
    engine = create_on(server, tmp_path / "q")
    upsert, calls = server.upsert, []

    def failing(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise ResponseHandlingException(OSError("the line is cut"))
        return upsert(*arguments, **options)

    monkeypatch.setattr(server, "upsert", failing)
    with pytest.raises(StorageError, match="does not answer: the line is cut"):
        engine.add(range(5), clustered_passages(5))
    assert engine.count == engine.stats()["vectors"] == 0


def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    pytest.importorskip("qdrant_client")
    with pytest.raises(StorageError, match=r"Qdrant server at http://127\.0\.0\.1:9 does not answer"):
        engines.create_engine("qdrant", tmp_path / "q", DIM, {"url": "http://127.0.0.1:9"})


def test_the_key_of_a_server_is_not_written_down(
    server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QDRANT_API_KEY", "secret-word")
    create_on(server, tmp_path / "q").close()
    state = (tmp_path / "q" / "state.json").read_text()
    assert "secret-word" not in state
    assert json.loads(state)["settings"]["url"] == "http://127.0.0.1:6333"


def test_embedded_files_belong_to_one_process(tmp_path: Path) -> None:
    pytest.importorskip("qdrant_client")
    engine = engines.create_engine("qdrant", tmp_path / "q", DIM, {})
    script = (
        "from pathlib import Path; from numcolbert.index import engines; from numcolbert.errors import *\n"
        f"try: engines.open_engine('qdrant', Path({str(tmp_path / 'q')!r}))\n"
        "except ConflictError as error: print(error.message)"
    )
    other = [sys.executable, "-c", script]
    assert "open in another process" in subprocess.run(other, capture_output=True, text=True).stdout
    engine.close()
    assert subprocess.run(other, capture_output=True, text=True).stdout == ""


# -- fast-plaid alone --------------------------------------------------------------------------------------


@pytest.mark.skipif(not importlib.util.find_spec("fast_plaid"), reason="needs fast-plaid")
def test_new_documents_are_found_before_fast_plaid_has_them(
    tmp_path: Path, clustered_passages: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fastplaid, "_SMALLEST", 20)
    engine = engines.create_engine("fastplaid", tmp_path / "f", DIM, SETTINGS["fastplaid"])
    engine.add(range(300), clustered_passages(300))
    engine.commit()
    assert engine.stats()["copied"] == 300
    new = clustered_passages(1, seed=77)
    engine.add([900], new)
    engine.commit()
    assert engine.stats()["copied"] == 300
    assert engine.search(new[0], 1).keys.tolist() == [900]
    best = int(engine.search(clustered_passages(1, seed=5)[0], 1).keys[0])
    engine.delete([best])
    assert best not in engine.search(clustered_passages(1, seed=5)[0], 50).keys
    engine.compact()
    engine.commit()
    assert engine.stats()["copied"] == engine.count == 300
    engine.close()
