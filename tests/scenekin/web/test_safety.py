from collections.abc import Iterator

import anyio
import pytest
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from scenekin.web.app import create_app
from scenekin.web.middleware import UPLOAD_BYTES, BodyLimit
from storage.workspace import Workspace
from tests.trained import Trained

TOO_LARGE = b"0" * (UPLOAD_BYTES + 2**19)


@pytest.mark.parametrize("address", ["/", "/api/index", "/page.js", "/no", "/images/extra/copy.jpg", "/api/search"])
def test_every_response_has_security_headers(client: TestClient, address: str) -> None:
    headers = client.get(address).headers
    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("host", ["localhost", "localhost:8080", "127.0.0.1:1", "[::1]:8080", "LOCALHOST"])
def test_names_of_loopback_are_allowed(client: TestClient, host: str) -> None:
    assert client.get("/api/index", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "", "["])
def test_other_host_names_are_refused(client: TestClient, host: str) -> None:
    for address in ("/", "/api/index", "/images/extra/copy.jpg"):
        response = client.get(address, headers={"host": host})
        assert (response.status_code, response.json()) == (
            421,
            {"detail": "This server does not answer to that host name; allow it with --allowed-host."},
        )


def test_a_public_server_allows_any_host_name(trained: Trained) -> None:
    public = TestClient(create_app(Workspace(trained.workspace)), base_url="http://photos.example")
    assert public.get("/api/index").status_code == 200


def test_an_upload_with_a_content_length_over_the_limit_is_refused(client: TestClient) -> None:
    for address in ("/api/search", "/api/explain", "/"):
        response = client.post(address, files={"image": ("x.jpg", TOO_LARGE)}, data={"b": "extra/copy.jpg"})
        assert response.status_code == 413
        assert "larger than 20 MB" in response.text


def test_a_chunked_upload_over_the_limit_is_refused(client: TestClient) -> None:
    def chunks() -> Iterator[bytes]:
        yield b'--cut\r\nContent-Disposition: form-data; name="image"; filename="x.jpg"\r\n\r\n'
        yield TOO_LARGE

    for address in ("/api/search", "/"):
        kind = {"content-type": "multipart/form-data; boundary=cut"}
        response = client.post(address, content=chunks(), headers=kind)
        assert response.status_code == 413
        assert "larger than 20 MB" in response.text


@pytest.mark.parametrize(("length", "taken"), [(None, 4), ("100", 4), ("1000", 0), ("9" * 5000, 0), ("x", 4)])
def test_no_more_of_a_body_is_read_than_the_limit(length: str | None, taken: int) -> None:
    read = 0

    async def receive() -> Message:
        nonlocal read
        read += 1
        return {"type": "http.request", "body": bytes(100), "more_body": True}

    async def reads_all(_scope: Scope, receive: Receive, _send: Send) -> None:
        while True:
            await receive()

    async def call() -> None:
        headers = [] if length is None else [(b"content-length", length.encode())]
        await BodyLimit(reads_all, limit=300)({"type": "http", "method": "POST", "headers": headers}, receive, receive)  # type: ignore[arg-type]

    with pytest.raises(HTTPException, match="413"):
        anyio.run(call)
    assert read == taken


@pytest.mark.parametrize("declared", [True, False])
def test_what_was_typed_is_kept_beside_a_picture_that_is_too_large(client: TestClient, declared: bool) -> None:
    content = (
        b'--cut\r\nContent-Disposition: form-data; name="image"; filename="x.jpg"\r\n\r\n'
        + TOO_LARGE
        + b'\r\n--cut\r\nContent-Disposition: form-data; name="add"\r\n\r\nsnow\r\n--cut--\r\n'
    )
    kind = {"content-type": "multipart/form-data; boundary=cut"}
    response = client.post("/", content=content if declared else iter([content[:99], content[99:]]), headers=kind)
    assert response.status_code == 413
    assert "larger than 20 MB" in response.text
    assert 'value="snow"' in response.text


def test_a_large_form_without_a_picture_is_refused(client: TestClient) -> None:
    for address in ("/", "/api/search"):
        kind = {"content-type": "application/x-www-form-urlencoded"}
        response = client.post(address, content=b"&" * 300_000, headers=kind)
        assert response.status_code == 413
        assert "A form without an image is limited to 256 KB." in response.text


@pytest.mark.parametrize("charset", ["punycode", "idna", "undefined", "latin-1"])
def test_forms_in_other_encodings_are_refused(client: TestClient, charset: str) -> None:
    kind = {"content-type": f"multipart/form-data; charset={charset}; boundary=cut"}
    for address in ("/", "/api/search", "/api/explain"):
        assert client.post(address, content=b"--cut--", headers=kind).json() == {"detail": "Send forms in UTF-8."}
    assert client.post(
        "/", content=b"--cut--", headers={"content-type": kind["content-type"].replace(charset, "UTF-8")}
    )


def test_an_image_with_too_many_pixels_is_refused(client: TestClient) -> None:
    size = (60_000).to_bytes(4, "big") * 2
    bomb = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + size + b"\x08\x02\x00\x00\x00" + bytes(4)
    response = client.post("/api/search", files={"image": ("bomb.png", bomb)})
    assert response.status_code == 415


def test_documentation_pages_that_load_foreign_scripts_are_not_served(client: TestClient) -> None:
    for address in ("/docs", "/redoc"):
        assert client.get(address).status_code == 404
    assert client.get("/openapi.json").json()["openapi"].startswith("3.")


@pytest.mark.parametrize(("method", "address"), [("DELETE", "/api/search"), ("POST", "/images/x"), ("PUT", "/")])
def test_other_methods_are_refused(client: TestClient, method: str, address: str) -> None:
    response = client.request(method, address)
    assert response.status_code == 405
    assert response.json().keys() == {"detail"}
