import re
import threading
import time
from pathlib import Path

import pytest

from storage.source.local_files import WORKSPACE_MARK
from storage.workspace import Workspace, locked
from tests.command import Outcome, scenekin
from tests.indexes import TEN, publish_images


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """With three versions of an index, the last in use."""
    space = Workspace(tmp_path)
    for number in range(3):
        publish_images(space, TEN | {f"{name}.png": "new" for name in range(number)})
    return space


def versions(workspace: Workspace, *arguments: object) -> Outcome:
    return scenekin("versions", *arguments, "--workspace", workspace.root)


def in_use(outcome: Outcome) -> list[int]:
    return [row["version"] for row in outcome.answer["versions"] if row["current"]]


def test_versions_are_listed(workspace: Workspace) -> None:
    answer = versions(workspace, "--json").answer
    assert versions(workspace, "list", "--json").answer == answer
    assert answer.keys() == {"versions"}
    keys = {"version", "images", "captioned", "model", "created_at", "collection", "recall", "current"}
    assert [row.keys() for row in answer["versions"]] == 3 * [keys]
    assert [row["recall"] for row in answer["versions"]] == [None, None, None]
    assert [row["images"] for row in answer["versions"]] == [10, 11, 12]
    assert answer["versions"][0]["model"] == {"name": "scenekin", "version": 1}
    assert in_use(versions(workspace, "--json")) == [3]
    lines = versions(workspace).out.splitlines()
    assert [line.split()[:3] for line in lines] == [["1", "10", "images"], ["2", "11", "images"], ["*", "3", "12"]]
    assert all(re.search(r"  \d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d$", line) for line in lines)


def test_going_back_answers_with_the_versions(workspace: Workspace) -> None:
    assert in_use(versions(workspace, "rollback", "--json")) == [2]
    assert in_use(versions(workspace, "rollback", "--json")) == [1]
    assert "before 1 to go back to" in versions(workspace, "rollback", "--json").sentence
    assert in_use(versions(workspace, "rollback", "--to", 3, "--json")) == [3]
    assert in_use(versions(workspace, "--json")) == [3]
    confirmed, missing, *listed = versions(workspace, "rollback", "--to", 1).out.splitlines()
    assert confirmed == "Index main is now version 1."
    assert missing.startswith("The images of the index were in /images, which no longer exists; if they were moved,")
    assert [line[0] for line in listed] == ["*", " ", " "]


def test_a_damaged_version_is_listed_as_such(workspace: Workspace) -> None:
    (workspace.index / "main" / "2" / "manifest.json").unlink()
    row = versions(workspace, "--json").answer["versions"][1]
    assert (row["version"], row["images"], row["current"]) == (2, None, False)
    assert "manifest.json is missing" in row["damage"]
    assert "manifest.json is missing" in versions(workspace).out.splitlines()[1]
    assert "manifest.json is missing" in versions(workspace, "rollback").sentence


def test_what_is_not_there_is_said(workspace: Workspace, tmp_path: Path) -> None:
    for action in ("list", "rollback"):
        assert "There is no index 'other'" in versions(workspace, action, "--name", "other").sentence
        assert "Invalid index name" in versions(workspace, action, "--name", "../main").usage_error
        assert "No such workspace" in scenekin("versions", action, "--workspace", tmp_path / "none").sentence
        (tmp_path / "photos").mkdir(exist_ok=True)
        assert "There is no index" in scenekin("versions", action, "--workspace", tmp_path / "photos").sentence
        assert not any((tmp_path / "photos").iterdir())


def test_going_back_waits_for_no_one_who_writes(workspace: Workspace) -> None:
    with locked(workspace, "another"):
        assert "in use by another" in versions(workspace, "rollback").sentence
        assert in_use(versions(workspace, "--json")) == [3]


def test_going_back_waits_where_it_is_told_to(workspace: Workspace) -> None:
    def release() -> None:
        with locked(workspace, "another"):
            held.set()
            time.sleep(0.5)

    held = threading.Event()
    other = threading.Thread(target=release)
    other.start()
    held.wait(10)
    sentence = versions(workspace, "rollback").sentence
    assert re.search(r"in use by .*\. Use --wait to wait for it, or --workspace for another one\.$", sentence)
    outcome = versions(workspace, "rollback", "--wait", "--json")
    other.join()
    assert in_use(outcome) == [2]
    assert "in use by another" in outcome.err
    assert outcome.err.endswith("; waiting.\n")


@pytest.mark.parametrize("arguments", [["forward"], ["list", "--to", "1"], ["rollback", "--to", "x"]])
def test_wrong_usage_is_another_code(arguments: list[str], workspace: Workspace) -> None:
    assert versions(workspace, *arguments).code == 2


def test_the_workspace_has_to_be_writable_to_go_back(workspace: Workspace) -> None:
    (workspace.root / WORKSPACE_MARK).mkdir()  # no file can take its place
    assert f"Cannot write to the workspace {workspace.root}" in versions(workspace, "rollback").sentence
    assert in_use(versions(workspace, "--json")) == [3]


def test_versions_from_different_places_name_them(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    publish_images(space, TEN)
    publish_images(space, TEN, collection=str(tmp_path), images_root=str(tmp_path), moved=True)
    assert "Version 2 was made from" in versions(space).out
    assert "The images of the index were in" not in versions(space, "rollback", "--to", 2).out
