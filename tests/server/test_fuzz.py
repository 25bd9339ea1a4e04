"""Whatever is sent, the server answers with what it promises and never with a 500."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st
from tests.properties import examples
from tests.standin import StandIn

from numcolbert.api import NumColBERT
from numcolbert.server.app import create_app

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
FUZZ = examples(60, suppress=(HealthCheck.function_scoped_fixture,))


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    documents = [{"id": "a", "text": "The disk holds 1 TB.", "year": 2020}, "A tape of 18 TB."]
    index = NumColBERT(StandIn()).index(documents, tmp_path_factory.mktemp("fuzz") / "idx")
    with TestClient(create_app(index), raise_server_exceptions=False) as client:
        yield client


def values(schema: dict[str, Any], schemas: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that fit a schema of the OpenAPI document."""
    if "$ref" in schema:
        return values(schemas[schema["$ref"].rsplit("/", 1)[-1]], schemas)
    if "anyOf" in schema:
        return st.one_of(*(values(option, schemas) for option in schema["anyOf"]))
    match schema.get("type"):
        case "object" if "properties" in schema:
            needed = {
                n: values(f, schemas) for n, f in schema["properties"].items() if n in schema["required"]
            }
            free = {
                n: values(f, schemas) for n, f in schema["properties"].items() if n not in schema["required"]
            }
            return st.fixed_dictionaries(needed, optional=free)
        case "object":
            return st.dictionaries(st.text(), JSON, max_size=3)
        case "array":
            return st.lists(values(schema["items"], schemas), min_size=schema.get("minItems", 0), max_size=3)
        case "integer":
            return st.integers(schema.get("minimum"), schema.get("maximum"))
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case _:
            return st.text() | st.sampled_from(
                ["a", "year >= 2020", "over 5 kg", "1e400 km", "-0 °C", "\ud800"]
            )


NONE = object()


def check(client: TestClient, method: str, path: str, body: Any = NONE) -> None:
    """`body` is sent as Python writes it: Infinity and lone surrogates included."""
    content = body if isinstance(body, bytes) else b"" if body is NONE else json.dumps(body).encode()
    answer = client.request(method, path, content=content, headers={"content-type": "application/json"})
    assert answer.status_code < 500, (path, content, answer.text)
    if answer.status_code >= 400:
        assert set(answer.json()) == {"code", "message", "hint"}, answer.text


@FUZZ
@given(data=st.data())
def test_requests_that_fit_the_schema(fuzzed: TestClient, data: st.DataObject) -> None:
    spec = fuzzed.app.openapi()  # type: ignore[attr-defined]
    path = data.draw(st.sampled_from([p for p, methods in spec["paths"].items() if "post" in methods]))
    schema = spec["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    check(fuzzed, "POST", path, data.draw(values(schema, spec["components"]["schemas"])))


@FUZZ
@given(
    path=st.sampled_from(["/v1/search", "/v1/explain", "/v1/quantities", "/v1/documents", "/v1/jobs"]),
    body=JSON,
)
def test_requests_that_do_not(fuzzed: TestClient, path: str, body: Any) -> None:
    check(fuzzed, "POST", path, body)


@FUZZ
@example(path="/v1/documents", body=b'{"documents": [{"id": "\\ud800", "text": ""}]}')
@given(
    path=st.sampled_from(["/v1/search", "/v1/documents"]),
    body=st.binary(max_size=200) | st.sampled_from([b'{"query": NaN}', b'{"query": "\\ud800"}', b"[" * 5000]),
)
def test_bytes(fuzzed: TestClient, path: str, body: bytes) -> None:
    check(fuzzed, "POST", path, body)


@FUZZ
@given(id=st.text(st.characters(codec="utf-8"), min_size=1), method=st.sampled_from(["GET", "DELETE"]))
def test_ids(fuzzed: TestClient, id: str, method: str) -> None:
    check(fuzzed, method, f"/v1/documents/{quote(id, safe='')}")
    check(fuzzed, "GET", f"/v1/jobs/{quote(id, safe='')}")
