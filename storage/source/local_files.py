"""The files below a local folder: links to folders are followed, each folder is listed once, and nothing is opened."""

import heapq
import os
from pathlib import Path
from typing import NamedTuple

WORKSPACE_MARK = ".scenekin-workspace"

Identity = tuple[int, int]


class Skipped(NamedTuple):
    """Something that is there and is no file to read; the path of a folder ends in `/`."""

    kind: str
    path: str
    reason: str


def walk(root: Path) -> tuple[list[str], list[Skipped]]:
    """Sorted paths of the files below a folder that are not hidden, and what is passed over. Raises OSError.

    Real folders come before linked ones, so that a file has the same path whatever order the system lists it in.
    Workspaces below the root are no part of it.
    """
    files: list[str] = []
    skipped: list[Skipped] = []
    held = "a folder that holds the collection; the link is not followed"
    seen = {_identity(folder): held for folder in root.resolve().parents}
    folders = [(0, "")]  # a heap of how many links lead to a folder, and its path
    while folders:
        links, path = heapq.heappop(folders)
        try:
            identity = _identity(root / path)
            if identity in seen:
                skipped.append(Skipped("repeated-folder", path, seen[identity]))
                continue
            seen[identity] = f"the same folder as {path or './'}; its files are listed once"
            with os.scandir(root / path) as entries:
                shown = _shown(list(entries), path)
        except OSError as error:
            if not path:
                raise
            skipped.append(Skipped("unreadable-folder", path, f"{error.strerror or error}; nothing in it is listed"))
            continue
        for entry in shown:
            found = _look(entry, path + entry.name)
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


def _shown(entries: list[os.DirEntry[str]], folder: str) -> list[os.DirEntry[str]]:
    """What is not hidden; nothing of a workspace below the root."""
    if folder and any(entry.name == WORKSPACE_MARK for entry in entries):
        return []
    return [entry for entry in entries if not entry.name.startswith(".")]


def _look(entry: os.DirEntry[str], path: str) -> str | Skipped:
    """The path of a file, that of a folder with `/`, or why it is neither."""
    try:
        if entry.is_dir():
            return f"{path}/"
        if entry.is_file():
            return path
        entry.stat()  # raises where a link leads nowhere
    except OSError as error:
        return Skipped("dead-link", path, f"the link cannot be followed ({error.strerror or error}); it is not used")
    return Skipped("special-file", path, "a pipe, socket or device; it is not opened")
