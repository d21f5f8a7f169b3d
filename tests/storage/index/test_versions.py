import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from storage.errors import StorageError
from storage.faults import FaultPoint, inject
from storage.index.manifest import Manifest
from storage.index.rows import index_vectors
from storage.index.versions import current_manifest, current_version, drop_old, read_current, roll_back
from storage.workspace import Workspace
from tests.indexes import DIMENSION, PART, TEN, counts, publish_images, vector, versions


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def test_without_an_index_there_is_no_manifest(workspace: Workspace) -> None:
    assert current_manifest(workspace, "main") is None


def test_whoever_reads_meanwhile_always_sees_a_whole_version(workspace: Workspace) -> None:
    publish_images(workspace)
    seen, published = set[int](), threading.Event()

    def whole(manifest: Manifest) -> int:
        assert index_vectors(workspace, manifest).shape == (manifest.images, DIMENSION)
        return manifest.version

    def read() -> None:
        while not published.is_set():
            version = read_current(workspace, "main", whole)
            assert version is not None
            seen.add(version)

    failures: list[object] = []
    monitor = threading.Thread(target=lambda: failures.extend(failure_of(read)))
    monitor.start()
    for number in range(20):
        publish_images(workspace, TEN | {"new.jpg": f"{number}"})
        drop_old(workspace, "main", 0)
    published.set()
    monitor.join()
    assert failures == []
    assert len(seen) > 1


def failure_of(function: Callable[[], None]) -> list[object]:
    try:
        function()
    except BaseException as error:
        return [error]
    return []


def test_a_version_under_another_name_or_number_is_refused(workspace: Workspace) -> None:
    publish_images(workspace)
    shutil.copytree(workspace.index / "main", workspace.index / "other")
    with pytest.raises(StorageError, match=r"'other' is damaged: manifest\.json belongs to version 1 of 'main'"):
        current_manifest(workspace, "other")
    publish_images(workspace, TEN | {"new.jpg": "new"})
    shutil.copy(workspace.index / "main" / "1" / "manifest.json", workspace.index / "main" / "2" / "manifest.json")
    with pytest.raises(StorageError, match="Version 2 of the index 'main' is damaged"):
        current_manifest(workspace, "main")


def test_what_does_not_say_which_version_is_in_use_is_refused_and_mended(workspace: Workspace) -> None:
    publish_images(workspace)
    for text in ("", "two"):
        (workspace.index / "main" / "CURRENT").write_text(text)
        with pytest.raises(StorageError, match="current version of the index 'main' is unknown"):
            current_manifest(workspace, "main")
    assert publish_images(workspace).version == current_version(workspace, "main") == 2


def four_versions(workspace: Workspace) -> None:
    for number in range(1, 5):
        publish_images(workspace, TEN | {"new.jpg": f"{number}"})


def test_rolling_back_goes_to_the_version_before_or_to_a_named_one(workspace: Workspace) -> None:
    four_versions(workspace)
    assert roll_back(workspace, "main").version == current_version(workspace, "main") == 3
    assert roll_back(workspace, "main").version == current_version(workspace, "main") == 2
    assert roll_back(workspace, "main", to=4).version == current_version(workspace, "main") == 4
    manifest = roll_back(workspace, "main", to=1)
    with pytest.raises(StorageError, match="'main' has no version before 1"):
        roll_back(workspace, "main")
    with pytest.raises(StorageError, match="'main' has no version 9; its versions are 1, 2, 3, 4"):
        roll_back(workspace, "main", to=9)
    with pytest.raises(StorageError, match="no index 'other'"):
        roll_back(workspace, "other")
    assert current_manifest(workspace, "main") == manifest


def test_after_going_back_the_next_version_has_a_higher_number(workspace: Workspace) -> None:
    four_versions(workspace)
    roll_back(workspace, "main", to=2)
    same = publish_images(workspace, TEN | {"new.jpg": "2"})
    assert (same.version, counts(same)) == (2, (0, 0, 0, 11))
    newer = publish_images(workspace, TEN | {"new.jpg": "4"})
    assert (newer.version, counts(newer)) == (5, (0, 1, 0, 10))


def test_no_one_goes_back_to_a_damaged_version_but_from_one(workspace: Workspace) -> None:
    four_versions(workspace)
    (workspace.index / "main" / "4" / PART).unlink()
    (workspace.index / "main" / "3" / PART).write_text("hello")
    with pytest.raises(StorageError, match=f"Version 3 .* is damaged: {PART} is truncated"):
        roll_back(workspace, "main")
    assert current_version(workspace, "main") == 4
    assert roll_back(workspace, "main", to=2).version == 2


@pytest.mark.parametrize(("keep", "kept"), [(0, "4"), (1, "34"), (3, "1234"), (4, "1234"), (9, "1234")])
def test_old_versions_go_and_the_newest_are_kept(keep: int, kept: str, workspace: Workspace) -> None:
    four_versions(workspace)
    drop_old(workspace, "main", keep)
    assert versions(workspace) == list(kept)


def test_the_version_in_use_is_never_dropped(workspace: Workspace) -> None:
    four_versions(workspace)
    manifest = roll_back(workspace, "main", to=1)
    embedding_ND = index_vectors(workspace, manifest)
    drop_old(workspace, "main", 1)
    assert versions(workspace) == ["1", "4"]
    roll_back(workspace, "main", to=4)
    drop_old(workspace, "main", 0)
    assert versions(workspace) == ["4"]
    assert (embedding_ND[0] == vector("sha-0")).all()  # whoever has it mapped reads on


def test_a_reader_whose_version_goes_meanwhile_sees_the_newer_one(workspace: Workspace) -> None:
    first = publish_images(workspace)
    newer: list[Manifest] = []

    def replace(folder: Path) -> None:
        if not newer and folder.name == str(first.version):
            newer.append(first)  # publishing reads the version too
            newer[0] = publish_images(workspace, TEN | {"new.jpg": "new"})
            drop_old(workspace, "main", 0)

    with inject(FaultPoint.INDEX_MANIFEST_READ, replace):
        assert current_manifest(workspace, "main") == newer[0]
    assert len(newer) == 1


@pytest.mark.parametrize("name", ["", ".", "..", "../artifacts", "a/b", ".hidden", "a b"])
def test_a_name_stays_inside_the_workspace(name: str, workspace: Workspace) -> None:
    with pytest.raises(StorageError, match="Invalid index name"):
        publish_images(workspace, name=name)
    with pytest.raises(StorageError, match="Invalid index name"):
        current_manifest(workspace, name)
