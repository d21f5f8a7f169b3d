"""Which names a request may call this server by."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from scenekin.web.errors import sentence

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
            return await sentence(421, "This server is not known by that name.")(scope, receive, send)
        return await self.app(scope, receive, send)


def _host(header: str) -> str | None:
    try:
        return urlsplit(f"//{header}").hostname
    except ValueError:
        return None
