"""Index versions: immutable folders of Parquet files with a manifest, and a pointer to the current one."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from storage.atomic import fresh_file
from storage.errors import StorageError
from storage.index.manifest import MANIFEST, Manifest
from storage.index.verify import changed_files, part_fault
from storage.workspace import Workspace

CURRENT = "CURRENT"

T = TypeVar("T")


def home(workspace: Workspace, name: str) -> Path:
    """The folder of an index. Raises StorageError where the name would lead elsewhere."""
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise StorageError(f"{name!r} cannot name an index; use letters, digits, dots, hyphens and underscores.")
    return workspace.index / name


def version_numbers(workspace: Workspace, name: str) -> list[int]:
    """The versions that are there, whole or damaged, the oldest first."""
    folder = home(workspace, name)
    return sorted(int(path.name) for path in folder.glob("*") if path.name.isdecimal() and path.is_dir())


def current_version(workspace: Workspace, name: str) -> int | None:
    """The number of the version in use, which costs next to nothing to ask; None where there is no such index."""
    try:
        return int((home(workspace, name) / CURRENT).read_text())
    except OSError:
        return None
    except ValueError as error:
        raise StorageError(
            f"The index {name!r} does not say which version is in use; run `scenekin index` again."
        ) from error


def current_manifest(workspace: Workspace, name: str) -> Manifest | None:
    """The manifest of the version in use; None where there is no index of that name.

    Raises StorageError where it, or a part of what it lists, is damaged.
    """
    return read_current(workspace, name, lambda manifest: manifest)


def read_current(workspace: Workspace, name: str, read: Callable[[Manifest], T]) -> T | None:
    """What `read` makes of the version in use; None where there is no index of that name.

    It reads again where a newer version came, and this one went, meanwhile. Raises StorageError as current_manifest.
    """
    while (version := current_version(workspace, name)) is not None:
        try:
            return read(sound_manifest(workspace, name, version))
        except (OSError, StorageError):
            if current_version(workspace, name) == version:
                raise
    return None


def no_index(workspace: Workspace, name: str) -> StorageError:
    """What to say where there is no index of that name."""
    return StorageError(f"There is no index {name!r} in {workspace.root}; make one with `scenekin index COLLECTION`.")


def read_manifest(workspace: Workspace, name: str, version: int) -> Manifest:
    """What a version says that it holds. Raises StorageError where it does not say."""
    try:
        manifest = Manifest.model_validate_json((home(workspace, name) / str(version) / MANIFEST).read_text())
    except OSError as error:
        raise _damaged(name, version, f"{MANIFEST} is missing") from error
    except ValueError as error:
        raise _damaged(name, version, f"{MANIFEST} is cut short or something else") from error
    if (manifest.name, manifest.version) != (name, version):
        raise _damaged(name, version, f"{MANIFEST} is that of version {manifest.version} of {manifest.name!r}")
    return manifest


def sound_manifest(workspace: Workspace, name: str, version: int) -> Manifest:
    """The manifest of a version whose parts are what was published. Raises StorageError naming what is not."""
    manifest = read_manifest(workspace, name, version)
    folder = home(workspace, name) / str(version)
    for part in changed_files(folder, manifest.parts):
        raise _damaged(name, version, f"{part} {part_fault(folder / part, manifest.part_metadata)}")
    return manifest


def _damaged(name: str, version: int, fault: str) -> StorageError:
    return StorageError(
        f"Version {version} of the index {name!r} is damaged: {fault}; run `scenekin index` again, "
        "or go back by `scenekin versions rollback`."
    )


def make_current(workspace: Workspace, name: str, version: int) -> None:
    """In one rename: whoever opens the index sees the version before or this one."""
    folder = home(workspace, name)
    with fresh_file(folder / CURRENT) as temporary:
        temporary.write_text(str(version))


def roll_back(workspace: Workspace, name: str, to: int | None = None) -> Manifest:
    """Make an earlier version current: the one before, or `to`. The caller holds the workspace's lock.

    Raises StorageError where there is none, or where it is damaged.
    """
    current = current_version(workspace, name)
    if current is None:
        raise no_index(workspace, name)
    there = version_numbers(workspace, name)
    earlier = [number for number in there if number < current]
    if to is None and not earlier:
        raise StorageError(f"There is no version of the index {name!r} before {current} to go back to.")
    version = earlier[-1] if to is None else to
    if version not in there:
        raise StorageError(
            f"There is no version {version} of the index {name!r}; there are {', '.join(map(str, there))}."
        )
    manifest = sound_manifest(workspace, name, version)
    make_current(workspace, name, version)
    return manifest


def drop_old(workspace: Workspace, name: str, keep: int) -> None:
    """Remove all versions but the current one and the `keep` newest others. The caller holds the workspace's lock.

    A version vanishes in one rename; whoever has its files open or mapped reads on.
    """
    folder, current = home(workspace, name), current_version(workspace, name)
    others = [number for number in version_numbers(workspace, name) if number != current]
    for number in others[: max(0, len(others) - keep)]:
        temporary = folder / f".{number}.{os.getpid()}.tmp"
        (folder / str(number)).rename(temporary)
        shutil.rmtree(temporary)
