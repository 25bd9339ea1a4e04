"""What an operator's tools ask: does it live, is it ready, how is it doing."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse


def add_probes(app: FastAPI) -> None:
    @app.get("/healthz", tags=["probes"])
    async def healthz() -> dict[str, str]:
        """The process answers."""
        return {"status": "ok"}

    @app.get("/readyz", tags=["probes"])
    async def readyz(request: Request) -> JSONResponse:
        """The index is open and searches are answered; 503 before and after that."""
        ready = bool(request.app.state.ready)
        return JSONResponse({"status": "ready" if ready else "starting"}, 200 if ready else 503)

    @app.get("/metrics", tags=["probes"], response_class=PlainTextResponse)
    async def metrics(request: Request) -> str:
        """Requests, latencies, and the number of documents, in Prometheus' text format."""
        state = request.app.state
        with state.live.lease() as index:
            rendered: str = state.metrics.render({"documents": len(index)})
        return rendered
