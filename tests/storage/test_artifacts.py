import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from storage.artifacts import (
    MANIFEST,
    Artifact,
    clear_leftovers,
    find_artifact,
    folder_of,
    narrow,
    seconds_of,
    write_artifact,
)
from storage.atomic import temporary_path
from storage.faults import FaultPoint, inject
from storage.workspace import Workspace

FILES = {"table.parquet": "rows", "below/model.bin": "weights"}
BROKEN: dict[str, Callable[[Path], object]] = {
    "a file is gone": lambda folder: (folder / "table.parquet").unlink(),
    "a file is shorter": lambda folder: (folder / "table.parquet").write_text("row"),
    "a folder is gone": lambda folder: shutil.rmtree(folder / "below"),
    "no manifest": lambda folder: (folder / MANIFEST).unlink(),
    "half a manifest": lambda folder: (folder / MANIFEST).write_text((folder / MANIFEST).read_text()[:40]),
    "another manifest": lambda folder: (folder / MANIFEST).write_text("{}"),
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def write(workspace: Workspace, contents: dict[str, str] = FILES, key: str = "k1") -> Artifact:
    def fill(folder: Path) -> None:
        for name, content in contents.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(content)

    return write_artifact(workspace, "stage", key, fill)


def test_what_was_written_is_found_with_its_files(workspace: Workspace) -> None:
    artifact = write(workspace)
    assert find_artifact(workspace, "stage", "k1") == artifact
    assert (artifact.stage, artifact.key) == ("stage", "k1")
    assert {name: (folder_of(workspace, artifact) / name).read_text() for name in FILES} == FILES
    assert folder_of(workspace, artifact) == workspace.artifacts / "stage" / "k1"


def test_what_was_never_written_is_absent(workspace: Workspace) -> None:
    write(workspace)
    assert find_artifact(workspace, "stage", "k2") is None
    assert find_artifact(workspace, "other", "k1") is None


@pytest.mark.parametrize("fault", BROKEN)
def test_what_is_not_whole_is_absent_until_it_is_written_again(fault: str, workspace: Workspace) -> None:
    artifact = write(workspace)
    BROKEN[fault](folder_of(workspace, artifact))
    assert find_artifact(workspace, "stage", "k1") is None
    assert write(workspace) == artifact
    assert find_artifact(workspace, "stage", "k1") == artifact


def test_an_interrupt_before_the_rename_leaves_nothing(workspace: Workspace) -> None:
    def interrupt(folder: Path) -> None:
        assert (folder / MANIFEST).exists()
        assert find_artifact(workspace, "stage", "k1") is None
        raise KeyboardInterrupt

    with inject(FaultPoint.ARTIFACT_WRITTEN, interrupt), pytest.raises(KeyboardInterrupt):
        write(workspace)
    assert find_artifact(workspace, "stage", "k1") is None
    assert list((workspace.artifacts / "stage").iterdir()) == []


def test_leftovers_of_killed_processes_are_cleared(workspace: Workspace) -> None:
    artifact = write(workspace)
    places = [
        workspace.artifacts / "stage" / "k2",
        workspace.models / "m1",
        workspace.index / "main" / "CURRENT",
        workspace.index / "main" / "1" / "verified.json",
    ]
    for number, place in enumerate(places):
        leftover = temporary_path(place)
        leftover.parent.mkdir(parents=True, exist_ok=True)
        leftover.mkdir() if number % 2 else leftover.touch()
    (workspace.root / ".demo-1").mkdir()
    clear_leftovers(workspace)
    assert find_artifact(workspace, "stage", "k1") == artifact
    assert [path for path in workspace.root.rglob("*") if path.name.startswith(".")] == []


def test_the_digest_is_that_of_names_and_contents(workspace: Workspace, tmp_path: Path) -> None:
    digest = write(workspace).digest
    assert write(Workspace(tmp_path / "elsewhere"), dict(reversed(FILES.items())), key="k2").digest == digest
    for other in (FILES | {"table.parquet": "rowt"}, FILES | {"more": ""}, {"table.parquet": "rows"}):
        assert write(workspace, other, key="k3").digest != digest


def test_a_narrowed_artifact_changes_with_its_files_alone(workspace: Workspace) -> None:
    first = write(workspace)
    second = write(workspace, FILES | {"below/model.bin": "other weights"}, key="k2")
    assert first.digest != second.digest
    assert narrow(workspace, first, "table.parquet").digest == narrow(workspace, second, "table.parquet").digest
    both = ("table.parquet", "below/model.bin")
    assert narrow(workspace, first, *both).digest != narrow(workspace, second, *both).digest
    assert folder_of(workspace, narrow(workspace, first, "table.parquet")) == folder_of(workspace, first)
    with pytest.raises(KeyError):
        narrow(workspace, first, "nothing")


def test_the_seconds_are_remembered_and_in_no_digest(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write(workspace)
    clock = iter([100.0, 107.5])
    monkeypatch.setattr("storage.artifacts.time.monotonic", lambda: next(clock))
    slow = write(workspace, key="k2")
    assert seconds_of(workspace, slow) == 7.5
    assert slow.digest == first.digest
