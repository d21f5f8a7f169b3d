"""ASGI middleware: security headers, known hosts, limits of request bodies, HEAD requests."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "content-security-policy": (
        "default-src 'self'; img-src 'self' data:; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class SafeHeaders:
    """Nothing from elsewhere, no inline scripts, no frames around the page, no guessing of types."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI call."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self.app(scope, receive, with_headers)


LOOPBACK = ("localhost", "127.0.0.1", "::1")


class KnownHosts:
    """Refuses requests for other hosts: a site whose name was made to lead here (DNS rebinding) learns nothing.

    Without hosts all are let through.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self.app = app
        self.hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI call."""
        if scope["type"] == "http" and self.hosts and _host(Headers(scope=scope).get("host", "")) not in self.hosts:
            refusal = JSONResponse({"detail": "This server does not serve that host name."}, 421)
            return await refusal(scope, receive, send)
        return await self.app(scope, receive, send)


def _host(header: str) -> str | None:
    try:
        return urlsplit(f"//{header}").hostname
    except ValueError:
        return None


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


class AnswerHead:
    """Answers HEAD wherever GET is answered."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI call."""

        async def without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        if scope["type"] == "http" and scope["method"] == "HEAD":
            await self.app({**scope, "method": "GET"}, receive, without_body)
        else:
            await self.app(scope, receive, send)
