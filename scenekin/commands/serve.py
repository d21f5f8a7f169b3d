"""`scenekin serve`."""

import socket
from contextlib import suppress
from typing import Annotated

import typer

from scenekin.options import Workspace


def serve(
    host: Annotated[str, typer.Option("--host", help="The address to listen at; others than loopback are public.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.")] = 8080,
    name: Annotated[str, typer.Option("--name", help="Which index.")] = "main",
    workspace: Workspace = None,
) -> None:
    """Search in the browser: a web page and its REST API (/openapi.json)."""
    from ipaddress import ip_address

    from storage.index.versions import current_manifest
    from storage.workspace import find_workspace

    space = find_workspace(workspace)
    current_manifest(space, name)  # a bad name and a damaged index are said here; none yet, by the page
    with _listening(host, port) as listener:
        import uvicorn

        from scenekin.web.app import create_app
        from scenekin.web.middleware import LOOPBACK

        address, port = listener.getsockname()[:2]
        shown = f"[{address}]" if ":" in address else address
        public = not ip_address(address).is_loopback
        app = create_app(space, name, hosts=() if public else (host, *LOOPBACK))
        print(f"scenekin serves the index {name!r} at http://{shown}:{port} (Ctrl-C ends it)", flush=True)
        if public:
            print("Whoever reaches this address can search the index and see its images.", flush=True)
        config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=3)
        with suppress(KeyboardInterrupt):  # that is how it ends
            uvicorn.Server(config).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises InputError."""
    from tasks.errors import InputError

    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise InputError(
            f"{host} port {port} cannot be listened at ({_reason(error)}); give another --port or --host."
        ) from error


def _reason(error: OSError) -> str:
    """What the system says; Python repeats the address after it."""
    return (error.strerror or str(error)).partition(" (while")[0]
