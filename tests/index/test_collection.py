"""An index that is changed in any order equals one that is built at once."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.properties import examples
from tests.standin import StandIn

from numcolbert.api import Index, NumColBERT
from numcolbert.api import open as open_index
from numcolbert.errors import ConflictError, InputError, ModelError, NotFoundError, UsageError
from numcolbert.types import Document

QUERIES = ("red truck over 30 kg", "blue boat of 12 m")


def scores(index: Index, query: str) -> dict[str, float]:
    return {hit.id: hit.score for hit in index.search(query, k=50)}


ids = st.sampled_from("abcdefgh")
texts = st.builds(
    "{} {} of {} {}".format,
    st.sampled_from(["red", "blue", "old"]),
    st.sampled_from(["truck", "boat", "house"]),
    st.integers(1, 40),
    st.sampled_from(["kg", "m", "dollars"]),
)
documents = st.builds(Document, ids, texts, st.fixed_dictionaries({"year": st.integers(2000, 2005)}))


class Changes(RuleBasedStateMachine):
    """Random adds, replacements, deletions, compactions and reopenings, beside a dictionary."""

    engine: ClassVar[dict[str, Any]] = {"engine": "flat"}
    rounding = 0.005
    """By how much a score may differ from that in a fresh build."""

    @initialize(first=st.lists(documents, max_size=4))
    def build(self, first: list[Document]) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.model = NumColBERT(StandIn())
        self.index = self.model.index(first, self.folder / "idx", **self.engine)
        self.expected = {document.id: document for document in first}

    @rule(batch=st.lists(documents, min_size=1, max_size=4))
    def add(self, batch: list[Document]) -> None:
        report = self.index.add(batch)
        assert report.added + report.replaced == len(batch)
        self.expected.update({document.id: document for document in batch})

    @rule(batch=st.lists(ids, min_size=1, max_size=3, unique=True))
    def delete(self, batch: list[str]) -> None:
        if all(id in self.expected for id in batch):
            assert self.index.delete(batch) == len(batch)
            for id in batch:
                del self.expected[id]
        else:
            with pytest.raises(NotFoundError):
                self.index.delete(batch)

    @rule(document=documents)
    def refuse(self, document: Document) -> None:
        with pytest.raises(InputError):
            self.index.add([document, Document("broken", "  ")])

    @rule()
    def compact(self) -> None:
        self.index.compact()
        assert self.index.info()["deleted"] == 0

    @rule()
    def reopen(self) -> None:
        self.index.close()
        self.index = open_index(self.folder / "idx", model=self.model.encoder)

    def equals_a_fresh_build(self) -> None:
        everything = list(self.expected.values())
        with self.model.index(everything, self.folder / "fresh", **self.engine) as fresh:
            for query in QUERIES:
                ours, theirs = scores(self.index, query), scores(fresh, query)
                assert ours == pytest.approx(theirs, abs=self.rounding)
            assert self.index.info()["engine"] == self.engine["engine"]

    @invariant()
    def holds_what_it_should(self) -> None:
        assert {d.id: d for d in self.index.documents()} == self.expected
        assert len(self.index) == len(self.expected)
        wanted = sum(d.metadata["year"] >= 2003 for d in self.expected.values())
        if self.index.fields():
            assert self.index.count("year >= 2003") == wanted

    def teardown(self) -> None:
        if not hasattr(self, "index"):
            return
        self.equals_a_fresh_build()
        assert self.index.verify() == []
        self.index.close()
        shutil.rmtree(self.folder)


class PlaidChanges(Changes):
    """Centroids of a grown index are others than those of a fresh one, so rounding differs a little."""

    engine: ClassVar[dict[str, Any]] = {"engine": "plaid", "nbits": 8}
    rounding = 0.1


for machine in (Changes, PlaidChanges):
    machine.TestCase.settings = examples(12, stateful_step_count=10, suppress=tuple(HealthCheck))
TestChanges = Changes.TestCase
TestPlaidChanges = PlaidChanges.TestCase


@pytest.fixture
def index(tmp_path: Path) -> Index:
    texts = ["a red truck of 30 kg", "a blue boat of 12 m", "an old house of 5 rooms"]
    return NumColBERT(StandIn()).index(texts, tmp_path / "idx")


def test_texts_without_ids_are_numbered_and_the_numbers_go_on(index: Index) -> None:
    assert [d.id for d in index.documents()] == ["0", "1", "2"]
    index.add(["one more"])
    assert index.get("3").text == "one more"


def test_a_number_that_someone_chose_as_an_id_is_not_replaced_by_accident(index: Index) -> None:
    index.add([Document("4", "chosen by hand")])  # takes key 3, so the next text would become "4"
    with pytest.raises(ConflictError, match="'4'"):
        index.add(["a text without an id"])
    assert index.get("4").text == "chosen by hand"


def test_within_one_call_the_last_of_an_id_wins(index: Index) -> None:
    report = index.add([Document("x", "first 1 kg"), Document("x", "second 2 kg")])
    assert (report.added, report.replaced) == (1, 1)
    assert index.get("x").text == "second 2 kg"
    assert sum(hit.id == "x" for hit in index.search("second 2 kg", k=10)) == 1


def test_a_refused_document_leaves_the_index_as_it_was(index: Index) -> None:
    before = [d.id for d in index.documents()]
    bad: list[Any] = [
        {"id": "x", "text": ""},
        {"id": "", "text": "text"},
        {"id": ["x"], "text": "text"},
        {"id": "x"},
        {"id": "x", "text": "text", "price": float("nan")},
        {"id": "x", "text": "text", "thing": object()},
        {"id": "x", "text": "half a character \ud800"},
        17,
    ]
    for item in bad:
        with pytest.raises(InputError):
            index.add([{"id": "good", "text": "this one is fine"}, item])
        assert [d.id for d in index.documents()] == before
    report = index.add([{"id": "good", "text": "this one is fine"}, *bad], skip_bad=True)
    assert (report.added, report.skipped) == (1, len(bad))
    assert index.verify() == []


def test_a_bad_document_is_found_before_anything_is_encoded(index: Index) -> None:
    assert isinstance(index.encoder, StandIn)
    before = index.encoder.encoded
    with pytest.raises(InputError):
        index.add([*(f"text {i}" for i in range(600)), ""])
    assert index.encoder.encoded == before


def test_vectors_that_are_no_numbers_are_refused(tmp_path: Path, index: Index) -> None:
    class Broken(StandIn):
        def _vector(self, token: str) -> Any:
            return super()._vector(token) * (float("nan") if token == "poison" else 1)

    index.encoder = Broken()
    with pytest.raises(InputError, match="unusable vectors"):
        index.add(["fine", "poison"])
    assert len(index) == 3


def test_deleting_an_unknown_id_deletes_nothing(index: Index) -> None:
    with pytest.raises(NotFoundError, match="'nobody'"):
        index.delete(["0", "nobody"])
    assert "0" in index
    assert index.delete(["0", "nobody"], ignore_missing=True) == 1
    assert "0" not in index


def test_another_model_is_refused(index: Index) -> None:
    with pytest.raises(ModelError, match="'stand-in'"):
        open_index(index.path, model=StandIn(name="other"))


def test_a_second_writer_is_told_who_writes(index: Index) -> None:
    from numcolbert.index.lock import writing

    with writing(index.path), pytest.raises(ConflictError, match="process"):
        index.add(["text"])
    index.add(["text"])


def test_a_reader_keeps_its_view_until_it_refreshes(index: Index) -> None:
    reader = open_index(index.path, model=StandIn())
    index.delete(["1"])
    index.add([Document("0", "a green truck of 99 kg")])
    assert reader.search("blue boat of 12 m", k=1)[0].id == "1"
    assert reader.get("0").text == "a red truck of 30 kg"
    assert reader.refresh() and not reader.refresh()
    assert "1" not in reader and reader.get("0").text == "a green truck of 99 kg"


def test_an_index_that_was_built_anew_is_not_written_to_by_old_handles(index: Index) -> None:
    NumColBERT(StandIn()).index(["something else"], index.path, overwrite=True).close()
    assert index.search("blue boat", k=1)[0].id == "1", "an open index outlives its replacement"
    with pytest.raises(ConflictError, match="built anew"):
        index.add(["text"])


def test_an_index_without_documents_can_be_searched_and_filled(tmp_path: Path) -> None:
    index = NumColBERT(StandIn()).index([], tmp_path / "idx")
    assert list(index.search("anything")) == []
    index.add(["a red truck"])
    assert index.search("truck")[0].id == "0"


def test_a_closed_index_says_so(index: Index) -> None:
    index.close()
    for use in (lambda: index.get("0"), lambda: index.search("truck"), lambda: list(index.documents())):
        with pytest.raises(UsageError, match="closed"):
            use()


@pytest.mark.parametrize("k", [0, -1])
def test_k_must_be_positive(index: Index, k: int) -> None:
    with pytest.raises(UsageError):
        index.search("truck", k=k)
