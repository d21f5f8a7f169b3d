"""The files below a local folder. Links to folders are followed, each folder is listed once, no file is opened."""

import heapq
import os
from pathlib import Path
from typing import NamedTuple

WORKSPACE_MARK = ".scenekin-workspace"

Identity = tuple[int, int]


class Skipped(NamedTuple):
    """An entry that is not a readable file. Paths of folders end in `/`."""

    kind: str
    path: str
    reason: str


def walk(root: Path, follow_links: bool = False) -> tuple[list[str], list[Skipped]]:
    """Return the sorted paths of the visible files below a folder, and the skipped entries. Raises OSError.

    Real folders are listed before linked ones, so that a file's path does not depend on the order of the file system.
    Workspaces below the root are left out. Links out of the root are skipped unless `follow_links` is set.
    """
    files: list[str] = []
    real = os.path.realpath(root)
    skipped: list[Skipped] = []
    above = "a folder that contains the collection; the link is not followed"
    seen = {_identity(folder): above for folder in Path(real).parents}
    folders = [(0, "")]  # a heap of folders: the number of links on the way, and the path
    while folders:
        links, path = heapq.heappop(folders)
        try:
            identity = _identity(root / path)
            if identity in seen:
                skipped.append(Skipped("repeated-folder", path, seen[identity]))
                continue
            seen[identity] = f"the same folder as {path or './'}; its files are listed once"
            with os.scandir(root / path) as entries:
                visible = _visible(list(entries), path)
        except OSError as error:
            if not path:
                raise
            skipped.append(Skipped("unreadable-folder", path, f"{error.strerror or error}; its files are not listed"))
            continue
        for entry in visible:
            found = _classify(entry, path + entry.name, None if follow_links else real)
            if isinstance(found, Skipped):
                skipped.append(found)
            elif found.endswith("/"):
                heapq.heappush(folders, (links + entry.is_symlink(), found))
            else:
                files.append(found)
    return sorted(files), sorted(skipped)


def _identity(folder: Path) -> Identity:
    status = folder.stat()
    return status.st_dev, status.st_ino


def _leaves(link: str, folder: str) -> bool:
    target = os.path.realpath(link)
    return os.path.commonpath([target, folder]) not in {folder, target}


def _visible(entries: list[os.DirEntry[str]], folder: str) -> list[os.DirEntry[str]]:
    """Return the entries that are not hidden; none of a workspace below the root."""
    if folder and any(entry.name == WORKSPACE_MARK for entry in entries):
        return []
    return [entry for entry in entries if not entry.name.startswith(".")]


def _classify(entry: os.DirEntry[str], path: str, inside: str | None) -> str | Skipped:
    """Return the path of a file, the path of a folder with `/`, or why the entry is skipped.

    A link has to lead to `inside`, if given, or to a folder above, which is skipped later.
    """
    try:
        if inside and entry.is_symlink() and (entry.is_file() or entry.is_dir()) and _leaves(entry.path, inside):
            return Skipped("outside-link", path, "the link leads out of the collection; follow it with --follow-links")
        if entry.is_dir():
            return f"{path}/"
        if entry.is_file():
            return path
        entry.stat()  # raises for a dead link
    except OSError as error:
        return Skipped("dead-link", path, f"a broken link ({error.strerror or error}); it is ignored")
    return Skipped("special-file", path, "a pipe, socket or device; it is not opened")
