"""The library as its front page shows it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from tests.standin import StandIn

import numcolbert
from numcolbert.api import NumColBERT
from numcolbert.errors import NotFoundError, NumColBERTError
from numcolbert.server.client import _wire


def test_the_front_page(tmp_path: Path) -> None:
    model = NumColBERT(StandIn())
    index = model.index(["The SSD holds 1 TB.", "The SSD holds 256 GB."], tmp_path / "idx")
    hits = index.search("SSDs with more than 500 GB", verify=True)
    assert [hit.id for hit in hits] == ["0"]
    index.close()
    with numcolbert.open(tmp_path / "idx", model=StandIn()) as again:
        assert len(again) == 2 and "1" in again and "7" not in again
        assert again.get("1").text == "The SSD holds 256 GB."
        assert again.info()["documents"] == 2


def test_public_names_are_there() -> None:
    for name in numcolbert.__all__:
        assert getattr(numcolbert, name)
    with pytest.raises(AttributeError):
        _ = numcolbert.nothing


def test_a_missing_index_is_told_before_a_model_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no index"):
        numcolbert.open(tmp_path / "nowhere")


def test_results_and_explanations_are_plain_data(tmp_path: Path) -> None:
    with NumColBERT(StandIn()).index([{"id": "a", "text": "5 kg", "n": 1}], tmp_path / "idx") as index:
        json.dumps(dataclasses.asdict(index.search("over 3 kg")))
        json.dumps(dataclasses.asdict(index.explain("over 3 kg", "a")))
        json.dumps(index.info())


WRONG = {
    "one text as documents": lambda model, index: index.add("The disk holds 1 TB."),
    "one document as documents": lambda model, index: index.add({"id": "z", "text": "5 kg"}),
    "no documents": lambda model, index: index.add(None),
    "a file as documents": lambda model, index: model.index("docs.jsonl", index.path.parent / "new"),
    "one passage as passages": lambda model, index: model.rerank("q", "5 kg"),
    "one query as queries": lambda model, index: index.search_many("disk"),
    "one text to encode": lambda model, index: model.encode_queries("disk"),
    "one id as ids": lambda model, index: index.delete("p1"),
    "no id": lambda model, index: index.get(None),
    "a list as id": lambda model, index: index.explain("q", ["p1"]),
    "no query": lambda model, index: index.search(None),
    "a number among queries": lambda model, index: index.search_many(["q", 5]),
    "half a hit": lambda model, index: index.search("q", k=1.5),
    "k as a text": lambda model, index: index.search("q", k="3", verify=True),
    "a filter as a mapping": lambda model, index: index.search("q", where={"year": 2020}),
    "a number as path": lambda model, index: model.index(["5 kg"], 5),
    "no index": lambda model, index: numcolbert.open(None),  # type: ignore[arg-type]
    "a number as model": lambda model, index: NumColBERT.load(5),  # type: ignore[arg-type]
    "a list as an index's model": lambda model, index: numcolbert.open(index.path, model=["m"]),  # type: ignore[arg-type]
    "a list as target": lambda model, index: index.export(["docs.jsonl"]),
    "a list as format": lambda model, index: index.export(index.path.parent / "d", format=["jsonl"]),
    "no folder for a copy": lambda model, index: index.copy(None),
    "batches of a text": lambda model, index: model.encode_documents(["5 kg"], batch_size="x"),
    "empty batches": lambda model, index: index.add(["5 kg"], batch_size=0),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_wrong_argument_is_refused_in_a_sentence(tmp_path: Path, mistake: str) -> None:
    model = NumColBERT(StandIn())
    with model.index([{"id": "p1", "text": "5 kg"}, {"id": "p", "text": "x"}], tmp_path / "idx") as index:
        with pytest.raises(NumColBERTError) as caught:
            WRONG[mistake](model, index)
        assert caught.value.hint
        assert len(index) == 2


def test_a_whole_number_is_an_id_everywhere(tmp_path: Path) -> None:
    with NumColBERT(StandIn()).index([{"id": 7, "text": "5 kg"}], tmp_path / "idx") as index:
        assert index.get(7).id == index.explain("kg", 7).id == "7"  # type: ignore[arg-type]
        assert index.delete([7]) == 1  # type: ignore[list-item]


def test_many_queries_may_come_from_a_generator_or_an_array(tmp_path: Path) -> None:
    with NumColBERT(StandIn()).index(["5 kg", "6 m"], tmp_path / "idx") as index:
        for queries in ((word for word in ("kg", "m")), np.array(["kg", "m"])):
            assert [found.query for found in index.search_many(queries)] == ["kg", "m"]  # type: ignore[arg-type]


def test_a_field_called_metadata_is_kept_whatever_it_holds(tmp_path: Path) -> None:
    documents = [
        {"id": "a", "text": "5 kg", "metadata": "raw", "year": 1},
        {"id": "b", "text": "5 kg", "metadata": {"year": 2}},
        {"id": "c", "text": "5 kg", "metadata": None},
    ]
    with NumColBERT(StandIn()).index(documents, tmp_path / "idx") as index:
        kept = [dict(index.get(id).metadata) for id in "abc"]
    assert kept == [{"metadata": "raw", "year": 1}, {"year": 2}, {}]
    assert [_wire(document)["metadata"] for document in documents] == kept
