"""ASGI middleware: security headers, allowed hosts and origins, request limits, HEAD requests."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from anyio import Event, create_task_group, current_time, fail_at
from python_multipart.multipart import parse_options_header
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scenekin.web.network_queue import Busy

SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'self'; img-src 'self' data:; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",  # without a referrer, browsers send a form's Origin as null
    "x-content-type-options": "nosniff",
}


class SecurityHeaders:
    """Adds headers that forbid foreign content, inline scripts, framing, content sniffing and stored JSON."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(SECURITY_HEADERS)
                if headers.get("content-type", "").startswith("application/json"):
                    headers.setdefault("cache-control", "no-store")
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
            refusal = JSONResponse(
                {"detail": "This server does not answer to that host name; allow it with --allowed-host."}, 421
            )
            return await refusal(scope, receive, send)
        return await self.app(scope, receive, send)


def _host(header: str) -> str | None:
    try:
        return urlsplit(f"//{header}").hostname
    except ValueError:
        return None


class SameOrigin:
    """Refuses requests that another site's page makes the browser send, but for links to the page.

    Browsers name the initiator in `Sec-Fetch-Site` and, for POST, in `Origin`; other clients send neither.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""
        if scope["type"] == "http" and _is_foreign(scope):
            refusal = JSONResponse({"detail": "Requests from other websites are refused."}, 403)
            return await refusal(scope, receive, send)
        return await self.app(scope, receive, send)


def _is_foreign(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    if scope["method"] == "POST" and "origin" in headers:
        return headers["origin"].partition("://")[2] != headers.get("host")
    if headers.get("sec-fetch-site", "none") in {"none", "same-origin"}:
        return False
    is_link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return not (is_link and scope["method"] in {"GET", "HEAD"} and scope["path"] == "/")


UPLOAD_BYTES = 20 * 2**20
FORM_BYTES = 2**18  # for the other fields of the form
PAGE_BYTES = 5 * UPLOAD_BYTES  # read of the page's form, so that it keeps what was typed beside a large picture
BODY_SECONDS = 120.0
BODIES = 48  # POST requests at a time; their bodies are kept in memory or temporary files
TOO_LARGE = f"The upload is larger than {UPLOAD_BYTES // 2**20} MB; choose a smaller image."
FORM_TOO_LARGE = f"A form without an image is limited to {FORM_BYTES // 2**10} KB."


class BodyLimit:
    """Limits the size of a POST's body, the time it may take to arrive, and the number of POSTs at once.

    A body over the limit is refused by its Content-Length before reading, otherwise while reading. Forms without a file
    are small, and only UTF-8 is decoded: other encodings may take quadratic time.
    """

    def __init__(
        self, app: ASGIApp, limit: int = UPLOAD_BYTES + FORM_BYTES, seconds: float = BODY_SECONDS, most: int = BODIES
    ) -> None:
        self.app = app
        self.limit = limit
        self.seconds = seconds
        self.most = most
        self._active = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self.app(scope, receive, send)
        if self._active >= self.most:
            busy = Busy()
            return await JSONResponse({"detail": busy.detail}, busy.status_code, busy.headers)(scope, receive, send)
        kind, options = parse_options_header(Headers(scope=scope).get("content-type"))
        if options.get(b"charset", b"utf-8").lower() != b"utf-8":
            return await JSONResponse({"detail": "Send forms in UTF-8."}, 415)(scope, receive, send)
        limit, message = self.limit, TOO_LARGE
        if kind != b"multipart/form-data":
            limit, message = min(limit, FORM_BYTES), FORM_TOO_LARGE
        elif scope["path"] == "/":
            limit = max(limit, PAGE_BYTES)
        self._active += 1
        try:
            return await self.app(scope, self._limited(scope, receive, limit, message), send)
        finally:
            self._active -= 1

    def _limited(self, scope: Scope, receive: Receive, limit: int, too_large: str) -> Receive:
        declared = Headers(scope=scope).get("content-length", "0")
        declared_too_large = declared.isdecimal() and int(declared[:20]) > limit
        deadline = current_time() + self.seconds
        received = 0

        async def limited() -> Message:
            nonlocal received
            if declared_too_large:
                raise HTTPException(413, too_large)
            try:
                with fail_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, f"The upload took longer than {self.seconds:.0f} s.") from None
            received += len(message.get("body", b""))
            if received > limit:
                raise HTTPException(413, too_large)
            return message

        return limited


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


class CancelOnDisconnect:
    """Cancels the work for a request once its client has closed the connection."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""
        if scope["type"] == "http":
            await self._call(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _call(self, scope: Scope, receive: Receive, send: Send) -> None:
        received, responding = Event(), Event()
        if not _has_body(scope):
            received.set()

        async def receive_body() -> Message:
            if received.is_set():
                return {"type": "http.request", "body": b"", "more_body": False}
            message = await receive()
            if not message.get("more_body", False):
                received.set()
            return message

        async def respond(message: Message) -> None:
            responding.set()
            await send(message)

        async def cancel_on_disconnect() -> None:
            await received.wait()
            while (await receive())["type"] != "http.disconnect":
                pass
            if not responding.is_set():
                group.cancel_scope.cancel()

        failure: Exception | None = None
        async with create_task_group() as group:
            group.start_soon(cancel_on_disconnect)
            try:
                await self.app(scope, receive_body, respond)
            except ClientDisconnect:  # while sending the body
                pass
            except Exception as error:  # raised again below, not as a group
                failure = error
            group.cancel_scope.cancel()
        if failure is not None:
            raise failure


def _has_body(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
