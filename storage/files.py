"""The files of a collection: listed, digested and read through fsspec, local or remote."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import fsspec
from fsspec.implementations.local import LocalFileSystem

from storage.errors import StorageError
from storage.known_files import KnownFiles

CAPTION_FILES = (".json", ".jsonl", ".csv", ".tsv", ".txt", ".token", ".parquet")
WORKSPACE_MARK = ".scenekin-workspace"


@dataclass(frozen=True)
class Tree:
    """All files below a root that are not hidden, in sorted order, relative to it with `/` between."""

    root: str
    paths: tuple[str, ...]
    filesystem: Any

    def open(self, path: str) -> BinaryIO:
        """One file for reading. Raises OSError."""
        return cast(BinaryIO, self.filesystem.open(f"{self.root}/{path}", "rb"))


def list_tree(url: str) -> Tree:
    """The files below a folder or URL, or the single file that it names. Raises StorageError if it cannot be read."""
    try:
        filesystem, root = fsspec.core.url_to_fs(url)
        root = root.rstrip("/")
        if filesystem.isfile(root):
            parent, _, name = root.rpartition("/")
            return Tree(parent, (name,), filesystem)
        if not filesystem.isdir(root):
            raise StorageError(f"There is nothing at {url}; give the folder or file of a collection.")
        found = filesystem.find(root)
    except (OSError, ValueError, ImportError) as error:  # no permission, unknown protocol, its package not there
        raise StorageError(f"{url} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    relative = [path[len(root) + 1 :] for path in found]
    workspaces = tuple(path.removesuffix(WORKSPACE_MARK) for path in relative if path.endswith(f"/{WORKSPACE_MARK}"))
    paths = sorted(path for path in relative if not _hidden(path) and not path.startswith(workspaces))
    return Tree(root, tuple(paths), filesystem)


@dataclass(frozen=True)
class Source:
    """Where a collection is: a folder, file or URL, and the folder of its images if that is elsewhere."""

    url: str
    images: str | None = None

    @property
    def name(self) -> str:
        """What people call it: the last part of its path."""
        return self.url.rstrip("/").rpartition("/")[2]

    def trees(self) -> tuple[Tree, Tree]:
        """The collection's files, and those that its image paths refer to. Raises StorageError."""
        files = list_tree(self.url)
        if self.images is not None:
            images = list_tree(self.images)
            if _is_file(images, self.images):
                raise StorageError(f"{self.images} is a file; --images takes the folder of the images.")
            return files, images
        if not _is_file(files, self.url):
            return files, files
        if not files.paths[0].lower().endswith(CAPTION_FILES):
            raise StorageError(f"{self.url} is a single file that holds no captions; give the folder of a collection.")
        return files, list_tree(files.filesystem.unstrip_protocol(files.root))


def _is_file(tree: Tree, url: str) -> bool:
    return len(tree.paths) == 1 and f"{tree.root}/{tree.paths[0]}" == _path_of(url)


def _path_of(url: str) -> str:
    path: str = fsspec.core.url_to_fs(url)[1]
    return path.rstrip("/")


def _hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/"))


def tree_digest(tree: Tree, known: KnownFiles) -> str:
    """SHA-256 over all names and contents; where the file system is local, unchanged files are not read again."""
    digests = {path: _digest(tree, path, known) for path in tree.paths}
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()


def _digest(tree: Tree, path: str, known: KnownFiles) -> str:
    try:
        if isinstance(tree.filesystem, LocalFileSystem):
            return known.digest(Path(tree.root, path))
        with tree.open(path) as stream:
            return hashlib.sha256(stream.read()).hexdigest()
    except OSError as error:
        return f"unreadable: {error.strerror}"


class ChangedFile(OSError):
    """A file is not what it was when its collection was read."""


def reader(tree: Tree, sha256_of: Mapping[str, str]) -> Callable[[str], bytes]:
    """Read files by path; one whose bytes differ from its digest raises ChangedFile."""

    def read(path: str) -> bytes:
        with tree.open(path) as stream:
            data = stream.read()
        if hashlib.sha256(data).hexdigest() != sha256_of[path]:
            raise ChangedFile(f"{path} changed while it was in use; run again")
        return data

    return read
