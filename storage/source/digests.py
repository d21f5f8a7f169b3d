"""Digests of a collection's files; unchanged files are not read again."""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any, cast

from storage.source.known_files import KnownFiles
from storage.source.tree import Tree, list_tree

SETTLED_NS = 2_000_000_000  # a file that changed this recently may change again without another time stamp
CONTENT_STAMPS = ("ETag", "etag", "md5Hash", "content_hash", "contentHash", "blob_id")  # the services' names for it
READERS = 16  # remote files that are read at a time
UNREADABLE = "unreadable: "

ReportProgress = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]  # label and total → on_step


def tree_digest(tree: Tree, known: KnownFiles, progress: ReportProgress) -> str:
    """Return the SHA-256 of all file names and contents, and of the entries that are not read."""
    content = [file_digests(tree, known, progress), tree.skipped]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def file_digests(tree: Tree, known: KnownFiles, progress: ReportProgress) -> dict[str, str]:
    """Return the SHA-256 of each file by path, or `unreadable: ` and the reason."""
    stamps = file_stamps(tree)
    remembered = _remembered(tree, stamps, known)
    unread = [path for path in tree.paths if path not in remembered]
    read: dict[str, str] = {}
    try:
        for path, digest in _read(tree, unread, progress):
            read[path] = digest
    finally:  # an interrupted run continues where it stopped
        _remember({path: stamps[path] for path in read if path in stamps}, read, tree, known)
    return remembered | read


def remembered_digests(tree: Tree, known: KnownFiles) -> dict[str, str]:
    """Return the SHA-256, by path, of the files that are unchanged since they were last read."""
    return _remembered(tree, file_stamps(tree), known)


def former_digests(tree: Tree, paths: Iterable[str], known_files: Path) -> dict[str, str]:
    """Return the SHA-256 that files, which may no longer exist, had when they were last read."""
    if not known_files.exists():
        return {}
    with KnownFiles(known_files) as known:
        return {path: sha256 for path in paths if (sha256 := known.last(tree.place(path)))}


def _remembered(tree: Tree, stamps: dict[str, str], known: KnownFiles) -> dict[str, str]:
    return {path: sha256 for path, stamp in stamps.items() if (sha256 := known.get(tree.place(path), stamp))}


def _read(tree: Tree, paths: list[str], progress: ReportProgress) -> Iterator[tuple[str, str]]:
    if not paths:
        return
    read = partial(_digest, tree)
    with ThreadPoolExecutor(READERS) as pool, progress("reading files", len(paths)) as on_step:
        found = map(read, paths) if tree.filesystem is None else pool.map(read, paths)  # threads only help remotely
        for path, digest in zip(paths, found, strict=True):
            yield path, digest
            on_step(1)


def _remember(stamps: dict[str, str], digests: dict[str, str], tree: Tree, known: KnownFiles) -> None:
    """Remember the digests of files that did not change while they were read."""
    now = file_stamps(tree if tree.filesystem is None else list_tree(tree.url)) if stamps else {}
    for path, stamp in stamps.items():
        if now.get(path) == stamp and not digests[path].startswith(UNREADABLE):
            known.put(tree.place(path), stamp, digests[path])


def _digest(tree: Tree, path: str) -> str:
    try:
        with tree.open(path) as stream:
            return hashlib.file_digest(cast(Any, stream), "sha256").hexdigest()
    except OSError as error:
        return f"{UNREADABLE}{error.strerror or error}"


def file_stamps(tree: Tree) -> dict[str, str]:
    """Return a stamp by path that changes whenever a file's content does; files without one are left out."""
    stamp = _local_stamp if tree.filesystem is None else _remote_stamp
    return {path: found for path in tree.paths if (found := stamp(tree, path))}


def _local_stamp(tree: Tree, path: str) -> str | None:
    return file_stamp(tree.place(path))


def file_stamp(place: Path | str) -> str | None:
    """Return the stamp of a local file; None if it is missing or changed within the last two seconds."""
    try:
        status = os.stat(place)  # noqa: PTH116  making a Path takes longer than the call
    except OSError:
        return None
    if time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) <= SETTLED_NS:
        return None
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def _remote_stamp(tree: Tree, path: str) -> str | None:
    details = tree.details[path]
    strong = {name: details[name] for name in CONTENT_STAMPS if details.get(name)}
    found = [f"{name} {stamp}" for name, stamp in strong.items() if not str(stamp).startswith("W/")]  # weak ETags
    return " ".join([*found, f"size {details.get('size')}"]) if found else None
