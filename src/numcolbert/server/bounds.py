"""No request may fill the memory, whether it declares its size or not."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 32 * 1024 * 1024


class BoundedBody:
    """Counts a body while it arrives and stops at `LARGEST_BODY`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > LARGEST_BODY:
                raise HTTPException(413)
            return message

        await self._app(scope, counted if scope["type"] == "http" else receive, send)
