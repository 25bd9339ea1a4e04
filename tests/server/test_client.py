"""The client against a real server on a loopback port."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from tests.serving import PATIENCE, serving
from tests.standin import StandIn

from numcolbert.api import NumColBERT
from numcolbert.cli.serve import listen
from numcolbert.errors import ConflictError, NumColBERTError
from numcolbert.server import answers, schemas
from numcolbert.server.app import create_app
from numcolbert.server.client import Client, ServerError
from numcolbert.types import Document


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    index = NumColBERT(StandIn()).index([{"id": "a", "text": "The disk holds 1 TB."}], tmp_path / "idx")
    with serving(create_app(index)) as running:
        yield Client(running.url, timeout=PATIENCE)


def test_everything_the_client_can_do(client: Client) -> None:
    found = client.search("disk over 500 GB")
    (hit,) = found
    assert (found.conditions[0].quantity.unit, hit.quantities[0].text) == ("gigabyte", "1 TB")
    assert (hit.id, hit.satisfies) == ("a", True)
    assert client.explain("disk over 500 GB", "a").score == pytest.approx(hit.score, abs=1e-3)
    assert client.quantities("5 kg").quantities[0].dimension == "mass"
    assert client.add(["A tape of 18 TB.", {"id": "a", "text": "The disk holds 2 TB."}]).replaced == 1
    assert client.get("a").text == "The disk holds 2 TB."
    job = client.start_job([f"Disk {i} holds {i} GB." for i in range(1, 9)])
    assert list(client.follow(job.id))[-1].state == "done"
    assert client.job(job.id).state == "done"
    assert client.info()["documents"] == 10
    assert client.delete("a") == 1


def test_errors_arrive_as_errors(client: Client) -> None:
    with pytest.raises(ServerError, match="nobody") as caught:
        client.get("nobody")
    assert (caught.value.status, caught.value.server_code) == (404, "not_found")
    with pytest.raises(ServerError, match="not an http address"):
        Client("ftp://x")


def test_documents_are_written_as_for_the_library(client: Client) -> None:
    added = client.add(
        [
            {"id": 7, "text": "A tape of 18 TB.", "price": 5},
            {"id": "b", "text": "A card of 1 GB.", "year": 2020, "metadata": {"price": 9}},
            Document("c", "A stick of 2 GB.", {"price": 7}),
        ]
    )
    assert added.ids == ("7", "b", "c")
    assert client.get("b").metadata == {"year": 2020, "price": 9}
    assert {hit.id for hit in client.search("disk", where="price < 8 USD")} == {"7", "c"}
    for wrong in ("one text", {"text": "one document"}, [5], [{"text": "x", "day": date(2020, 1, 1)}]):
        with pytest.raises(NumColBERTError) as caught:
            client.add(wrong)  # type: ignore[arg-type]
        assert caught.value.hint


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.0 200 OK\r\n\r\n<html>",
        b"HTTP/1.0 500 No\r\n\r\noh",
        b"HTTP/1.0 200 OK\r\n\r\n[]",
        b"SSH-2.0\r\n",
    ],
)
def test_something_else_answers(answer: bytes) -> None:
    listener = listen("127.0.0.1", 0)

    def once() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(answer)

    thread = threading.Thread(target=once)
    thread.start()
    with pytest.raises(ServerError) as caught:
        Client(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=PATIENCE).info()
    thread.join()
    listener.close()
    assert caught.value.server_code == "http"


def test_a_port_that_is_none() -> None:
    with pytest.raises(ServerError, match="not an http address"):
        Client("http://127.0.0.1:99999")


def test_nobody_answers() -> None:
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    listener.close()
    with pytest.raises(ServerError, match="No server answers"):
        Client(f"http://127.0.0.1:{port}").info()


def test_a_port_in_use_is_told() -> None:
    listener = listen("127.0.0.1", 0)
    listener.listen()
    with pytest.raises(ConflictError, match="listen"):
        listen("127.0.0.1", listener.getsockname()[1])
    listener.close()


@pytest.mark.parametrize(
    ("ours", "wire"),
    [
        (answers.FoundQuantity, schemas.QuantityOut),
        (answers.FoundCondition, schemas.ConditionOut),
        (answers.FoundHit, schemas.HitOut),
        (answers.FoundHits, schemas.SearchResponse),
        (answers.ExplainedToken, schemas.TokenOut),
        (answers.ExplainedScore, schemas.ExplainResponse),
        (answers.ReadText, schemas.QuantitiesResponse),
        (answers.StoredDocument, schemas.DocumentOut),
        (answers.Added, schemas.AddResponse),
        (answers.JobState, schemas.JobOut),
    ],
)
def test_the_client_knows_every_field_of_an_answer(ours: type, wire: type[schemas.Wire]) -> None:
    assert {field.name for field in dataclasses.fields(ours)} == set(wire.model_fields)


def test_answers_of_other_versions_are_read() -> None:
    newer = {"id": "a", "text": "b", "metadata": {}, "invented_later": 1}
    assert answers.read(answers.StoredDocument, newer) == answers.StoredDocument("a", "b", {})
    older = {"ids": ["a"], "added": 1}
    assert answers.read(answers.Added, older) == answers.Added(("a",), 1, None)  # type: ignore[arg-type]
