"""The document store: what goes in comes out, by id and by key, as of any generation."""

from __future__ import annotations

from pathlib import Path

import pytest

from numcolbert.errors import DamagedIndexError, NotFoundError
from numcolbert.index.store import Selection, Store
from numcolbert.quantities import extract
from numcolbert.types import Document


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "documents.sqlite")


def put(store: Store, *documents: Document) -> list[int | None]:
    with store.transaction() as generation:
        first = store.next_key()
        store.set_next_key(first + len(documents))
        return [
            store.insert(generation, first + i, document, extract(document.text))
            for i, document in enumerate(documents)
        ]


def test_a_document_comes_back_with_text_metadata_and_quantities(store: Store) -> None:
    document = Document(
        "a", "It weighs 5 kg, from 2 to 3 km away.", {"year": 2020, "tags": ["x", "ü"], "n": None}
    )
    put(store, document)
    found = store.fetch([0])[0]
    assert found.document == document
    assert found.quantities == tuple(extract(document.text))


def test_an_id_that_is_put_again_gets_a_new_key_and_the_old_one_is_gone(store: Store) -> None:
    put(store, Document("a", "one"), Document("b", "two"))
    assert put(store, Document("a", "three")) == [0]
    now = store.generation()
    assert store.key_of("a", now) == 2
    assert store.keys(now).tolist() == [1, 2]
    assert (store.count(), store.removed()) == (2, 1)


def test_keys_are_never_given_out_twice(store: Store) -> None:
    put(store, Document("a", "one"))
    with store.transaction() as generation:
        store.remove(generation, "a")
    store.purge()
    put(store, Document("a", "two"))
    assert store.key_of("a", store.generation()) == 1


def test_an_older_generation_still_shows_what_it_showed(store: Store) -> None:
    put(store, Document("a", "one"), Document("b", "two"))
    before = store.generation()
    put(store, Document("a", "three"), Document("c", "four"))
    with store.transaction() as generation:
        store.remove(generation, "b")
    texts = {s.document.id: s.document.text for s in store.scan(before)}
    assert texts == {"a": "one", "b": "two"}
    assert {s.document.id for s in store.scan(store.generation())} == {"a", "c"}
    assert store.find("b", before) == 1 and store.find("b", store.generation()) is None


def test_purging_keeps_what_is_there(store: Store) -> None:
    put(store, Document("a", "5 kg"), Document("b", "6 kg"))
    put(store, Document("a", "7 kg"))
    store.purge()
    now = store.generation()
    assert [s.document.text for s in store.scan(now)] == ["6 kg", "7 kg"]
    assert len(store.select(Selection("d.key IN (SELECT key FROM quantities)", ()), now)) == 2
    assert store.removed() == 0


def test_a_transaction_that_fails_leaves_nothing(store: Store) -> None:
    put(store, Document("a", "one"))
    before = store.generation()
    with pytest.raises(RuntimeError), store.transaction() as generation:
        store.insert(generation, 7, Document("b", "two"), [])
        store.remove(generation, "a")
        raise RuntimeError
    assert store.generation() == before
    assert [s.document.id for s in store.scan(before)] == ["a"]
    assert store.count() == 1


def test_scanning_pages_through_all_documents_in_order(store: Store) -> None:
    put(store, *(Document(f"d{i}", f"text {i}") for i in range(25)))
    assert [s.key for s in store.scan(store.generation(), page=4)] == list(range(25))


def test_an_unknown_id_is_named(store: Store) -> None:
    with pytest.raises(NotFoundError, match="'nobody'"):
        store.key_of("nobody", 0)
    assert store.find("\ud800", 0) is None


def test_metadata_fields_are_known_by_name(store: Store) -> None:
    put(store, Document("a", "x", {"year": 1, "odd name": 2}))
    assert store.fields() == {"year", "odd name"}


def test_a_reader_sees_a_writer_without_waiting(tmp_path: Path, store: Store) -> None:
    reader = Store.open(store.path)
    with store.transaction() as generation:
        store.insert(generation, 0, Document("a", "x"), [])
        assert reader.count() == 0
    assert reader.count() == 1


@pytest.mark.parametrize("content", [b"", b"not a database at all, but long enough to be read as one" * 50])
def test_a_file_that_is_no_store_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "documents.sqlite"
    path.write_bytes(content)
    with pytest.raises(DamagedIndexError):
        Store.open(path)


def test_a_missing_file_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(DamagedIndexError, match="missing"):
        Store.open(tmp_path / "documents.sqlite")
    assert not list(tmp_path.iterdir())
