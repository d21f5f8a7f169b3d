"""Why a server could not be reached, whichever library found out."""

import socket
import ssl

UNKNOWN_HOST = "unknown host; check the address and the network"
REFUSED = "connection refused; check the address and that the server is running"
TIMED_OUT = "no response; check the address and the network, or try again later"


def connection_fault(error: BaseException | None) -> str | None:
    """Return the reason and the remedy if an error, or one that led to it, is a failed connection; else None."""
    while error is not None:
        match error:
            case socket.gaierror():
                return UNKNOWN_HOST
            case ConnectionRefusedError():
                return REFUSED
            case TimeoutError():
                return TIMED_OUT
            case ssl.SSLError():
                return f"no secure connection ({getattr(error, 'reason', None) or error})"
        status = getattr(error, "status", None)  # of aiohttp's response
        if isinstance(status, int) and status != 404:
            return f"the server responded with status {status}"
        error = error.__cause__ or error.__context__
    return None
