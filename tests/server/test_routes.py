from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.standin import StandIn

from numcolbert.api import NumColBERT
from numcolbert.server.app import create_app
from numcolbert.server.bounds import LARGEST_BODY

QUERY = "the SSD with over 500 GB"


def test_search_marks_what_satisfies(server: TestClient) -> None:
    answer = server.post("/v1/search", json={"query": QUERY, "k": 3}).json()
    condition = answer["conditions"][0]
    assert (condition["operator"], condition["quantity"]["text"]) == (">", "500 GB")
    verdicts = {hit["id"]: hit["satisfies"] for hit in answer["hits"]}
    assert verdicts == {"big": True, "small": False, "link": None}
    quantity = next(hit for hit in answer["hits"] if hit["id"] == "big")["quantities"][0]
    assert quantity["text"] == "1 TB"
    assert quantity["satisfies"] is True


def test_search_filters_verifies_and_switches_the_gate_off(server: TestClient) -> None:
    def ids(**options: object) -> list[str]:
        answer = server.post("/v1/search", json={"query": QUERY, **options})
        assert answer.status_code == 200, answer.text
        return [hit["id"] for hit in answer.json()["hits"]]

    assert set(ids(where="year >= 2021")) == {"big", "link"}
    assert ids(verify=True) == ["big"]
    assert set(ids(gate=False)) == {"big", "small", "link"}


def test_explain_adds_up(server: TestClient) -> None:
    answer = server.post("/v1/explain", json={"query": QUERY, "id": "big"}).json()
    assert sum(token["contribution"] for token in answer["tokens"]) == pytest.approx(
        answer["score"], abs=1e-3
    )
    assert answer["satisfies"] is True
    assert any(token["gate"] != 1 for token in answer["tokens"])
    assert answer["score"] != answer["score_without_gate"]


def test_documents_are_added_replaced_read_and_deleted(server: TestClient) -> None:
    made = server.post(
        "/v1/documents", json={"documents": [{"text": "A tape of 18 TB."}, {"id": "big", "text": "2 TB"}]}
    )
    assert made.status_code == 201
    assert (made.json()["added"], made.json()["replaced"]) == (1, 1)
    new_id = made.json()["ids"][0]
    assert server.get(f"/v1/documents/{new_id}").json()["text"] == "A tape of 18 TB."
    assert server.get("/v1/documents/big").json()["text"] == "2 TB"
    found = server.post("/v1/search", json={"query": "a tape", "k": 1}).json()["hits"][0]
    assert found["id"] == new_id
    assert server.delete(f"/v1/documents/{new_id}").json() == {"deleted": 1}
    gone = server.get(f"/v1/documents/{new_id}")
    assert gone.status_code == 404
    assert set(gone.json()) == {"code", "message", "hint"}


def test_a_job_reports_until_it_is_done(server: TestClient) -> None:
    started = server.post(
        "/v1/jobs", json={"documents": [{"text": f"Disk {i} holds {i} GB."} for i in range(1, 50)]}
    )
    assert started.status_code == 202
    id = started.json()["id"]
    with server.stream("GET", f"/v1/jobs/{id}/events") as events:
        lines = [line for line in events.iter_lines() if line.startswith("data: ")]
    assert '"state":"done"' in lines[-1]
    assert server.get(f"/v1/jobs/{id}").json()["result"] == {"added": 49, "replaced": 0}
    assert server.get("/v1/jobs").json()[0]["id"] == id
    assert server.get("/v1/index").json()["documents"] == 52


def test_a_failing_job_says_why(server: TestClient) -> None:
    id = server.post("/v1/jobs", json={"documents": [{"id": "x", "text": ""}]}).json()["id"]
    with server.stream("GET", f"/v1/jobs/{id}/events") as events:
        list(events.iter_lines())
    state = server.get(f"/v1/jobs/{id}").json()
    assert state["state"] == "failed"
    assert state["error"]["hint"]


def test_quantities(server: TestClient) -> None:
    answer = server.post("/v1/quantities", json={"text": "between 5 and 7 kg"}).json()
    assert answer["conditions"][0]["operator"] == "range"
    assert (answer["quantities"][0]["low"], answer["quantities"][0]["high"]) == (5, 7)


