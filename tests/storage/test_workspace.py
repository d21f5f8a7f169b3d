import errno
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import storage
from storage.errors import StorageError
from storage.workspace import Workspace, locked, open_workspace

HOLD = """
import sys, time
from storage.workspace import locked, open_workspace
with locked(open_workspace(sys.argv[1]), "train"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_the_folder_is_made_with_a_mark_alone(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path / "a" / "b")
    assert workspace.root == tmp_path / "a" / "b"
    assert [path.name for path in workspace.root.iterdir()] == [".scenekin-workspace"]


def test_the_environment_or_the_current_folder_say_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SCENEKIN_HOME", raising=False)
    assert open_workspace().root == tmp_path / ".scenekin"
    monkeypatch.setenv("SCENEKIN_HOME", str(tmp_path / "home"))
    assert open_workspace().root == tmp_path / "home"
    assert open_workspace("given").root == tmp_path / "given"


def test_everything_lies_below_the_root(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    parts = ["artifacts", "work", "models", "index", "reports", "mlflow_artifacts", "known_files"]
    places = [getattr(workspace, part) for part in parts]
    assert all(place.parent == tmp_path for place in places)
    assert len(set(places)) == len(places)
    assert workspace.mlflow_uri == f"sqlite:///{tmp_path}/mlflow.db"


def test_a_folder_that_cannot_be_written_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    below = tmp_path / "file" / "below"
    for wrong, sentence in (
        (tmp_path / "file", f"{tmp_path / 'file'} is a file, not a workspace folder."),
        (below, f"Cannot write to the workspace {below}: Not a directory."),
    ):
        with pytest.raises(StorageError, match=f"^{re.escape(sentence)}$"):
            open_workspace(wrong)


def test_a_held_lock_names_its_holder_and_is_free_afterwards(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path)
    with locked(workspace, "train"), pytest.raises(StorageError, match="in use by train"), locked(workspace, "index"):
        pytest.fail("held twice")
    with locked(workspace, "index"):
        pass


def test_a_failure_frees_the_lock(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path)
    with pytest.raises(ZeroDivisionError), locked(workspace, "train"):
        raise ZeroDivisionError
    with locked(workspace, "index"):
        assert "index" in (tmp_path / "lock").read_text()


def test_another_process_s_lock_names_it_and_ends_with_it(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path)
    here = Path(storage.__file__).parents[1]
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=here) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            who = re.escape(f"{tmp_path} is in use by train (process {process.pid} on ")
            with pytest.raises(StorageError, match=who), locked(workspace, "index"):
                pytest.fail("held twice")
        finally:
            process.send_signal(signal.SIGKILL)
    with (
        locked(workspace, "index"),
        pytest.raises(StorageError, match="in use by index"),
        locked(workspace, "train"),
    ):
        pytest.fail("held twice")


def test_a_holder_that_has_not_said_its_name_yet_is_another_process(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path)
    with locked(workspace, "train"):
        (tmp_path / "lock").write_text("")
        with pytest.raises(StorageError, match="in use by another process"), locked(workspace, "index"):
            pytest.fail("held twice")


@pytest.mark.parametrize("make", ["link", "dangling link", "hard link", "pipe", "folder"])
def test_a_lock_that_is_no_file_of_ours_is_not_opened(make: str, tmp_path: Path) -> None:
    workspace, victim = open_workspace(tmp_path / "workspace"), tmp_path / "victim"
    lock = workspace.root / "lock"
    victim.write_text("valuable")
    match make:
        case "link":
            lock.symlink_to(victim)
        case "dangling link":
            lock.symlink_to(tmp_path / "none")
        case "hard link":
            lock.hardlink_to(victim)
        case "pipe":
            os.mkfifo(lock)
        case "folder":
            lock.mkdir()
    with pytest.raises(StorageError, match=f"^Cannot open the lock file {lock}: .*; remove it"), locked(workspace, "x"):
        pytest.fail("locked")
    assert victim.read_text() == "valuable"
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_named(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(_descriptor: object, _operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", flock)
    sentence = f"^Cannot lock the workspace {tmp_path}: {os.strerror(number)}; use a folder on a local disk"
    with pytest.raises(StorageError, match=sentence), locked(open_workspace(tmp_path), "train"):
        pytest.fail("locked")
