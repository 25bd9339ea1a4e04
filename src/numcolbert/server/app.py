"""Puts the server together: routes, failures, request ids, logs, metrics and the page."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.staticfiles import StaticFiles

from numcolbert import __version__
from numcolbert.api import Index
from numcolbert.server.batching import BatchingEncoder
from numcolbert.server.bounds import LARGEST_BODY, BoundedBody
from numcolbert.server.jobs import Jobs
from numcolbert.server.live import LOOK_EVERY, LiveIndex
from numcolbert.server.metrics import Metrics
from numcolbert.server.probes import add_probes
from numcolbert.server.problems import add_problems, problem, too_large
from numcolbert.server.routes import router
from numcolbert.server.turns import Turns

PAGE = Path(__file__).parent / "web"
SAFETY = {
    "content-security-policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
"""The page runs its own scripts only, whatever an indexed text holds."""
log = logging.getLogger("numcolbert.server")


def create_app(
    index: Index,
    *,
    read_only: bool = False,
    examples: Sequence[str] = (),
    look_every: float = LOOK_EVERY,
) -> FastAPI:
    """The server for one open index. It closes the index when it shuts down.

    `examples` are queries that the page offers to click on; `look_every` is in seconds, see `live.py`.
    """
    encoder = BatchingEncoder(index.encoder)
    index.encoder = encoder
    jobs, live = Jobs(), LiveIndex(index)

    @asynccontextmanager
    async def lifetime(app: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(_warm_up, index)
        live.watch(look_every)
        app.state.ready = True
        yield
        app.state.ready = False
        jobs.close()
        live.close()
        encoder.close()

    app = FastAPI(
        title="NumColBERT",
        version=__version__,
        description="Search that understands numbers.",
        lifespan=lifetime,
        docs_url=None,  # the framework's own pages load scripts from elsewhere; ours is under web/docs
        redoc_url=None,
    )
    app.state.live, app.state.jobs, app.state.metrics = live, jobs, Metrics()
    app.state.turns = Turns(encoder)
    app.state.read_only, app.state.examples, app.state.ready = read_only, list(examples), False
    app.include_router(router)
    add_probes(app)
    add_problems(app)
    app.add_middleware(BoundedBody)
    app.middleware("http")(_observe)
    app.mount("/", StaticFiles(directory=PAGE, html=True), name="page")
    return app


def _warm_up(index: Index) -> None:
    """Let the first person not pay for compiling kernels and loading units."""
    for gate in (True, False):
        index.search("more than 1 kg", k=1, gate=gate)


async def _observe(request: Request, proceed: Callable[[Request], Awaitable[Response]]) -> Response:
    """Give the request an id, bound its size, count it, time it, log it, and never leak a traceback."""
    request_id = _printable(request.headers.get("x-request-id", "")) or uuid.uuid4().hex[:12]
    start = time.perf_counter()
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > LARGEST_BODY:
        response: Response = too_large()
    else:
        try:
            response = await proceed(request)
        except Exception:
            log.exception("unexpected", extra={"fields": {"request_id": request_id}})
            hint = f"look for request {request_id} in its log"
            response = problem(500, "failed", "The server met an unexpected error.", hint)
    seconds = time.perf_counter() - start
    response.headers["x-request-id"] = request_id
    for name, value in SAFETY.items():
        response.headers[name] = value
    response.headers.setdefault(
        "cache-control", "no-cache"
    )  # after an upgrade no old script beside a new page
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


def _printable(id: str) -> str:
    """A caller's id goes back into a header and into the log: nothing but plain characters."""
    return "".join(c for c in id[:64] if c.isascii() and c.isprintable())