@pytest.mark.parametrize(
    ("route", "body", "status", "code"),
    [
        ("/v1/search", {"query": "  "}, 422, "bad_input"),
        ("/v1/search", {"query": "x" * 100_000}, 422, "bad_input"),
        ("/v1/search", {"query": "a", "k": 0}, 422, "bad_request"),
        ("/v1/search", {"query": "a", "limit": 5}, 422, "bad_request"),
        ("/v1/search", {"query": 7}, 422, "bad_request"),
        ("/v1/search", {"query": "a", "where": "year >>> 3"}, 400, "wrong_use"),
        ("/v1/search", {"query": "a", "where": "year < 500 parsecs"}, 400, "wrong_use"),
        ("/v1/explain", {"query": "a", "id": "nobody"}, 404, "not_found"),
        ("/v1/documents", {"documents": []}, 422, "bad_request"),
        ("/v1/documents", {"documents": [{"id": "", "text": "a"}]}, 422, "bad_input"),
        ("/v1/documents", {"documents": [{"text": "a"}] * 1001}, 422, "bad_input"),
        ("/v1/nothing", {}, 404, "no_route"),
        ("/v1/index", {}, 405, "http"),
    ],
)
def test_bad_requests_get_a_sentence_and_a_hint(
    server: TestClient, route: str, body: object, status: int, code: str
) -> None:
    answer = server.post(route, json=body)
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (status, code), problem
    assert problem["message"]
    assert problem["hint"]
    assert server.post("/v1/search", json={"query": QUERY}).status_code == 200


def test_a_wrong_method_is_told_the_right_one(server: TestClient) -> None:
    for method, route, takes in [
        ("GET", "/v1/search", "POST"),
        ("PUT", "/v1/search", "POST"),
        ("GET", "/v1/documents", "POST"),
        ("POST", "/v1/documents/big", "DELETE, GET"),
        ("DELETE", "/healthz", "GET"),
    ]:
        answer = server.request(method, route)
        assert (answer.status_code, answer.json()["code"]) == (405, "http"), route
        assert answer.headers["allow"] == takes
        assert f"'{route}' does not take {method}" in answer.json()["message"]
    assert server.get("/v1/nothing").json()["code"] == "no_route"
    assert server.get("/nothing").status_code == 404


def test_hints_name_no_options_of_the_command_line(server: TestClient) -> None:
    missing = server.delete("/v1/documents/nobody")
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    empty = server.post("/v1/documents", json={"documents": [{"text": " "}]})
    assert (empty.status_code, empty.json()["code"]) == (422, "bad_input")
    assert "--" not in missing.json()["hint"] + empty.json()["hint"]


def test_a_field_beside_the_metadata_is_told_its_place(server: TestClient) -> None:
    answer = server.post("/v1/documents", json={"documents": [{"text": "5 kg", "price": 5}]})
    assert answer.status_code == 422 and "under 'metadata'" in answer.json()["hint"]


def test_malformed_json_and_oversized_bodies(server: TestClient) -> None:
    for body in (b"{", b'{"query": "\xe9"}', b"[" * 100_000, b'{"k": ' + b"9" * 5000 + b"}"):
        broken = server.post("/v1/search", content=body, headers={"content-type": "application/json"})
        assert (broken.status_code, broken.json()["code"]) == (400, "bad_json")
    large = server.post("/v1/search", content=b"x", headers={"content-length": str(LARGEST_BODY + 1)})
    assert (large.status_code, large.json()["code"]) == (413, "too_large")


def test_a_body_that_is_not_declared_as_json_is_refused(server: TestClient) -> None:
    """So that a page elsewhere cannot write through a visitor's browser without asking it first."""
    body = b'{"documents": [{"text": "5 kg"}]}'
    answer = server.post("/v1/documents", content=body, headers={"content-type": "text/plain"})
    assert answer.status_code == 422
    assert "content-type" in answer.json()["hint"]


def test_a_body_that_hides_its_size_is_cut_off(server: TestClient) -> None:
    def endless() -> Iterator[bytes]:
        yield b'{"query": "'
        for _ in range(LARGEST_BODY // 2**20 + 1):
            yield b"x" * 2**20

    answer = server.post("/v1/search", content=endless(), headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_probes_metrics_and_request_ids(server: TestClient) -> None:
    assert server.get("/healthz").json() == {"status": "ok"}
    assert server.get("/readyz").status_code == 200
    answer = server.post("/v1/search", json={"query": QUERY}, headers={"x-request-id": "mine"})
    assert answer.headers["x-request-id"] == "mine"
    metrics = server.get("/metrics").text
    assert 'numcolbert_requests_total{method="POST",route="/v1/search",status="200"} 1' in metrics
    assert "numcolbert_documents 3" in metrics


def test_a_read_only_server_refuses_changes(tmp_path: Path) -> None:
    index = NumColBERT(StandIn()).index(["one 5 kg thing"], tmp_path / "idx")
    with TestClient(create_app(index, read_only=True)) as client:
        refused = client.post("/v1/documents", json={"documents": [{"text": "a"}]})
        assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
        assert client.get("/v1/index").json()["read_only"] is True


def test_an_unexpected_error_does_not_leak(server: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(server.app.state.live._current.index, "search", broken)  # type: ignore[attr-defined]
    answer = server.post("/v1/search", json={"query": QUERY})
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert answer.json()["hint"]


def test_the_page_and_its_parts_are_served(server: TestClient) -> None:
    page = server.get("/").text
    assert "NumColBERT" in page
    for part in ("app.js", "api.js", "view.js", "line.js", "style.css", "icon.svg"):
        assert server.get(f"/{part}").status_code == 200
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
