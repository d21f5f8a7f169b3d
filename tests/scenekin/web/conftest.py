"""Shared by the tests of the page: an index with awkward names, clients, and a server in a thread."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import uvicorn
from fastapi import FastAPI
from PIL import Image
from starlette.testclient import TestClient

from scenekin.web.app import create_app
from scenekin.web.middleware import LOOPBACK
from storage.workspace import Workspace
from tests.command import scenekin
from tests.trained import Trained

MARKUP = "<img src=x onerror=\"document.title=1\"> & 'more'"
NAMES = {  # with a caption each
    "a b#1%20?.jpg": MARKUP,
    "deep/er/plain.jpg": None,
    'it\'s "quoted" <b>.png': "A quiet street.",
    "日本の家.jpg": "A house in the snow.",
}
TURNED = "turned.jpg"  # stored as 60 x 40 pixels, shown rotated by 90 degrees


@pytest.fixture(scope="session")
def client(trained: Trained) -> TestClient:
    """A client of the index `main` of the trained workspace."""
    return client_of(trained)


@pytest.fixture(scope="session")
def odd(trained: Trained, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A collection with awkward names and captions, indexed as `main` in a workspace of its own."""
    folder = tmp_path_factory.mktemp("odd")
    copy = trained.copy(folder)
    collection = folder / "names"
    rows = []
    for seed, (name, caption) in enumerate(NAMES.items()):
        path = collection / name
        path.parent.mkdir(parents=True, exist_ok=True)
        draw(seed).save(path)
        rows += [json.dumps({"file_name": name, "captions": [caption]})] if caption else []
    exif = Image.Exif()
    exif[0x0112] = 6
    draw(9, 60, 40).save(collection / TURNED, exif=exif)
    (collection / "metadata.jsonl").write_text("\n".join(rows))
    (copy.workspace / "index" / "main").rename(copy.workspace / "index" / "other")
    outcome = scenekin("index", collection, "--workspace", copy.workspace)
    assert outcome.code == 0, outcome.err
    return Trained(copy.workspace, collection, copy.config)


def draw(seed: int, width: int = 64, height: int = 48) -> Image.Image:
    """A picture of coarse noise."""
    noise = np.random.default_rng(seed).integers(0, 256, (6, 8, 3), np.uint8)
    return Image.fromarray(noise).resize((width, height))


def client_of(trained: Trained, name: str = "main") -> TestClient:
    """A client on loopback; unexpected errors are raised in the test."""
    return TestClient(create_app(Workspace(trained.workspace), name, hosts=LOOPBACK), base_url="http://localhost")


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """Run a server in a thread; yields its address."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def a_picture(trained: Trained) -> Path:
    """An indexed image without copies."""
    return sorted((trained.collection / "train").glob("*.jpg"))[0]


def an_id(trained: Trained) -> str:
    """Its id."""
    return a_picture(trained).relative_to(trained.collection).as_posix()
