"""The library as its front page shows it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from tests.standin import StandIn

import numcolbert
from numcolbert.api import NumColBERT
from numcolbert.errors import NotFoundError


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
