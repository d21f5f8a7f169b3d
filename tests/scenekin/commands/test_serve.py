import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence

import httpx
import pytest
import uvicorn

from tests.command import scenekin, serve
from tests.trained import Trained

POLICY = """
import importlib.abc, os, sys
import uvicorn

class Watch(importlib.abc.MetaPathFinder):
    def find_spec(self, name, *_):
        if name == "torch":
            print("torch with", os.environ.get("OMP_WAIT_POLICY"))

sys.meta_path.insert(0, Watch())
uvicorn.Server.run = lambda *_, **__: None
from scenekin.cli import app
app(sys.argv[1:])
"""


def test_threads_of_the_network_wait_without_spinning(trained: Trained) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    command = [sys.executable, "-c", POLICY, "serve", "--port", "0", "--workspace", str(trained.workspace)]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert "torch with PASSIVE" in printed


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_ended_and_says_nothing(trained: Trained, number: int) -> None:
    server, address = serve("--workspace", trained.workspace)
    assert address.startswith("http://127.0.0.1:")
    assert httpx.get(f"{address}/api/index", timeout=60).json()["index"]["images"] == 141
    assert httpx.get(f"{address}/", headers={"host": "evil.example"}).status_code == 421
    form = {"content-type": "multipart/form-data; boundary=cut"}
    assert httpx.post(f"{address}/", content=b"--cut\r\na: b\rc", headers=form, timeout=60).status_code == 400
    with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))) as broken:
        broken.sendall(b"\0\r\n\r\n")
        assert broken.recv(99).startswith(b"HTTP/1.1 400")
    server.send_signal(number)
    out, err = server.communicate(timeout=60)
    assert (server.returncode, out.strip(), err) == (0, "", "")


def test_a_host_name_can_be_allowed(trained: Trained) -> None:
    for address in ((), ("--host", "0.0.0.0")):
        server, url = serve("--workspace", trained.workspace, *address, "--allowed-host", "photos.example")
        try:
            own = url.replace("0.0.0.0", "127.0.0.1")
            for host, status in (("photos.example", 200), ("localhost", 200), ("evil.example", 421)):
                assert httpx.get(f"{own}/api/index", headers={"host": host}, timeout=60).status_code == status
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=60)


@pytest.mark.parametrize(
    ("arguments", "follows"),
    [([], True), (["--host", "0.0.0.0"], False), (["--allowed-host", "photos.example"], False)],
)
def test_links_are_followed_for_this_computer_only(
    arguments: list[str], follows: bool, trained: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[bool] = []

    def run(server: uvicorn.Server, **_: object) -> None:
        served.append(server.config.app.state.index.follow_links)  # type: ignore[union-attr]

    monkeypatch.setattr(uvicorn.Server, "run", run)
    scenekin("serve", "--port", "0", "--workspace", trained.workspace, *arguments)
    assert served == [follows]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--host", "256.0.0.1"],
            "Cannot listen on 256.0.0.1:8080: unknown host; set --host to an address of this machine.",
        ),
        (["--host", "no.such.host.invalid"], "Cannot listen on no.such.host.invalid:8080: unknown host"),
        (["--host", "a" * 70], "unknown host"),
        (
            ["--host", "192.0.2.1"],
            "Cannot listen on 192.0.2.1:8080: not an address of this machine; choose another --host.",
        ),
        (["--name", "other"], "no index 'other'"),
    ],
)
def test_what_cannot_be_served_is_a_sentence(trained: Trained, arguments: Sequence[str], words: str) -> None:
    assert words in scenekin("serve", *arguments, "--workspace", trained.workspace).sentence


def test_a_port_in_use_is_a_sentence(trained: Trained) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        sentence = scenekin("serve", "--port", port, "--workspace", trained.workspace).sentence
    assert f"Cannot listen on 127.0.0.1:{port}: address already in use; choose another --port." in sentence


def test_a_workspace_has_to_be_there(tmp_path: object) -> None:
    assert "No such workspace" in scenekin("serve", "--workspace", f"{tmp_path}/none").sentence
