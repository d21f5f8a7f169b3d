import socket
import ssl

import pytest

from storage.errors import StorageError
from storage.source.connection import connection_fault
from storage.source.tree import list_tree


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("http://127.0.0.1:{port}/photos", "connection refused; check the address and that the server is running."),
        ("http://no-such-host.invalid/photos", "unknown host; check the address and the network."),
    ],
)
def test_a_server_that_cannot_be_reached_is_named_with_the_reason(address: str, words: str) -> None:
    url = address.format(port=closed_port())
    with pytest.raises(StorageError) as refused:
        list_tree(url)
    assert str(refused.value) == f"Cannot reach {url}: {words}"


def test_a_fault_is_found_behind_other_errors() -> None:
    error = FileNotFoundError("http://host/photos")  # as fsspec does
    error.__cause__ = TimeoutError()
    assert connection_fault(error) == "no response; check the address and the network, or try again later"
    certificate = ssl.SSLError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")
    assert "no secure connection" in str(connection_fault(certificate))
    assert connection_fault(FileNotFoundError("x")) is None


@pytest.mark.parametrize(("status", "words"), [(404, None), (503, "the server responded with status 503")])
def test_a_status_of_the_server_is_told_unless_the_file_is_missing(status: int, words: str | None) -> None:
    error = OSError("failed")
    vars(error)["status"] = status
    assert connection_fault(error) == words
