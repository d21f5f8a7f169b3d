"""How large a request may be."""

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

UPLOAD_BYTES = 20 * 2**20
FORM_BYTES = 2**18  # what a form's other fields may take
TOO_LARGE = f"An upload may have at most {UPLOAD_BYTES // 2**20} MB; give a smaller picture."


class LimitBody:
    """Refuses a body that says it is too large at once, and one that does not say so where it becomes too large."""

    def __init__(self, app: ASGIApp, limit: int = UPLOAD_BYTES + FORM_BYTES) -> None:
        self.app = app
        self.limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI call."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        declared = Headers(scope=scope).get("content-length", "0")
        declared_too_large = declared.isdecimal() and int(declared[:20]) > self.limit
        received = 0

        async def counted() -> Message:
            nonlocal received
            if declared_too_large:
                raise HTTPException(413, TOO_LARGE)
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.limit:
                raise HTTPException(413, TOO_LARGE)
            return message

        return await self.app(scope, counted, send)
