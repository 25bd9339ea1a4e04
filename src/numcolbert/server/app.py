"""Puts the server together: routes, errors, request ids, logs, metrics and the page."""

from __future__ import annotations

import json
import logging
import sys
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from numcolbert import __version__
from numcolbert.api import Index
from numcolbert.errors import NumColBERTError
from numcolbert.server.batching import BatchingEncoder
from numcolbert.server.jobs import Jobs
from numcolbert.server.metrics import Metrics
from numcolbert.server.routes import router

PAGE = Path(__file__).parent / "web"
LARGEST_BODY = 32 * 1024 * 1024
log = logging.getLogger("numcolbert.server")


def create_app(index: Index, *, read_only: bool = False, examples: Sequence[str] = ()) -> FastAPI:
    """The server for one open index. It closes the index when it shuts down.

    `examples` are queries that the page offers to click on.
    """
    encoder = BatchingEncoder(index.encoder)
    index.encoder = encoder
    jobs = Jobs()

    @asynccontextmanager
    async def lifetime(app: FastAPI) -> AsyncIterator[None]:
        app.state.ready = True
        yield
        app.state.ready = False
        jobs.close()
        encoder.close()
        index.close()

    app = FastAPI(
        title="NumColBERT",
        version=__version__,
        description="Search that understands numbers.",
        lifespan=lifetime,
    )
    app.state.index, app.state.jobs, app.state.metrics = index, jobs, Metrics()
    app.state.read_only, app.state.examples, app.state.ready = read_only, list(examples), False
    app.include_router(router)
    add_probes(app)
    add_errors(app)
    app.middleware("http")(_observe)
    app.mount("/", StaticFiles(directory=PAGE, html=True), name="page")
    return app


def add_probes(app: FastAPI) -> None:
    @app.get("/healthz", tags=["probes"])
    def healthz() -> dict[str, str]:
        """The process answers."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["probes"])
    def readyz(request: Request) -> JSONResponse:
        """The index is open and searches are answered."""
        ready = bool(request.app.state.ready)
        return JSONResponse({"status": "ready" if ready else "starting"}, 200 if ready else 503)

    @app.get("/metrics", tags=["probes"], response_class=PlainTextResponse)
    def metrics(request: Request) -> str:
        """Prometheus' text format."""
        state = request.app.state
        rendered: str = state.metrics.render({"documents": len(state.index)})
        return rendered


def problem(status: int, code: str, message: str, hint: str) -> JSONResponse:
    return JSONResponse({"code": code, "message": message, "hint": hint}, status)


def add_errors(app: FastAPI) -> None:
    """Every failure leaves as {code, message, hint}."""

    @app.exception_handler(NumColBERTError)
    def ours(_: Request, error: NumColBERTError) -> JSONResponse:
        return problem(error.http_status, error.code, error.message, error.hint)

    @app.exception_handler(RequestValidationError)
    def malformed(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            return problem(400, "bad_json", "The request's body is not valid JSON.", "send a JSON object")
        field = ".".join(str(part) for part in first["loc"][1:]) or "the body"
        return problem(
            422, "bad_request", f"'{field}': {first['msg']}.", "see /docs for the fields of a request"
        )

    @app.exception_handler(HTTPException)
    def framework(request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == 404:
            return problem(
                404, "no_route", f"There is nothing at '{request.url.path}'.", "see /docs for the routes"
            )
        return problem(error.status_code, "http", f"{error.detail}.", "see /docs for the routes")


async def _observe(request: Request, proceed: Callable[[Request], Awaitable[Response]]) -> Response:
    """Give the request an id, bound its size, count it, time it, log it, and never leak a traceback."""
    request_id = request.headers.get("x-request-id", "")[:64] or uuid.uuid4().hex[:12]
    start = time.perf_counter()
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > LARGEST_BODY:
        limit = f"{LARGEST_BODY // 2**20} MiB"
        response: Response = problem(
            413, "too_large", f"The request is larger than {limit}.", "send it in several requests"
        )
    else:
        try:
            response = await proceed(request)
        except Exception:
            log.exception("unexpected", extra={"fields": {"request_id": request_id}})
            response = problem(
                500,
                "failed",
                "The server met an unexpected error.",
                f"look for request {request_id} in its log",
            )
    seconds = time.perf_counter() - start
    response.headers["x-request-id"] = request_id
    route = getattr(request.scope.get("route"), "path", "other")
    request.app.state.metrics.observe(request.method, route, response.status_code, seconds)
    fields = {
        "request_id": request_id,
        "method": request.method,
        "path": request.url.path,
        "status": response.status_code,
        "ms": round(1000 * seconds, 1),
    }
    log.info("request", extra={"fields": fields})
    return response


class JsonLines(logging.Formatter):
    """One JSON object a line, for machines and people with grep."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


def log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("numcolbert.server", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO)
