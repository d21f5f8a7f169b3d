"""`scenekin serve`."""

import errno
import os
import socket
from contextlib import suppress
from typing import Annotated

import typer

from scenekin.options import IndexName, Workspace

CONNECTIONS = 256


def serve(
    host: Annotated[
        str,
        typer.Option(
            "--host",
            metavar="ADDRESS",
            help="Address to listen on: 127.0.0.1 for this computer only, 0.0.0.0 for the network.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="NUMBER", min=0, max=65535, help="Port; 0 chooses a free one.")
    ] = 8080,
    name: IndexName = "main",
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allowed-host",
            metavar="NAME",
            help="Host name by which the server is reached, e.g. that of a proxy; repeatable.",
        ),
    ] = None,
    workspace: Workspace = None,
) -> None:
    """Serve the search page and its REST API (described by /openapi.json)."""
    from ipaddress import ip_address

    from storage.index.versions import current_manifest, missing_index
    from storage.workspace import find_workspace

    # Read when torch is loaded: its threads wait without spinning, which would slow a machine that serves requests too.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    space = find_workspace(workspace)
    if current_manifest(space, name) is None:
        raise missing_index(space, name)
    with _listen(host, port) as listener:
        import uvicorn

        from scenekin.web.app import create_app
        from scenekin.web.middleware import LOOPBACK

        address, port = listener.getsockname()[:2]
        public = not ip_address(address).is_loopback
        any_host = public and not allowed_host
        app = create_app(space, name, hosts=() if any_host else (host, address, *LOOPBACK, *(allowed_host or ())))
        print(f"Serving index {name} at http://{_netloc(address, port)} (press Ctrl-C to stop)", flush=True)
        app.state.index.follow_links = not (public or allowed_host)
        if public:
            print("Anyone who can reach this address can search the index and view its images.", flush=True)
        config = uvicorn.Config(
            app, log_level="error", access_log=False, timeout_graceful_shutdown=3, limit_concurrency=CONNECTIONS
        )
        with suppress(KeyboardInterrupt):  # Ctrl-C is how a server is stopped
            uvicorn.Server(config).run(sockets=[listener])


def _netloc(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises InputError."""
    from tasks.errors import InputError

    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, UnicodeError) as error:  # UnicodeError: a label that is empty or too long
        raise InputError(f"Cannot listen on {_netloc(host, port)}: {_reason(error)}.") from error


def _reason(error: OSError | UnicodeError) -> str:
    """Why, and what to do."""
    if isinstance(error, socket.gaierror | UnicodeError):
        return "unknown host; set --host to an address of this machine"
    match error.errno:
        case errno.EACCES:
            return "permission denied; choose a --port above 1023"
        case errno.EADDRINUSE:
            return "address already in use; choose another --port"
        case errno.EADDRNOTAVAIL:
            return "not an address of this machine; choose another --host"
    return (error.strerror or str(error)).partition(" (while")[0]  # Python repeats the address behind it
