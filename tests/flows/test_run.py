import inspect
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from flows import evaluate, index, train
from flows.run import open_run
from storage.source import digests
from storage.source.digests import file_stamps
from storage.source.tree import list_tree
from storage.workspace import open_workspace
from tasks.caching import Runtime
from tasks.collection.task import digest_collection
from tasks.errors import InputError
from tests.command import scenekin

FLOWS = {"train": train, "index": index, "evaluate": evaluate}


def digest(workspace: Path, collection: Path, *, rehash: bool = False) -> str:
    """The digest that the stages of a run on the collection begin with."""
    with open_run("a test", str(workspace), str(collection), None, Runtime(), rehash) as run:
        return digest_collection(run.workspace, run.source)


def test_all_files_are_read_again_when_asked_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "SETTLED_NS", -(10**18))
    workspace, collection = tmp_path / "workspace", tmp_path / "collection"
    collection.mkdir()
    file = collection / "0.jpg"
    file.write_bytes(b"one")
    before = digest(workspace, collection)
    status = file.stat()
    file.write_bytes(b"two")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    stamp = file_stamps(list_tree(str(collection)))["0.jpg"]
    with sqlite3.connect(open_workspace(workspace).known_files) as database:  # as if the change had left no trace
        database.execute("UPDATE digest SET stamp = ?", (stamp,))
    assert digest(workspace, collection) == before
    changed = digest(workspace, collection, rehash=True)
    assert changed != before
    assert digest(workspace, collection) == changed


class Stopped(InputError):
    """Ends a command where the test has seen enough."""


@pytest.mark.parametrize("command", FLOWS)
@pytest.mark.parametrize("rehash", [False, True])
def test_commands_hand_the_wish_on_to_their_flows(command: str, rehash: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def run(flow: Any, *args: Any) -> None:
        seen.update(inspect.signature(flow.fn).bind(*args).arguments)
        raise Stopped("seen")

    monkeypatch.setattr(f"scenekin.commands.{command}.run_flow", run)
    assert scenekin(command, "photos", *["--rehash"] * rehash).sentence == "scenekin: seen"
    assert seen["rehash"] is rehash


@pytest.mark.parametrize("command", FLOWS)
def test_flows_hand_it_on_to_what_opens_the_workspace(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def open_(*args: Any) -> None:
        assert inspect.signature(open_run).bind(*args).arguments["rehash"] is True
        raise Stopped("seen")

    monkeypatch.setattr(FLOWS[command], "opened", open_)
    with pytest.raises(Stopped):
        getattr(FLOWS[command], f"{command}_flow").fn("photos", rehash=True)
