"""Resolves image names, as written in a captions file, to paths on disk."""

import posixpath
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

from tasks.collection.image_names import EXTENSION, is_image
from tasks.collection.records import Item, Problem


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
        self._by_case = _unique((_plain(path), path) for path in images)
        self._by_stem = _unique((_stem(path), path) for path in images)
        self._written: dict[str, str] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._exact

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
        inexact = self._by_case.get(_plain(path))
        if inexact is None and EXTENSION.search(path) is None:
            inexact = self._by_stem.get(_plain(path))
        return (path if inexact is None else inexact), False

    def inexact(self, items: Iterable[Item]) -> list[Problem]:
        """Return a problem for every item whose image was found under another letter case or without extension."""
        found = [(item.path, self._written[item.path]) for item in items if item.path in self._written]
        return [Problem("inexact-name", path, f"used for {name!r}, which does not exist") for path, name in found]

    def folder_of(self, names: Iterable[str]) -> str:
        """Return the folder ("" or ending in `/`) below which most of the names exist.

        Names are compared as `find` does; of several folders, one with more exact names is preferred, then the first.
        """
        spellings = {spelling for name in names for spelling in _spellings(name)}
        plain = {_plain(posixpath.normpath(spelling.replace("\\", "/"))) for spelling in spellings}
        exact = frozenset(names)
        votes: Counter[str] = Counter()
        exact_votes: Counter[str] = Counter()
        for path in self._paths:
            key, stem = _plain(path), _stem(path)
            start, place = 0, 0
            while True:
                if key[place:] in plain or stem[place:] in plain:
                    votes[path[:start]] += 1
                exact_votes[path[:start]] += path[start:] in exact
                start, place = path.find("/", start) + 1, key.find("/", place) + 1
                if not start:
                    break
        return min(votes, key=lambda folder: (-votes[folder], -exact_votes[folder], folder), default="")

    def unlisted(self, items: Iterable[Item]) -> list[Item]:
        """Return the images on disk that no item refers to, each as an item without captions."""
        listed = {item.path for item in items}
        return [Item(path, path) for path in self._paths if is_image(path) and path not in listed]


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


def _plain(path: str) -> str:
    return _nfc(path).casefold()


def _stem(path: str) -> str:
    return _plain(EXTENSION.sub("", path))
