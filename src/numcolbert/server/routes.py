"""The API under /v1. Handlers that work are plain functions, which the framework runs on its thread pool."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import StreamingResponse

from numcolbert import quantities
from numcolbert.api import Index
from numcolbert.errors import ConflictError, InputError, NotFoundError
from numcolbert.index.inputs import shown
from numcolbert.search.judge import judge
from numcolbert.server import schemas
from numcolbert.server.jobs import Jobs
from numcolbert.server.turns import Turns
from numcolbert.types import Document

router = APIRouter(
    prefix="/v1",
    responses={status: {"model": schemas.ErrorOut} for status in (400, 404, 409, 413, 422, 507)},
)


async def the_index(request: Request) -> AsyncIterator[Index]:
    """The current index, kept open until the answer is sent."""
    with request.app.state.live.lease() as index:
        yield index


async def the_jobs(request: Request) -> Jobs:
    jobs: Jobs = request.app.state.jobs
    return jobs


async def writable(request: Request) -> None:
    if request.app.state.read_only:
        raise ConflictError(
            "This server is read-only.", hint="start it without --read-only to change documents"
        )


TheIndex = Annotated[Index, Depends(the_index)]
TheJobs = Annotated[Jobs, Depends(the_jobs)]
WRITING = [Depends(writable)]


@router.post("/search")
async def search(body: schemas.SearchRequest, index: TheIndex, request: Request) -> schemas.SearchResponse:
    """The best passages for a query, with their quantities and whether each satisfies the condition."""
    turns: Turns = request.app.state.turns
    results = await turns.search(
        index, body.query, body.k, where=body.where, verify=body.verify, gate=body.gate
    )
    judged = [judge(hit.text, hit.quantities, results.conditions) for hit in results]
    return schemas.search_response(results, judged)


@router.post("/explain")
def explain(body: schemas.ExplainRequest, index: TheIndex) -> schemas.ExplainResponse:
    """Why a document has the score it has: every query token, its gate and what it matched."""
    return schemas.ExplainResponse.of(index.explain(body.query, body.id))


@router.post("/quantities")
def extract(body: schemas.QuantitiesRequest) -> schemas.QuantitiesResponse:
    """The quantities in a text, and the conditions it states if it is read as a query."""
    return schemas.QuantitiesResponse(
        quantities=[schemas.QuantityOut.of(found, body.text) for found in quantities.extract(body.text)],
        conditions=[schemas.ConditionOut.of(found, body.text) for found in quantities.conditions(body.text)],
    )


def documents_of(body: schemas.DocumentsRequest) -> list[Document]:
    return [
        Document(
            uuid.uuid4().hex[:16] if document.id is None else document.id, document.text, document.metadata
        )
        for document in body.documents
    ]


@router.post("/documents", status_code=201, dependencies=WRITING)
def add_documents(body: schemas.DocumentsRequest, index: TheIndex) -> schemas.AddResponse:
    """Add documents, or replace those whose id is known; searchable when this returns."""
    if len(body.documents) > schemas.MAX_DOCUMENTS:
        count, most = len(body.documents), schemas.MAX_DOCUMENTS
        raise InputError(
            f"{count:,} documents are too many for one request ({most:,} at most).",
            hint="send them to /v1/jobs, which indexes in the background",
        )
    documents = documents_of(body)
    report = index.add(documents)
    return schemas.AddResponse(
        ids=[document.id for document in documents], added=report.added, replaced=report.replaced
    )


@router.get("/documents/{id:path}")
def get_document(id: str, index: TheIndex) -> schemas.DocumentOut:
    """A document's text and metadata."""
    return schemas.DocumentOut.of(index.get(id))


@router.delete("/documents/{id:path}", dependencies=WRITING)
def delete_document(id: str, index: TheIndex) -> schemas.DeleteResponse:
    """Delete a document; 404 where there is none."""
    deleted = index.delete([id], ignore_missing=True)
    if not deleted:
        raise NotFoundError(
            f"There is no document {shown(id)}; nothing was deleted.",
            hint="check the id; ids are case-sensitive",
        )
    return schemas.DeleteResponse(deleted=deleted)


@router.post("/jobs", status_code=202, dependencies=WRITING)
def start_job(body: schemas.DocumentsRequest, request: Request, jobs: TheJobs) -> schemas.JobOut:
    """Index many documents in the background; follow it under /v1/jobs/{id}/events."""
    documents = documents_of(body)

    def work() -> dict[str, Any]:
        with request.app.state.live.lease() as index:  # the one that is current when the job's turn comes
            report = index.add(documents)
        return {"added": report.added, "replaced": report.replaced}

    return jobs.start(f"index {len(documents):,} documents", work).state


@router.get("/jobs")
def list_jobs(jobs: TheJobs) -> list[schemas.JobOut]:
    """The last 100 jobs, the newest first."""
    return jobs.all()


@router.get("/jobs/{id}")
def get_job(id: str, jobs: TheJobs) -> schemas.JobOut:
    """The state of a job."""
    return jobs.get(id).state


@router.get("/jobs/{id}/events", response_class=StreamingResponse)
async def follow_job(id: str, jobs: TheJobs) -> StreamingResponse:
    """Server-sent events: the job's state whenever it changes, until it ends."""
    job = jobs.get(id)

    async def events() -> AsyncIterator[str]:
        async for state in job.follow():
            yield f"data: {state.model_dump_json()}\n\n" if state else ": still here\n\n"

    return StreamingResponse(events(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


@router.get("/index")
def info(request: Request, index: TheIndex) -> dict[str, Any]:
    """Model, engine, settings and counts of the index behind this server."""
    state = request.app.state
    return {**index.info(), "read_only": state.read_only, "examples": state.examples}
