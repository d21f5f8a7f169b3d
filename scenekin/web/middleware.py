"""ASGI middleware: security headers, allowed hosts, request body limits, HEAD requests."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'self'; img-src 'self' data:; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class SecurityHeaders:
    """Adds headers that forbid foreign content, inline scripts, framing and content sniffing."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(SECURITY_HEADERS)
            await send(message)

        await self.app(scope, receive, with_headers)


LOOPBACK = ("localhost", "127.0.0.1", "::1")


class AllowedHosts:
    """Refuses requests for any other host name, which defeats DNS rebinding. Without hosts, all are allowed."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self.app = app
        self.hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""
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
FORM_BYTES = 2**18  # for the other fields of the form
TOO_LARGE = f"The upload is larger than {UPLOAD_BYTES // 2**20} MB; choose a smaller picture."


class BodyLimit:
    """Refuses a request body over a limit: by its Content-Length before reading, otherwise while reading."""

    def __init__(self, app: ASGIApp, limit: int = UPLOAD_BYTES + FORM_BYTES) -> None:
        self.app = app
        self.limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""
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


class HeadRequests:
    """Answers HEAD requests like GET, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""

        async def without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        if scope["type"] == "http" and scope["method"] == "HEAD":
            await self.app({**scope, "method": "GET"}, receive, without_body)
        else:
            await self.app(scope, receive, send)
