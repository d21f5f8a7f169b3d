"""Index versions: immutable folders of Parquet files with a manifest, and a pointer to the current one."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from storage.atomic import fresh_file, temporary_path
from storage.errors import InvalidName, StorageError
from storage.faults import FaultPoint, reach
from storage.index.manifest import MANIFEST, Manifest
from storage.index.verify import changed_files, part_fault
from storage.workspace import Workspace

CURRENT = "CURRENT"

T = TypeVar("T")


def index_folder(workspace: Workspace, name: str) -> Path:
    """Return the folder of an index. Raises StorageError for a name that is no plain file name."""
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise InvalidName(f"Invalid index name: {name!r}; use letters, digits, dots, hyphens and underscores.")
    return workspace.index / name


def missing_index(workspace: Workspace, name: str) -> StorageError:
    """Return the error for an index that does not exist."""
    return StorageError(f"There is no index {name!r} in {workspace.root}; create it with `scenekin index COLLECTION`.")


def version_numbers(workspace: Workspace, name: str) -> list[int]:
    """Return the numbers of all versions, damaged ones too, oldest first."""
    folder = index_folder(workspace, name)
    return sorted(int(path.name) for path in folder.glob("*") if path.name.isdecimal() and path.is_dir())


def current_version(workspace: Workspace, name: str) -> int | None:
    """Return the number of the current version, None if there is no such index. It reads one small file.

    Raises StorageError if that file is damaged.
    """
    try:
        return int((index_folder(workspace, name) / CURRENT).read_text(encoding="utf-8"))
    except OSError:
        return None
    except ValueError as error:
        raise StorageError(
            f"The current version of the index {name!r} is unknown: {CURRENT} is damaged; run `scenekin index` again."
        ) from error


def make_current(workspace: Workspace, name: str, version: int) -> None:
    """Move the pointer in one rename: readers see either the previous version or this one."""
    folder = index_folder(workspace, name)
    with fresh_file(folder / CURRENT) as temporary:
        temporary.write_text(str(version), encoding="utf-8")
        reach(FaultPoint.BEFORE_CURRENT_MOVES, folder)
    reach(FaultPoint.AFTER_CURRENT_MOVED, folder)


def read_manifest(workspace: Workspace, name: str, version: int) -> Manifest:
    """Read the manifest of a version. Raises StorageError if it is missing, damaged or another version's."""
    try:
        manifest = Manifest.model_validate_json((index_folder(workspace, name) / str(version) / MANIFEST).read_bytes())
    except OSError as error:
        raise _damaged(name, version, f"{MANIFEST} is missing") from error
    except ValueError as error:
        raise _damaged(name, version, f"{MANIFEST} is truncated or not a manifest") from error
    if (manifest.name, manifest.version) != (name, version):
        raise _damaged(name, version, f"{MANIFEST} belongs to version {manifest.version} of {manifest.name!r}")
    return manifest


def sound_manifest(workspace: Workspace, name: str, version: int) -> Manifest:
    """Read the manifest of a version and check its parts. Raises StorageError naming the first damaged part."""
    manifest = read_manifest(workspace, name, version)
    folder = index_folder(workspace, name) / str(version)
    reach(FaultPoint.INDEX_MANIFEST_READ, folder)
    for part in changed_files(folder, manifest.parts):
        raise _damaged(name, version, f"{part} {part_fault(folder / part, manifest.part_metadata)}")
    return manifest


def _damaged(name: str, version: int, fault: str) -> StorageError:
    return StorageError(
        f"Version {version} of the index {name!r} is damaged: {fault}; run `scenekin index` again, "
        "or go back with `scenekin versions rollback`."
    )


def current_manifest(workspace: Workspace, name: str) -> Manifest | None:
    """Return the manifest of the current version, None if there is no such index.

    Raises StorageError if the version is damaged.
    """
    return read_current(workspace, name, lambda manifest: manifest)


def read_current(workspace: Workspace, name: str, read: Callable[[Manifest], T]) -> T | None:
    """Return `read(manifest)` of the current version, None if there is no such index.

    Reads again if the version was replaced and removed meanwhile. Raises StorageError if the version is damaged.
    """
    while (version := current_version(workspace, name)) is not None:
        try:
            return read(sound_manifest(workspace, name, version))
        except (OSError, StorageError):
            if current_version(workspace, name) == version:
                raise
    return None


def roll_back(workspace: Workspace, name: str, to: int | None = None) -> Manifest:
    """Make the previous version, or version `to`, current, and return its manifest.

    The caller holds the workspace's lock. Raises StorageError if there is no such version or it is damaged.
    """
    current = current_version(workspace, name)
    if current is None:
        raise missing_index(workspace, name)
    existing = version_numbers(workspace, name)
    earlier = [number for number in existing if number < current]
    if to is None and not earlier:
        raise StorageError(f"The index {name!r} has no version before {current} to go back to.")
    version = earlier[-1] if to is None else to
    if version not in existing:
        numbers = ", ".join(map(str, existing))
        raise StorageError(f"The index {name!r} has no version {version}; its versions are {numbers}.")
    manifest = sound_manifest(workspace, name, version)
    make_current(workspace, name, version)
    return manifest


def drop_old(workspace: Workspace, name: str, keep: int) -> None:
    """Remove all versions but the current one and the `keep` newest others. The caller holds the workspace's lock.

    A version disappears in one rename; processes that have its files open or mapped can go on reading.
    """
    folder, current = index_folder(workspace, name), current_version(workspace, name)
    others = [number for number in version_numbers(workspace, name) if number != current]
    for number in others[: max(0, len(others) - keep)]:
        temporary = temporary_path(folder / str(number))
        (folder / str(number)).rename(temporary)
        shutil.rmtree(temporary)
