"""Resolves image names, as written in a captions file, to paths on disk."""

import posixpath
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from urllib.parse import unquote

from tasks.collection.image_names import EXTENSION, is_image
from tasks.collection.records import Item, Problem

MOST = 0.9  # share of the names that exist anywhere which one folder must have to be the folder of all names


class ImagePaths:
    """The paths below the images' root, found by name.

    A name that is written differently finds a file only if no other one fits, and `inexact` reports it if letter case,
    an omitted extension, blanks around it or `%20` is the difference.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self._exact = frozenset(paths)
        self._by_form = _unique((_nfc(path), path) for path in paths)
        images = [path for path in paths if is_image(path)]
        self._images = images
        self._by_case = _unique((plain(path), path) for path in images)
        self._by_stem = _unique((_stem(path), path) for path in images)
        self._folders = _folders(images)
        self._written: dict[str, str] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._exact

    def has_folder(self, folder: str) -> bool:
        """Return whether there is an image below the folder, whatever the letter case."""
        return plain(folder.strip("/")) in self._folders

    def find(self, name: str, folder: str = "") -> str:
        r"""Return the path of `name` relative to `folder`; if no such file exists, the path it should have.

        Tried in order: the name unchanged; with `.` and `..` resolved; with `\` as `/`; the only path with the same
        NFC form; the only image that differs by letter case; for a name without extension, the only image so named;
        and all of these without blanks around the name, and with `%20` as a blank.
        """
        path, certain = self._find(name, folder)
        if path in self._exact and certain:
            return path
        for spelling in _spellings(name):
            inexact, _ = self._find(spelling, folder)
            if inexact in self._exact:
                self._written.setdefault(inexact, name)
                return inexact
        return path

    def _find(self, name: str, folder: str) -> tuple[str, bool]:
        """Return the path, and whether the name fits it."""
        written = posixpath.join(folder, name)
        for path in (written, posixpath.normpath(written), posixpath.normpath(written.replace("\\", "/"))):
            if path in self._exact:
                return path, True
        if _nfc(path) in self._by_form:
            return self._by_form[_nfc(path)], True
        inexact = self._by_case.get(plain(path))
        if inexact is None and EXTENSION.search(path) is None:
            inexact = self._by_stem.get(plain(path))
        return (path if inexact is None else inexact), False

    def inexact(self, items: Iterable[Item]) -> list[Problem]:
        """Return a problem for every item whose image was found under another letter case or without extension."""
        found = [(item.path, self._written[item.path]) for item in items if item.path in self._written]
        return [Problem("inexact-name", path, f"used for '{name}', which does not exist") for path, name in found]

    def folder_of(self, names: Iterable[str]) -> str:
        """Return the folder ("" or ending in `/`) below which nearly all names exist that exist anywhere, else "".

        Names are compared as `find` does; of several folders, one with more exact names is preferred, then the first.
        """
        exact = frozenset(names)
        wanted = {plain(as_path(spelling)) for name in exact for spelling in _spellings(name)}
        votes: Counter[str] = Counter()
        exact_votes: Counter[str] = Counter()
        seen = set()
        for name, path, folder in endings(self._paths, wanted):
            votes[folder] += 1
            exact_votes[folder] += path[len(folder) :] in exact
            seen.add(name)
        best = min(votes, key=lambda folder: (-votes[folder], -exact_votes[folder], folder), default="")
        return best if votes[best] >= MOST * len(seen) else ""

    def ending_in(self, names: Set[str]) -> Iterator[tuple[str, str]]:
        """Yield each of the `plain` names that an image's path ends in, with that path."""
        return ((name, path) for name, path, _ in endings(self._images, names))

    def unlisted(self, items: Iterable[Item]) -> list[Item]:
        """Return the images on disk that no item refers to, each as an item without captions."""
        listed = {item.path for item in items}
        return [Item(path, path) for path in self._images if path not in listed]


def as_path(name: str) -> str:
    r"""Return a name as a path with `.` and `..` resolved and `\` as `/`."""
    return posixpath.normpath(name.replace("\\", "/"))


def plain(path: str) -> str:
    """Return the path as it is compared: in the same Unicode form and letter case."""
    return _nfc(path).casefold()


def endings(paths: Iterable[str], wanted: Set[str]) -> Iterator[tuple[str, str, str]]:
    """Yield each wanted `plain` name, extension optional, that a path ends in, with the path and what precedes it."""
    depth = max((name.count("/") for name in wanted), default=-1) + 1
    for path in paths:
        key, stem = plain(path), _stem(path)
        start, place = len(path) + 1, len(key) + 1
        for _ in range(min(depth, path.count("/") + 1)):
            start, place = path.rfind("/", 0, start - 1) + 1, key.rfind("/", 0, place - 1) + 1
            if key[place:] in wanted:
                yield key[place:], path, path[:start]
            elif stem[place:] in wanted and EXTENSION.search(stem, place) is None:
                yield stem[place:], path, path[:start]


def _folders(paths: Iterable[str]) -> set[str]:
    """Return all folders that contain one of the paths, as they are compared."""
    found = set()
    for path in paths:
        folder = posixpath.dirname(plain(path))
        while folder and folder not in found:
            found.add(folder)
            folder = posixpath.dirname(folder)
    return found


def _unique(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the paths by key that share it with no other path."""
    found: dict[str, str] = {}
    shared = set()
    for key, path in pairs:
        if found.setdefault(key, path) != path:
            shared.add(key)
    return {key: path for key, path in found.items() if key not in shared}


def _spellings(name: str) -> tuple[str, ...]:
    return name, name.strip(), unquote(name.strip())


def _nfc(path: str) -> str:
    return unicodedata.normalize("NFC", path)


def _stem(path: str) -> str:
    return plain(EXTENSION.sub("", path))
