from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.standin import StandIn

from numcolbert.api import NumColBERT
from numcolbert.server.app import create_app

DOCUMENTS = [
    {"id": "big", "text": "The SSD holds 1 TB of data.", "year": 2022},
    {"id": "small", "text": "The SSD holds 256 GB of data.", "year": 2020},
    {"id": "link", "text": "The link moves 600 Mbps.", "year": 2021},
]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TestClient]:
    index = NumColBERT(StandIn()).index(DOCUMENTS, tmp_path / "idx")
    with TestClient(create_app(index, examples=["SSD over 500 GB"]), raise_server_exceptions=False) as client:
        yield client
