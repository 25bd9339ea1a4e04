"""How failures leave the server: always as {code, message, hint}."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match, Mount

from numcolbert.errors import NumColBERTError
from numcolbert.server.bounds import LARGEST_BODY

CODES = {
    "bad_json": (400, "the body is not valid JSON"),
    "bad_request": (422, "a field is missing, of the wrong type, or unknown"),
    "no_route": (404, "there is nothing at this path"),
    "too_large": (413, "the body is larger than 32 MiB"),
    "http": (None, "the framework refused the request, for instance 405 for a wrong method"),
}
"""Codes beside those of `errors.py`: status (None where it varies) and meaning."""


METHODS = ("DELETE", "GET", "POST")
"""Those that some route takes."""


def problem(status: int, code: str, message: str, hint: str) -> JSONResponse:
    return JSONResponse({"code": code, "message": message, "hint": hint}, status)


def too_large() -> JSONResponse:
    message = f"The request is larger than {LARGEST_BODY // 2**20} MiB."
    return problem(413, "too_large", message, "send it in several requests")


def bad_json() -> JSONResponse:
    return problem(400, "bad_json", "The request's body is not valid JSON.", "send a JSON object, as UTF-8")


def _methods(request: Request) -> list[str]:
    """What the path takes.

    Behind the routes stands the page, which answers any other path: a GET with 404, the rest with 405.
    """
    routes = [route for route in request.app.routes if not isinstance(route, Mount)]
    return [
        method
        for method in METHODS
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)
    ]


def add_problems(app: FastAPI) -> None:
    @app.exception_handler(NumColBERTError)
    async def ours(_: Request, error: NumColBERTError) -> JSONResponse:
        return problem(error.http_status, error.code, error.message, error.hint)

    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            return bad_json()
        field = ".".join(str(part) for part in first["loc"][1:]) or "the body"
        hint = "see /docs for the fields of a request"
        if first["type"] == "extra_forbidden" and first["loc"][1:2] == ("documents",):
            hint = "a document has 'id', 'text' and 'metadata'; put other fields under 'metadata'"
        if request.method == "POST" and "json" not in request.headers.get("content-type", ""):
            hint = "send JSON, with the header 'content-type: application/json'"
        return problem(422, "bad_request", f"'{field}': {first['msg']}.", hint)

    @app.exception_handler(HTTPException)
    async def framework(request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code in (404, 405) and (methods := _methods(request)):
            message = f"'{request.url.path}' does not take {request.method}."
            answer = problem(405, "http", message, f"send {' or '.join(methods)}; see /docs for the routes")
            answer.headers["allow"] = ", ".join(methods)
            return answer
        if error.status_code == 404 or (error.status_code == 405 and request.url.path.startswith("/v1/")):
            message = f"There is nothing at '{request.url.path}'."
            return problem(404, "no_route", message, "see /docs for the routes")
        if error.status_code == 413:
            return too_large()
        if error.status_code == 400 and request.method == "POST":
            return bad_json()  # not UTF-8, nested too deep, or with a number of thousands of digits
        return problem(error.status_code, "http", f"{error.detail}.", "see /docs for the routes")
