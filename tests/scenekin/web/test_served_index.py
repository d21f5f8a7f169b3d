import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from starlette.testclient import TestClient

from scenekin.web.app import create_app
from scenekin.web.served_index import ServedIndex
from storage.workspace import Workspace
from tests.scenekin.web.conftest import a_picture, an_id, client_of, serving
from tests.trained import Trained

CLIENTS = 64


def test_a_new_version_is_picked_up(trained_copy: Trained) -> None:
    assert trained_copy.run("index", "--name", "living").code == 0
    client = client_of(trained_copy, "living")
    picture = a_picture(trained_copy)
    before = client.post("/api/search", files={"image": ("x.jpg", picture.read_bytes())}).json()
    shutil.copy(picture, trained_copy.collection / "new.jpg")
    assert trained_copy.run("index", "--name", "living").code == 0
    after = client.post("/api/search", files={"image": ("x.jpg", picture.read_bytes())}).json()
    assert (before["index"]["version"], after["index"]["version"]) == (1, 2)
    assert after["index"]["images"] == before["index"]["images"] + 1
    assert "new.jpg" in [found["image_id"] for found in after["results"][:2]]
    assert client.get("/images/new.jpg").status_code == 200


def test_concurrent_clients_get_the_same_responses_as_one(trained: Trained, client: TestClient) -> None:
    data = a_picture(trained).read_bytes()
    kinds: list[dict[str, Any]] = [
        {"method": "GET", "url": "/api/search", "params": {"id": an_id(trained), "add": ["boat"]}},
        {"method": "POST", "url": "/api/search", "files": {"image": ("x.jpg", data)}, "data": {"remove": ["car"]}},
        {"method": "GET", "url": "/api/explain", "params": {"a": an_id(trained), "b": "extra/copy.jpg"}},
        {"method": "GET", "url": f"/images/{an_id(trained)}", "params": {"size": "thumbnail"}},
        {"method": "GET", "url": "/", "params": {"text": "boat"}},
        {"method": "POST", "url": "/api/search", "files": {"image": ("x.jpg", b"not a picture")}},
    ]
    expected = [(response.status_code, response.content) for response in (client.request(**kind) for kind in kinds)]
    assert [status for status, _ in expected] == [200, 200, 200, 200, 200, 415]

    def send(number: int) -> tuple[int, bytes]:
        with httpx.Client(base_url=address, timeout=120) as one:
            begun.wait()
            response = one.request(**kinds[number % len(kinds)])
            return response.status_code, response.content

    begun = threading.Barrier(CLIENTS)
    with serving(create_app(Workspace(trained.workspace))) as address, ThreadPoolExecutor(CLIENTS) as pool:
        responses = list(pool.map(send, range(CLIENTS)))
    assert responses == [expected[number % len(kinds)] for number in range(CLIENTS)]


def test_a_long_computation_does_not_block_lookups(trained: Trained) -> None:
    app = create_app(Workspace(trained.workspace))
    working, done = threading.Event(), threading.Event()

    def work(_: ServedIndex) -> None:
        working.set()
        assert done.wait(60)

    @app.get("/takes/long")
    async def long() -> None:
        await app.state.index.compute(work)

    with serving(app) as address, ThreadPoolExecutor() as pool:
        waiting = pool.submit(httpx.get, f"{address}/takes/long", timeout=120)
        assert working.wait(60)
        queued = pool.submit(httpx.get, f"{address}/api/explain?a=extra/copy.jpg&b=extra/copy.jpg", timeout=120)
        assert httpx.get(f"{address}/api/search", params={"id": "extra/copy.jpg"}, timeout=60).status_code == 200
        assert httpx.get(f"{address}/", timeout=60).status_code == 200
        assert not queued.done()
        done.set()
        assert waiting.result().status_code == queued.result().status_code == 200


def test_the_model_and_its_words_are_loaded_at_the_start_if_there_are_any(trained: Trained) -> None:
    for name, status in (("main", 200), ("none", 503)):
        app = create_app(Workspace(trained.workspace), name)
        with TestClient(app) as client:
            assert client.get("/api/index").status_code == status
        assert status == 503 or {"model", "text"} <= vars(app.state.index._index.searcher).keys()
