import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import anyio
import httpx
import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from scenekin.web.app import create_app
from scenekin.web.middleware import BodyLimit
from scenekin.web.served_index import ServedIndex
from storage.workspace import Workspace
from tests.scenekin.web.conftest import a_picture, an_id, serving
from tests.trained import Trained


@pytest.mark.parametrize("address", ["/", "/page.css", "/api/index", "/openapi.json", "/images/{id}", "/nothing"])
def test_head_responds_like_get_without_the_body(address: str, client: TestClient, trained: Trained) -> None:
    address = address.format(id=an_id(trained))
    head, get = client.head(address), client.get(address)
    assert (head.status_code, dict(head.headers)) == (get.status_code, dict(get.headers))
    assert head.content == b""
    assert get.content


LINK = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


@pytest.mark.parametrize(
    ("method", "address", "headers", "status"),
    [
        ("GET", "/api/search?text=boat", {}, 200),
        ("GET", "/api/search?text=boat", {"sec-fetch-site": "same-origin"}, 200),
        ("GET", "/api/search?text=boat", {"sec-fetch-site": "none"}, 200),
        ("GET", "/api/search?text=boat", {"sec-fetch-site": "cross-site"}, 403),
        ("GET", "/api/search?text=boat", {"sec-fetch-site": "same-site"}, 403),  # another port of this machine
        ("GET", "/api/search?text=boat", {"sec-fetch-site": "cross-site", **LINK}, 403),
        ("GET", "/", {"sec-fetch-site": "cross-site", **LINK}, 200),
        ("GET", "/", {"sec-fetch-site": "cross-site", **LINK, "sec-fetch-dest": "iframe"}, 403),
        ("GET", "/page.js", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ("POST", "/", {"sec-fetch-site": "cross-site", **LINK}, 403),
        ("POST", "/api/search", {}, 200),
        ("POST", "/api/search", {"origin": "http://localhost"}, 200),
        ("POST", "/api/search", {"origin": "http://localhost", "sec-fetch-site": "same-origin"}, 200),
        ("POST", "/api/search", {"origin": "http://localhost:3000"}, 403),
        ("POST", "/api/search", {"origin": "https://evil.example"}, 403),
        ("POST", "/api/search", {"origin": "null"}, 403),
    ],
)
def test_requests_from_other_websites_are_refused(
    client: TestClient, method: str, address: str, headers: dict[str, str], status: int
) -> None:
    data = {"text": "boat"} if method == "POST" else None
    response = client.request(method, address, headers=headers, data=data)
    assert response.status_code == status
    if status == 403:
        assert response.json() == {"detail": "Requests from other websites are refused."}


def test_json_is_not_stored(client: TestClient, trained: Trained) -> None:
    assert client.get("/api/search?text=boat").headers["cache-control"] == "no-store"
    assert client.get("/api/search").headers["cache-control"] == "no-store"
    assert client.get(f"/images/{an_id(trained)}").headers["cache-control"] == "private, no-cache"


async def never(*_: Any) -> Any:
    await anyio.sleep_forever()


def test_a_body_has_to_arrive_in_time() -> None:
    async def reads(_scope: Scope, receive: Receive, _send: Send) -> None:
        await receive()

    async def call() -> None:
        limited = BodyLimit(reads, seconds=0.01)
        with pytest.raises(HTTPException, match=r"408: The upload took longer than 0 s\."):
            await limited({"type": "http", "method": "POST", "headers": []}, never, never)

    anyio.run(call)


def test_more_uploads_than_the_limit_are_refused_until_one_ends() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def call() -> None:
        limited = BodyLimit(never, most=2)
        post: Scope = {"type": "http", "method": "POST", "headers": []}
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(limited, post, never, never)
            await anyio.sleep(0.01)
            await limited(post, never, send)
            assert (sent[0]["status"], dict(sent[0]["headers"])[b"retry-after"]) == (503, b"2")
            group.cancel_scope.cancel()
        with anyio.move_on_after(0.01) as scope:
            await limited(post, never, send)
        assert scope.cancelled_caught  # it was let through, to wait for ever
        assert len(sent) == 2

    anyio.run(call)


class Slow:
    """Work in the network queue that waits to be released."""

    def __init__(self) -> None:
        self.started, self.release = threading.Event(), threading.Event()

    def __call__(self, _: ServedIndex) -> None:
        self.started.set()
        assert self.release.wait(60)


def test_the_work_for_a_client_that_left_is_dropped(trained: Trained) -> None:
    app = create_app(Workspace(trained.workspace))
    slow, computed = Slow(), []

    @app.get("/lane/slow")
    async def _slow() -> None:
        await app.state.index.compute(slow)

    @app.api_route("/lane/{name}", methods=["GET", "POST"])
    async def _work(name: str, request: Request) -> None:
        await request.body()
        await app.state.index.compute(lambda _: computed.append(name))

    with serving(app) as address, ThreadPoolExecutor() as pool:
        held = pool.submit(httpx.get, f"{address}/lane/slow", timeout=60)
        assert slow.started.wait(60)
        stays = pool.submit(httpx.get, f"{address}/lane/stays", timeout=60)
        for method, content in (("GET", b""), ("POST", b"body"), ("POST", b"")):
            with suppress(httpx.ReadTimeout):
                httpx.request(method, f"{address}/lane/left", content=content, timeout=0.3)
        time.sleep(0.1)  # the server notices
        slow.release.set()
        assert held.result().status_code == stays.result().status_code == 200
    assert computed == ["stays"]


def test_a_busy_server_says_when_to_come_back(trained: Trained) -> None:
    app = create_app(Workspace(trained.workspace))
    queue = app.state.index._queue
    client = TestClient(app, base_url="http://localhost")
    file = {"image": ("x.jpg", a_picture(trained).read_bytes())}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queue, "places", 0)
        for response in (
            client.post("/api/search", files=file),
            client.post("/", files=file, data={"add": "snow"}),
            client.get("/api/explain", params={"a": an_id(trained), "b": an_id(trained)}),
        ):
            assert (response.status_code, response.headers["retry-after"]) == (503, "2")
            assert "The server is busy; try again in a few seconds." in response.text
            assert response.request.url.path != "/" or 'value="snow"' in response.text
        assert client.get("/api/search", params={"id": an_id(trained)}).status_code == 200
    assert client.post("/api/search", files=file).status_code == 200


def test_a_full_temporary_disk_is_reported(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.TemporaryFile", lambda *_, **__: open("/dev/full", "r+b", buffering=0))  # noqa: PTH123, SIM115
    for address in ("/api/search", "/api/explain", "/"):
        response = client.post(address, files={"image": ("x.jpg", bytes(2**21))}, data={"b": "extra/copy.jpg"})
        assert response.status_code == 507
        assert "temporary disk is full" in response.text
