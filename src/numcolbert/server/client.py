"""A small client for the server, with the standard library only.

client = Client("http://127.0.0.1:8080")
for hit in client.search("mountains higher than 8,000 metres"):
    print(hit.score, hit.text)
"""

from __future__ import annotations

import http.client
import json
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from numcolbert.errors import InputError, NumColBERTError
from numcolbert.index.inputs import DocumentLike, as_id, fields_of, several
from numcolbert.server.answers import (
    Added,
    ExplainedScore,
    FoundHits,
    JobState,
    ReadText,
    StoredDocument,
    read,
)
from numcolbert.types import Document

Documents = Sequence[DocumentLike]
"""Texts, or what `Index.add` takes: fields beside `id` and `text` are metadata."""

CODES = {
    "bad_url": "the address is no http address",
    "unreachable": "no server answers there",
    "http": "something answers that is not this server",
}
"""Codes that the client makes itself."""


class ServerError(NumColBERTError):
    """What the server answered instead of a result; `code` and `hint` are its own."""

    code = "server"

    def __init__(self, status: int, code: str, message: str, *, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.server_code = code


class Client:
    """Speaks to a server; failures are raised as `ServerError`. Safe from many threads."""

    def __init__(self, url: str = "http://127.0.0.1:8080", timeout: float = 30.0) -> None:
        try:
            parts = urllib.parse.urlsplit(url)
            port = parts.port
        except ValueError:  # a port that is none
            parts, port = urllib.parse.urlsplit(""), None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ServerError(
                0, "bad_url", f"'{url}' is not an http address.", hint="write it as http://host:port"
            )
        self._make = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._host, self._port, self._base = parts.hostname, port, parts.path.rstrip("/")
        self._timeout = timeout

    def search(
        self, query: str, k: int = 10, *, where: str | None = None, verify: bool = False, gate: bool = True
    ) -> FoundHits:
        """The best `k` passages; the options are those of `Index.search`."""
        body = {"query": query, "k": k, "where": where, "verify": verify, "gate": gate}
        return read(FoundHits, self._call("POST", "/v1/search", body))

    def explain(self, query: str, id: str) -> ExplainedScore:
        """Why the document `id` has its score."""
        return read(ExplainedScore, self._call("POST", "/v1/explain", {"query": query, "id": as_id(id)}))

    def quantities(self, text: str) -> ReadText:
        """The quantities and conditions in a text."""
        return read(ReadText, self._call("POST", "/v1/quantities", {"text": text}))

    def add(self, documents: Documents) -> Added:
        """Add or replace up to 1,000 documents; they can be found when this returns."""
        return read(Added, self._call("POST", "/v1/documents", {"documents": _documents(documents)}))

    def get(self, id: str) -> StoredDocument:
        """A document with its metadata."""
        return read(StoredDocument, self._call("GET", f"/v1/documents/{_quoted(id)}"))

    def delete(self, id: str) -> int:
        """Delete a document; returns 1."""
        return int(self._call("DELETE", f"/v1/documents/{_quoted(id)}")["deleted"])

    def start_job(self, documents: Documents) -> JobState:
        """Index many documents in the background; the answer holds the id to `follow`."""
        return read(JobState, self._call("POST", "/v1/jobs", {"documents": _documents(documents)}))

    def job(self, id: str) -> JobState:
        """The state of a job."""
        return read(JobState, self._call("GET", f"/v1/jobs/{id}"))

    def follow(self, id: str) -> Iterator[JobState]:
        """Each state of a job as it changes, until it ends."""
        connection, response = self._send("GET", f"/v1/jobs/{id}/events", None)
        try:
            for line in response:
                if line.startswith(b"data: "):
                    yield read(JobState, json.loads(line[6:]))
        finally:
            connection.close()

    def info(self) -> dict[str, Any]:
        """Model, engine, settings and counts of the index."""
        return self._call("GET", "/v1/index")

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        connection, response = self._send(method, path, body)
        try:
            answer = json.loads(response.read())
        except (ValueError, http.client.HTTPException) as error:
            raise _stranger(response.status) from error
        finally:
            connection.close()
        if not isinstance(answer, dict):
            raise _stranger(response.status)
        return answer

    def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        try:
            payload = None if body is None else json.dumps(body).encode()
        except (TypeError, ValueError) as error:
            raise InputError(
                f"The request cannot be written as JSON: {error}.",
                hint="use strings, numbers, booleans, null, and lists or objects of these",
            ) from error
        connection = self._make(self._host, self._port, timeout=self._timeout)
        try:
            connection.request(method, self._base + path, payload, {"content-type": "application/json"})
            response = connection.getresponse()
        except OSError as error:
            connection.close()
            raise ServerError(
                0,
                "unreachable",
                f"No server answers at {self._host}:{self._port or 80}: {error}.",
                hint="start one with 'numcolbert serve DIR', or check the address",
            ) from error
        except http.client.HTTPException as error:  # it does not speak HTTP
            connection.close()
            raise _stranger(0) from error
        if response.status >= 400:
            raw = response.read()
            connection.close()
            try:
                problem = json.loads(raw)
                code, message, hint = problem["code"], problem["message"], problem["hint"]
            except (ValueError, KeyError, TypeError) as error:
                raise _stranger(response.status) from error
            raise ServerError(response.status, code, message, hint=hint)
        return connection, response


def _stranger(status: int) -> ServerError:
    answered = f"answered {status}, but not as a numcolbert server does" if status else "does not speak HTTP"
    return ServerError(status, "http", f"The server {answered}.", hint="check the address")


def _quoted(id: object) -> str:
    return urllib.parse.quote(as_id(id), safe="")


def _documents(documents: Documents) -> list[dict[str, Any]]:
    return [_wire(document) for document in several(documents, "documents")]


def _wire(item: DocumentLike) -> dict[str, Any]:
    """A document as the server takes it: id, text, and all the rest under `metadata`."""
    if isinstance(item, str):
        return {"text": item}
    if isinstance(item, Document):
        return {"id": item.id, "text": item.text, "metadata": dict(item.metadata)}
    if not isinstance(item, Mapping):
        raise InputError(
            f"A document is of type {type(item).__name__}.",
            hint="hand in a Document, a mapping with 'text', or a string",
        )
    sent = {name: item[name] for name in ("id", "text") if name in item}
    if sent.get("id") is not None:
        sent["id"] = as_id(sent["id"])
    return {**sent, "metadata": fields_of(item)}
