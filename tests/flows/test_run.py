import os
import sqlite3
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

from flows import evaluate, index, train
from flows.run import open_run
from storage.source import digests
from storage.source.digests import file_stamps
from storage.source.tree import list_tree
from storage.workspace import locked, open_workspace
from tasks.caching import Runtime
from tasks.collection.task import digest_collection
from tasks.errors import InputError
from tests.command import scenekin

FLOWS = {"train": train, "index": index, "evaluate": evaluate}


def digest(workspace: Path, collection: Path, *, rehash: bool = False) -> str:
    """The digest that the stages of a run on the collection begin with."""
    with open_run(
        "a test",
        workspace=str(workspace),
        collection=str(collection),
        images=None,
        runtime=Runtime(),
        rehash=rehash,
        new=True,
    ) as run:
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
@pytest.mark.parametrize("option", ["rehash", "wait"])
@pytest.mark.parametrize("given", [False, True])
def test_options_reach_the_run(command: str, option: str, given: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def open_(holder: str, **options: Any) -> None:
        seen.update(options, holder=holder)
        raise Stopped("seen")

    monkeypatch.setattr(FLOWS[command], "open_run", open_)
    assert scenekin(command, "photos", *[f"--{option}"] * given).sentence == "scenekin: seen"
    assert (seen["holder"], seen["collection"], seen[option]) == (command, "photos", given)


def test_libraries_write_inside_the_workspace_only(tmp_path: Path) -> None:
    before = tempfile.gettempdir(), os.environ.get("MPLCONFIGDIR")
    with (
        open_run(
            "a test", workspace=str(tmp_path / "w"), collection=str(tmp_path), images=None, runtime=Runtime(), new=True
        ) as run,
        tempfile.NamedTemporaryFile() as file,
    ):
        assert Path(file.name).is_relative_to(run.workspace.root)
        assert Path(os.environ["MPLCONFIGDIR"]).is_relative_to(run.workspace.root) or before[1]
    assert (tempfile.gettempdir(), os.environ.get("MPLCONFIGDIR")) == before
    assert not (tmp_path / "w" / "tmp").exists()


def test_a_run_waits_for_a_busy_workspace(tmp_path: Path) -> None:
    space, order = open_workspace(tmp_path / "workspace"), []

    def run() -> None:
        with open_run(
            "second", workspace=str(space.root), collection=str(tmp_path), images=None, runtime=Runtime(), wait=True
        ):
            order.append("second")

    with locked(space, "first"):
        waiting = threading.Thread(target=run)
        waiting.start()
        waiting.join(0.3)
        order.append("first")
    waiting.join(30)
    assert order == ["first", "second"]


@pytest.mark.parametrize("command", ["index", "evaluate"])
def test_a_command_in_the_wrong_folder_leaves_no_workspace(command: str, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    outcome = scenekin(command, tmp_path / "photos", "--workspace", tmp_path / "new")
    assert "No such workspace" in outcome.sentence
    assert "`scenekin train` or `scenekin index --untrained` creates it" in outcome.sentence
    assert not (tmp_path / "new").exists()
