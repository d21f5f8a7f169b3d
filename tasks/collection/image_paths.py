"""Resolves image names, as written in a captions file, to paths on disk."""

import posixpath
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Sequence

from tasks.collection.image_names import is_image
from tasks.collection.records import Item


class ImagePaths:
    """The paths below the images' root, found by name. Names are never truncated or completed to make them match."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self._exact = frozenset(paths)
        forms = Counter(map(_nfc, paths))
        self._by_form = {_nfc(path): path for path in paths if forms[_nfc(path)] == 1}

    def __contains__(self, path: str) -> bool:
        return path in self._exact

    def find(self, name: str, folder: str = "") -> str:
        r"""Return the path of `name` relative to `folder`; if no such file exists, the path it should have.

        Tried in order: the name unchanged; with `.` and `..` resolved; with `\` as `/`; the only path with the same
        NFC form.
        """
        written = posixpath.join(folder, name)
        for path in (written, posixpath.normpath(written), posixpath.normpath(written.replace("\\", "/"))):
            if path in self._exact:
                return path
        return self._by_form.get(_nfc(path), path)

    def folder_of(self, names: Container[str]) -> str:
        """Return the folder ("" or ending in `/`) below which most of the names exist; the first if several tie."""
        votes: Counter[str] = Counter()
        for path in self._paths:
            starts = [0, *(index + 1 for index, letter in enumerate(path) if letter == "/")]
            votes.update(path[:start] for start in starts if path[start:] in names)
        return min(votes, key=lambda folder: (-votes[folder], folder), default="")

    def unlisted(self, items: Iterable[Item]) -> list[Item]:
        """Return the images on disk that no item refers to, each as an item without captions."""
        listed = {item.path for item in items}
        return [Item(path, path) for path in self._paths if is_image(path) and path not in listed]


def _nfc(path: str) -> str:
    return unicodedata.normalize("NFC", path)
